//! Small sets: the interrupts that wait for a CPU, its requests to reschedule, and what waits for the return of a
//! task to user mode.

/// Whether the current task of a CPU is to be rescheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NeedResched(u8);

impl NeedResched {
    pub(super) const NO: NeedResched = NeedResched(0);
    /// At its next return to user mode (`TIF_NEED_RESCHED_LAZY`).
    pub(super) const LAZY: NeedResched = NeedResched(1);
    /// At the next preemption point (`TIF_NEED_RESCHED`).
    pub(super) const HARD: NeedResched = NeedResched(2);

    /// The requests, one bit for each kind.
    #[inline]
    pub(super) fn bits(self) -> u8 {
        self.0
    }

    /// Whether there is a request of either kind.
    #[inline]
    pub(super) fn any(self) -> bool {
        self.0 != 0
    }

    /// Whether there is a hard request: the only one that `need_resched()` sees.
    #[inline]
    pub(super) fn is_hard(self) -> bool {
        self == NeedResched::HARD
    }
}

/// Which interrupts wait until a CPU is open to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Deferred(u8);

impl Deferred {
    pub(super) const TICK: u8 = 1;
    pub(super) const IPI: u8 = 2;
    pub(super) const TIMER: u8 = 4;

    /// One bit for each interrupt that waits.
    #[inline]
    pub(super) fn bits(self) -> u8 {
        self.0
    }

    #[inline]
    pub(super) fn any(self) -> bool {
        self.0 != 0
    }

    /// Whether `irq` waits.
    pub(super) fn has(self, irq: u8) -> bool {
        self.0 & irq != 0
    }

    pub(super) fn add(&mut self, irq: u8) {
        self.0 |= irq;
    }

    /// Takes `irq` out; tells whether it was there.
    pub(super) fn take(&mut self, irq: u8) -> bool {
        let was = self.0 & irq != 0;
        self.0 &= !irq;
        was
    }
}

/// What a task does at the border of user space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Border(u8);

impl Border {
    /// It has not been in user space since it was switched to.
    pub(super) const SWITCHED: u8 = 1;
    /// A call of the policy has left it something to do.
    pub(super) const WORK: u8 = 2;

    #[inline]
    pub(super) fn any(self) -> bool {
        self.0 != 0
    }

    /// Those of `what` that it does.
    #[inline]
    pub(super) fn bits(self, what: u8) -> u8 {
        self.0 & what
    }

    #[inline]
    pub(super) fn has(self, what: u8) -> bool {
        self.bits(what) != 0
    }

    #[inline]
    pub(super) fn add(&mut self, what: u8) {
        self.0 |= what;
    }

    /// Takes `what` out; tells whether it was there.
    #[inline]
    pub(super) fn take(&mut self, what: u8) -> bool {
        let was = self.has(what);
        self.0 &= !what;
        was
    }
}
