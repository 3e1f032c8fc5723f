//! What the functions of the policy and the shared lines that they touch cost the CPU that made the call.

use simsched_topology::CpuId;

use super::state::Simulator;
use crate::error::SimError;
use crate::names::FuncId;
use crate::observer::{Cost, Observer};
use crate::policy::{Access, Charge, CostedFunction, Policy};
use crate::time::{Nanos, SimTime};
use crate::workload::Workload;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// What the functions of the policy take on this machine.
    pub(super) fn price_functions(&self) -> Result<Vec<(u32, Charge)>, SimError> {
        let broke = |contract| SimError::PolicyBroke { at: self.world.now(), contract };
        let count = self.functions.len();
        if count > FuncId::MAX {
            let most = FuncId::MAX;
            return Err(broke(format!(
                "it has {count} functions with a cost, expected at most {most}"
            )));
        }
        let price = |function: &CostedFunction| {
            let CostedFunction { name, item, charge } = *function;
            let found = self.prices.list().iter().find(|(known, _)| *known == item);
            let unknown =
                || broke(format!("its function {name} costs `{item}`, which no machine has"));
            found.map(|(_, ns)| (ns, charge)).ok_or_else(unknown)
        };
        let known = Cost::names(&[]);
        for (at, CostedFunction { name, .. }) in self.functions.iter().enumerate() {
            let is_taken = self.functions[..at].iter().any(|other| other.name == *name);
            if is_taken || known.contains(name) {
                let contract =
                    format!("its function {at} is called `{name}`, expected a name of its own");
                return Err(broke(contract));
            }
        }
        self.functions.iter().map(price).collect()
    }

    /// The policy has done what it may not: the run ends behind the event under way.
    #[cold]
    pub(super) fn policy_broke(&mut self, contract: String) {
        let at = self.world.now();
        self.broken.get_or_insert(SimError::PolicyBroke { at, contract });
        self.actions.follow_events();
    }

    /// The policy cannot go on: the run ends behind the event under way.
    #[cold]
    pub(super) fn policy_failed(&mut self, why: String) {
        let at = self.world.now();
        self.broken.get_or_insert(SimError::PolicyFailed { at, why });
        self.actions.follow_events();
    }

    /// Who has called the policy waits for the shared lines that the policy touched: at once for the
    /// first that has to come from elsewhere, and for the others when it gets there; and its functions are
    /// paid, or accounted under their names.
    ///
    /// A line must not be promised long before it is asked for: all who ask in between would wait for
    /// a line that lies idle, and such waits, on several lines, would grow without bound.
    #[inline(never)]
    pub(super) fn pay_costs(&mut self) {
        let cpu = self.world.this_cpu();
        if self.names_strangers() {
            return self.actions.forget_costs();
        }
        let calls = self.actions.calls();
        if calls != [0; FuncId::MAX] {
            self.pay_functions(cpu, calls);
        }
        if !self.actions.touched().is_empty() {
            self.pay_lines(cpu);
        }
        self.actions.forget_costs();
    }

    /// What is done before the first instant of the run takes no time: nobody pays for it.
    pub(super) fn forgive_costs(&mut self) {
        self.names_strangers();
        self.actions.forget_costs();
    }

    /// Whether the policy has touched a line or called a function that it has not attached; then the run ends.
    fn names_strangers(&mut self) -> bool {
        let stranger = self.actions.stranger(self.nr_lines, self.functions.len());
        stranger.map(|contract| self.policy_broke(contract)).is_some()
    }

    /// `cpu` waits for the first of the lines that the policy touched, and notes the others as errands.
    fn pay_lines(&mut self, cpu: CpuId) {
        let errands = &mut self.desks[cpu.idx()].errands;
        let waits = !errands.is_empty();
        if self.hardware.free {
            return;
        }
        errands.extend(self.actions.touched());
        if waits {
            return;
        }
        let start = self.world.now() + Nanos(u64::from(self.cpus[cpu.idx()].debt));
        let stalls = self.touch_lines(cpu, start);
        for (what, ns) in FuncId::all().zip(stalls) {
            self.stall(cpu, Cost::of_function(what), ns);
        }
    }

    /// So many calls of the policy's functions are in what `cpu` has just done, or is about to pay for. Where
    /// hardware is free, a path is not split into its parts, and what comes on top of it is paid still.
    #[inline]
    fn pay_functions(&mut self, cpu: CpuId, calls: [u32; FuncId::MAX]) {
        if self.is_paid(cpu) {
            return;
        }
        for what in FuncId::all().take(self.functions.len()) {
            let (each, charge) = self.function_costs[what.idx()];
            let ns = Nanos(u64::from(calls[what.idx()]) * u64::from(each));
            let what = Cost::of_function(what);
            match charge {
                _ if ns == Nanos::ZERO => {}
                Charge::Inside if self.hardware.free => {}
                Charge::Inside => self.note_stall(cpu, what, ns),
                Charge::Extra => self.stall(cpu, what, ns),
            }
        }
    }

    /// `cpu` goes through its errands from `start` on, up to the first line that it stalls for, or the
    /// loads of one sum, which do not depend on each other and are under way together: its stalls, by
    /// function.
    fn touch_lines(&mut self, cpu: CpuId, start: SimTime) -> [Nanos; FuncId::MAX] {
        let mut stalls = [Nanos::ZERO; FuncId::MAX];
        let topology = self.world.topology();
        let (lines, transfers) = (&mut self.hardware.lines, &self.hardware.transfers);
        let errands = &mut self.desks[cpu.idx()].errands;
        let (mut at, mut done, mut last) = (start, start, None);
        while let Some(touch) = errands.front().copied() {
            let together =
                touch.access == Access::Read && last.is_some() && last < Some(touch.line);
            if !together {
                if done.since(at) > lines.longest_hit() {
                    break;
                }
                at = done;
            }
            errands.pop_front();
            last = (touch.access == Access::Read).then_some(touch.line);
            let ns = lines.touch(topology, transfers, touch.line.idx(), cpu, touch.access, at);
            let end = (at + ns).max(done);
            stalls[touch.what.idx()] += end.since(done);
            done = end;
        }
        stalls
    }

    /// `cpu` has got to the next of its errands: its stage begins as much later.
    #[cold]
    pub(super) fn run_errand(&mut self, cpu: CpuId) {
        self.charge(cpu);
        let now = self.world.now();
        let stalls = self.touch_lines(cpu, now);
        let mut sum = Nanos::ZERO;
        for (what, ns) in FuncId::all().zip(stalls).filter(|(_, ns)| ns.0 > 0) {
            self.note_stall(cpu, Cost::of_function(what), ns);
            sum += ns;
        }
        let row = &mut self.cpus[cpu.idx()];
        row.debt_end = now + sum;
        row.until += sum;
        self.arm_stage(cpu);
    }
}
