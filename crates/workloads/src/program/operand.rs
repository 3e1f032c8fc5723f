//! `Reg`, `Operand`: which object an instruction means; `When`: which instant.

use simsched_core::Nanos;

/// How deep loops may be nested.
pub const LOOPS: usize = 3;

/// How many arguments a thread has.
pub const ARGS: usize = 2;

/// Registers of a thread: always 0, its arguments, the counters of its loops, what is left of a
/// transfer, and the number of the next instruction.
pub(super) const REGS: usize = 1 + ARGS + LOOPS + 1 + 1;
pub(super) const LEFT: usize = REGS - 2;
pub(super) const PC: usize = REGS - 1;

/// A register of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg(u8);

impl Reg {
    pub(super) const ZERO: Reg = Reg(0);

    /// The argument of this number.
    ///
    /// # Panics
    /// When a thread has fewer arguments.
    pub(crate) fn arg(nth: usize) -> Reg {
        assert!(nth < ARGS, "a thread has {ARGS} arguments");
        Reg(u8::try_from(1 + nth).expect("a few registers"))
    }

    /// The counter of the loop at this depth, 0 for the outermost.
    pub(crate) fn counter(depth: usize) -> Reg {
        assert!(depth < LOOPS, "loops are nested at most {LOOPS} deep");
        Reg(u8::try_from(1 + ARGS + depth).expect("a few registers"))
    }

    /// Its number, which needs no check.
    #[inline(always)]
    pub(super) fn idx(self) -> usize {
        usize::from(self.0) % REGS
    }
}

/// Which object an instruction means: a number, an argument of the thread, a counter, or a sum of
/// these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    pub(super) base: u32,
    pub(super) arg: Reg,
    pub(super) counter: Reg,
    /// How far a turn of the counter goes.
    pub(super) stride: u8,
}

impl Operand {
    /// The object of this number.
    #[must_use]
    pub const fn fixed(base: u32) -> Operand {
        Operand { base, arg: Reg::ZERO, counter: Reg::ZERO, stride: 1 }
    }

    /// The object that argument `nth` of the thread names.
    ///
    /// # Panics
    /// When a thread has fewer arguments.
    #[must_use]
    pub fn arg(nth: usize) -> Operand {
        Operand { arg: Reg::arg(nth), ..Operand::fixed(0) }
    }

    /// The object so many places behind this one.
    #[must_use]
    pub const fn offset(self, places: u32) -> Operand {
        Operand { base: self.base + places, ..self }
    }

    /// The object so many places behind this one, as the counter of a loop has turns done.
    #[must_use]
    pub const fn plus(self, counter: Reg) -> Operand {
        self.plus_each(counter, 1)
    }

    /// The object behind this one, `stride` places for each turn that a loop has done.
    #[must_use]
    pub const fn plus_each(self, counter: Reg, stride: u8) -> Operand {
        Operand { counter, stride, ..self }
    }

    /// The largest value, for threads whose arguments are at most `args` and where the counter
    /// stays below `turns`.
    pub(crate) fn max(self, args: [u32; ARGS], turns: [u32; LOOPS]) -> u64 {
        let arg = self.arg.idx().checked_sub(1).map_or(0, |nth| args[nth]);
        let counter = self.counter.idx().checked_sub(1 + ARGS);
        let counter = counter.map_or(0, |depth| turns[depth].saturating_sub(1));
        u64::from(self.base) + u64::from(arg) + u64::from(counter) * u64::from(self.stride)
    }
}

/// An instant that a program waits for: so long after a noted one, and longer by the thread's
/// argument and by the turns of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct When {
    pub(super) clock: u32,
    pub(super) after: Nanos,
    pub(super) arg: Reg,
    pub(super) each_arg: Nanos,
    pub(super) counter: Reg,
    pub(super) each_turn: Nanos,
}

impl When {
    /// So long after the instant that `clock` holds.
    #[must_use]
    pub const fn after(clock: ClockId, after: Nanos) -> When {
        let (arg, counter) = (Reg::ZERO, Reg::ZERO);
        When { clock: clock.0, after, arg, each_arg: Nanos::ZERO, counter, each_turn: Nanos::ZERO }
    }

    /// Later by `each` for each one of argument `nth` of the thread.
    ///
    /// # Panics
    /// When a thread has fewer arguments.
    #[must_use]
    pub fn plus_arg(self, nth: usize, each: Nanos) -> When {
        When { arg: Reg::arg(nth), each_arg: each, ..self }
    }

    /// Later by `each` for each turn that a loop has done.
    #[must_use]
    pub const fn plus_turns(self, counter: Reg, each: Nanos) -> When {
        When { counter, each_turn: each, ..self }
    }

    /// Where the instant that it counts from is noted.
    pub(crate) const fn clock(self) -> u32 {
        self.clock
    }
}

/// A place where an instant is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClockId(pub u32);

/// A stack of numbers, from which all are taken at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackId(pub u32);
