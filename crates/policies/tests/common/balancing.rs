//! The load balancer on the machine in slow motion: its steps made true, without time of their own.

use simsched_core::{BalanceStep, Enqueue, Moves, Preempt, TaskId};
use simsched_policies::fair::CpuIdleType;
use simsched_topology::CpuId;

use super::driver::Driver;

/// What a pass has done.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Who was moved, in the order of detaching.
    pub(crate) moved: Vec<TaskId>,
    /// How many CPUs were to be read.
    pub(crate) looked_at: u32,
    /// The CPUs whose runqueues were locked.
    pub(crate) locked: Vec<CpuId>,
}

impl Driver {
    /// The rest of a tick: the balance softirq of this CPU, and that of an idle one if it is sent an
    /// interrupt.
    pub(crate) fn trigger(&mut self, cpu: CpuId) {
        let trigger = self.host.trigger_load_balance(cpu);
        if let Some(ilb) = trigger.kick
            && self.host.nohz_csd_func(ilb)
        {
            self.softirq(ilb);
        }
        if trigger.softirq {
            self.softirq(cpu);
        }
    }

    pub(crate) fn softirq(&mut self, cpu: CpuId) -> Done {
        self.host.run_rebalance_domains(cpu);
        self.steps(cpu)
    }

    /// One attempt to balance one domain, whatever the time.
    pub(crate) fn load_balance(&mut self, cpu: CpuId, sd: usize, idle: CpuIdleType) -> Done {
        self.host.policy.begin_load_balance(cpu, sd, idle);
        self.steps(cpu)
    }

    /// Makes the steps of the pass on `cpu` true.
    pub(crate) fn steps(&mut self, cpu: CpuId) -> Done {
        let (mut moves, mut done) = (Moves::default(), Done::default());
        loop {
            match self.host.balance_step(cpu, &mut moves) {
                BalanceStep::Look(look) => {
                    done.looked_at += u32::from(look.cpus);
                    self.spend(self.look_ns);
                }
                BalanceStep::Skip => {}
                // The clocks are always up to date here.
                BalanceStep::Lock(locked) => done.locked.push(locked),
                BalanceStep::Move => {
                    let running = self.curr(moves.from);
                    assert!(moves.tasks.iter().all(|&task| Some(task) != running));
                    done.moved.extend_from_slice(&moves.tasks);
                    self.attach(&moves);
                    assert!(self.host.kit.world().rq(moves.from).nr_running > 0);
                }
                BalanceStep::Stop { from } => self.stops.push(from),
                BalanceStep::Done => break,
            }
        }
        done
    }

    /// The stopper runs on `cpu`.
    pub(crate) fn stopper(&mut self, cpu: CpuId) -> Vec<TaskId> {
        let mut moves = Moves::default();
        if let Some(prev) = self.curr(cpu) {
            self.host.put_prev_task(cpu, prev);
            self.host.kit.run_on(cpu, None);
        }
        self.host.active_load_balance_cpu_stop(cpu, &mut moves);
        self.attach(&moves);
        self.schedule(cpu);
        moves.tasks
    }

    /// Queues the tasks of `moves` on their destination, the last one first.
    pub(crate) fn attach_tasks(&mut self, moves: &Moves) {
        for _ in &moves.tasks {
            self.count(moves.from, -1);
        }
        for &task in moves.tasks.iter().rev() {
            self.host.kit.task(task).cpu = moves.to;
            self.host.enqueue(moves.to, task, Enqueue::Moved);
            self.count(moves.to, 1);
            self.check(moves.to);
        }
        self.check(moves.from);
    }

    fn attach(&mut self, moves: &Moves) {
        self.attach_tasks(moves);
        if moves.tasks.is_empty() || self.scheduling == Some(moves.to) {
            return;
        }
        let mut preempts = self.curr(moves.to).is_none();
        if !preempts {
            for &task in moves.tasks.iter().rev() {
                let why = Enqueue::Moved;
                let answer = self.host.wakeup_preempt(moves.to, task, why);
                preempts |= answer == Preempt::Hard;
            }
        }
        if preempts {
            self.schedule(moves.to);
        }
    }
}
