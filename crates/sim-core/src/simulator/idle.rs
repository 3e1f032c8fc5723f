//! The idle loop: into an idle state and out of it, and the tick that stops meanwhile.

use simsched_topology::CpuId;

use super::cpu::Stage;
use super::state::{Simulator, Step};
use crate::agenda::Event;
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::{Nanos, SimTime};
use crate::workload::Workload;
use crate::world::BOOT_CLOCK;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// One turn of `do_idle()`: leaves for `schedule()` if there is something to do, else sleeps.
    /// What was handed over is queued on the way out, and a softirq runs; on the way in the interrupt
    /// is still to come.
    pub(super) fn idle_loop(&mut self, cpu: CpuId) -> Step {
        if self.idle_pass_begins(cpu) {
            return self.balance(cpu);
        }
        let row = &self.cpus[cpu.idx()];
        if row.need_resched.any() && self.desks[cpu.idx()].tick_stopped {
            let ns = Nanos(u64::from(self.price_of_restart(cpu)));
            self.restart_tick(cpu);
            self.begin(cpu, Stage::IdleExit, Cost::IdleExit, ns);
        } else if row.need_resched.any() {
            self.flush_call_queue(cpu);
            if self.cpus[cpu.idx()].softirq {
                return self.do_softirq(cpu);
            }
            self.desks[cpu.idx()].governor.leave(self.world.now());
            self.leave_idle_loop(cpu);
        } else if std::mem::take(&mut self.desks[cpu.idx()].to_idle_state) {
            let ns = self.jittered(cpu, self.prices.list().idle_entry);
            self.begin(cpu, Stage::IdleExit, Cost::IdleExit, ns);
        } else if row.debt > 0 {
            // What it did on the side for others (a timer's wakeup) ends before it sleeps.
            self.begin(cpu, Stage::Debt, Cost::Wakeup, Nanos::ZERO);
        } else {
            self.sleep_idle(cpu);
        }
        Ok(())
    }

    /// From the idle loop to `schedule()`; a CPU that has not come to it yet goes straight back
    /// (`schedule_idle()`).
    fn leave_idle_loop(&mut self, cpu: CpuId) {
        let list = self.prices.list();
        let in_loop = !std::mem::take(&mut self.desks[cpu.idx()].to_idle_state);
        self.cpus[cpu.idx()].debt += list.irq_leave + if in_loop { list.idle_leave } else { 0 };
        self.enter_schedule(cpu);
    }

    /// The CPU enters the idle state that fits what it expects. Its tick stops, unless callbacks wait
    /// for a grace period (`rcu_needs_cpu()`): where a governor expects a long sleep, and on all machines
    /// when a tick has just woken the idle loop (`tick_nohz_idle_got_tick()`). With one idle state no
    /// governor is asked (`cpuidle_idle_call()` of 6.1.176): of 2,283 times that a CPU of the lab went to
    /// sleep with its tick running and without that, it kept the tick each time.
    fn sleep_idle(&mut self, cpu: CpuId) {
        self.charge(cpu);
        let states = self.prices.idle_states();
        let governor = &mut self.desks[cpu.idx()].governor;
        governor.enter(self.world.now(), states);
        let long = states.len() > 1 && governor.predicted() >= self.world.tick();
        let state = governor.state(states);
        self.world.set_idle_state(cpu, self.prices.advertised(state));
        let rcu_needs_cpu = self.world.now() < self.desks[cpu.idx()].callbacks_until;
        let row = &mut self.cpus[cpu.idx()];
        row.polling = state.polling;
        row.stage = Stage::Idle;
        row.cost = Cost::Idle;
        row.until = SimTime::NEVER;
        self.counters.busy_cpus -= 1;
        self.busy_changes(cpu, false);
        let desk = &mut self.desks[cpu.idx()];
        let ticked = std::mem::take(&mut desk.idle_ticked);
        if (ticked || long) && !desk.tick_stopped && !rcu_needs_cpu {
            desk.tick_stopped = true;
            desk.tick_stopped_at = self.world.now();
            if let Some(tmigr) = &mut self.tmigr {
                tmigr.deactivate(cpu);
            }
            self.agenda.disarm(Event::Tick(cpu));
            self.nohz_balance_enter_idle(cpu);
            if self.cpus[cpu.idx()].need_resched.any() {
                self.plan_resched(cpu, self.world.now());
            }
        }
    }

    /// Something calls for an idle CPU: it comes out of its idle state first.
    pub(super) fn leave_idle(&mut self, cpu: CpuId) {
        self.counters.busy_cpus += 1;
        self.busy_changes(cpu, true);
        self.world.set_idle_state(cpu, None);
        let jiffies = self.price_of_jiffies(cpu);
        let states = self.prices.idle_states();
        let state = self.desks[cpu.idx()].governor.state(states);
        let exit = state.measured_exit_ns + jiffies;
        if state.loses_l1_l2 && !self.hardware.free {
            self.hardware.warmth.forgets(self.world.topology(), cpu);
        }
        self.begin(cpu, Stage::IdleExit, Cost::IdleExit, Nanos(u64::from(exit)));
    }

    /// `tick_nohz_irq_enter()`: a CPU whose tick is stopped counts the ticks that none has counted.
    fn price_of_jiffies(&mut self, cpu: CpuId) -> u32 {
        if !self.desks[cpu.idx()].tick_stopped || self.world.now() < self.jiffies_due {
            return 0;
        }
        self.jiffies_due = self.next_tick(CpuId(0));
        self.prices.list().jiffies
    }

    /// What it takes to set the tick again: more if its timer was set meanwhile to the next one in the
    /// wheel, for then it is taken back first (`tick_nohz_restart()`).
    fn price_of_restart(&self, cpu: CpuId) -> u32 {
        let list = self.prices.list();
        let has_timers = self.desks[cpu.idx()].wheel > 0;
        list.tick_restart + if has_timers { list.tick_forward } else { 0 }
    }

    /// `tick_nohz_idle_exit()`: the tick of a CPU that leaves its idle loop runs again, from its next
    /// boundary on.
    fn restart_tick(&mut self, cpu: CpuId) {
        let desk = &mut self.desks[cpu.idx()];
        if !std::mem::take(&mut desk.tick_stopped) {
            return;
        }
        if let Some(tmigr) = &mut self.tmigr {
            tmigr.activate(cpu);
        }
        let next = self.next_tick(cpu);
        self.agenda.arm(Event::Tick(cpu), next);
    }

    /// The first tick of `cpu` after now.
    fn next_tick(&self, cpu: CpuId) -> SimTime {
        let tick = self.world.tick().0;
        let phase = if self.config.skew_tick {
            tick / 2 * cpu.idx() as u64 / self.cpus.len() as u64
        } else {
            0
        };
        let ticks = (self.world.sched_clock() - phase) / tick + 1;
        SimTime(ticks * tick + phase - BOOT_CLOCK)
    }
}
