//! `Script`: what all scenarios share, namely the parent, the children, and the instant from which
//! all count.

use rand::distr::{Distribution, Uniform};
use simsched_core::{MaskId, ProcId, Seed, TaskId};
use simsched_topology::{CpuId, CpuSet};

use super::costs::{
    Birth, REAP, before_fork, before_fork_pinned, lead, lead_behind_probes, lead_of_shell,
    lead_of_sleeper,
};
use super::kernel::Kernel;
use super::{START, STOP};
use crate::builder::{Body, Builder, ProgramId};
use crate::dist::Dist;
use crate::error::WorkloadError;
use crate::program::{ARGS, ClockId, Operand, Programs};

/// The name of the parent's program.
const PARENT: &str = "lab";

/// The parent.
pub(super) const SELF: TaskId = TaskId(0);

/// The first child; the others follow.
pub(super) const FIRST: TaskId = TaskId(1);

/// A scenario that is being written.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) b: Builder,
    /// The instant of [`START`].
    pub(super) zero: ClockId,
    /// The kernel under which it runs.
    pub(super) kernel: Kernel,
    proc: ProcId,
    seed: Seed,
    nr_cpus: usize,
    /// What the parent does before its start.
    lead: Dist,
    /// Where the parent is when it begins.
    cpu: CpuId,
    /// CPU 0, and all CPUs.
    pub(super) masks: [MaskId; 2],
}

impl Script {
    /// Nothing but the parent's process and its marks.
    pub(super) fn new(nr_cpus: usize, kernel: Kernel, seed: Seed) -> Script {
        let mut b = Builder::new();
        let (start, stop) = (b.mark("start"), b.mark("stop"));
        debug_assert!((start, stop) == (START, STOP), "the marks have the ids that they promise");
        let (zero, proc) = (b.clock(), b.process(PARENT));
        // Where the shell is that starts it: by the parents' births on `t16`, under 6.1 in the node of the boot CPU in all
        // five boots, under 6.12 there in two of five, under 7.3 in four of seven.
        let nr_first = match kernel {
            Kernel::V6_1 => nr_cpus / 2,
            Kernel::V6_12 | Kernel::V7_3 => nr_cpus,
        };
        let cpus = Uniform::new(0, nr_first.max(1)).expect("a range that is not empty");
        let cpu = CpuId::new(cpus.sample(&mut seed.stream("lab", 0)));
        let masks = [CpuSet::single(CpuId(0)), CpuSet::first_n(nr_cpus.max(1))];
        let masks = masks.map(|mask| b.mask(mask));
        let lead = lead(nr_cpus);
        Script { b, zero, kernel, proc, seed, nr_cpus, lead, cpu, masks }
    }

    /// This script where the lab has set probes before: the start lies elsewhere between two ticks.
    pub(super) fn behind_probes(self) -> Script {
        Script { lead: lead_behind_probes(self.nr_cpus), ..self }
    }

    /// This script where a shell has forked the parent behind a grace period ([`OF_PROBES`]): it begins when the parent has
    /// executed the lab's program.
    ///
    /// [`OF_PROBES`]: super::between::OF_PROBES
    pub(super) fn of_shell(self) -> Script {
        Script { lead: lead_of_shell(self.nr_cpus), ..self }
    }

    /// This script where a shell has forked the parent behind a helper that sleeps for 20 ms ([`OF_TRACES_7_3`]): it
    /// begins when the parent has executed the lab's program.
    ///
    /// [`OF_TRACES_7_3`]: super::between::OF_TRACES_7_3
    pub(super) fn of_sleeper(self) -> Script {
        Script { lead: lead_of_sleeper(), ..self }
    }

    /// Writes the parent's program, from its first look at the clock to its last.
    pub(super) fn parent(&mut self, write: impl FnOnce(&mut Body<'_>)) {
        let (zero, lead) = (self.zero, self.lead.clone());
        let program = self.b.program(PARENT, |p| {
            p.run(lead);
            p.clock(zero);
            p.mark(START);
            write(p);
            p.mark(STOP);
        });
        let task = self.b.start_on(self.cpu, PARENT, self.proc, program, [0, 0]);
        debug_assert!(task == SELF, "the parent comes first");
    }

    /// Declares a child process.
    pub(super) fn child(&mut self, name: &str, program: ProgramId, args: [u32; ARGS]) -> TaskId {
        let proc = self.b.process(PARENT);
        self.b.thread(name, proc, program, args)
    }

    /// Declares a child process that is born on CPU 0 and may not leave it: who is forked inherits the
    /// affinity of the parent, which has pinned itself.
    pub(super) fn pinned(&mut self, name: &str, program: ProgramId, args: [u32; ARGS]) -> TaskId {
        let task = self.child(name, program, args);
        self.b.allow(task, self.masks[0]);
        task
    }

    /// Declares a thread of the parent's process.
    pub(super) fn thread(&mut self, name: &str, program: ProgramId, args: [u32; ARGS]) -> TaskId {
        self.b.thread(name, self.proc, program, args)
    }

    pub(super) fn build(self) -> Result<Programs, WorkloadError> {
        self.b.build(self.seed)
    }
}

/// Forks so many children, from the first on, that run elsewhere or are `pinned`, and does `behind`
/// behind each.
pub(super) fn fork_all(
    p: &mut Body<'_>,
    kernel: Kernel,
    (count, pinned): (u32, bool),
    behind: impl Fn(&mut Body<'_>),
) {
    let before = if pinned { before_fork_pinned } else { before_fork };
    let early = count.min(2);
    for nth in 0..early {
        p.run(before(Birth { kernel, is_second: nth == 1 }));
        p.spawn(Operand::from(FIRST).offset(nth));
        behind(p);
    }
    if count > early {
        p.repeat(count - early, |p, nth| {
            p.run(before(Birth { kernel, is_second: false }));
            p.spawn(Operand::from(FIRST).offset(early).plus(nth));
            behind(p);
        });
    }
}

/// Waits for so many ends, whoever comes.
pub(super) fn wait_any(p: &mut Body<'_>, count: u32) {
    p.repeat(count, |p, _| {
        p.wait_any();
        p.run(REAP);
    });
}

/// Waits for the end of each child, in the order of their births.
pub(super) fn wait_each(p: &mut Body<'_>, count: u32) {
    p.repeat(count, |p, nth| {
        p.join(Operand::from(FIRST).plus(nth));
        p.run(REAP);
    });
}
