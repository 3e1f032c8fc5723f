//! `Touched`: the shared cache lines that a call of a policy read and wrote.
//!
//! A policy sees no price. It only says which of its shared lines ([`LineId`]) it touched, and how;
//! whoever prices them takes the list after each call and charges the CPU that made it
//! ([`crate::World::this_cpu`]).

use crate::names::LineId;

/// What was done to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Access {
    /// It was read: the reader needs a copy.
    Read,
    /// It was changed by an atomic operation: the writer needs it for itself.
    Write,
}

/// The function of the kernel that did it, as a profile would name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Function {
    /// `update_cfs_group()`: the readers of `tg->load_avg`.
    UpdateCfsGroup,
    /// `update_load_avg()`: the writers of `tg->load_avg`.
    UpdateLoadAvg,
}

impl Function {
    /// The names of the functions, by discriminant.
    pub const NAMES: [&'static str; 2] = ["update_cfs_group", "update_load_avg"];
}

/// One access to one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Which line.
    pub line: LineId,
    /// How.
    pub access: Access,
    /// Who.
    pub what: Function,
}

/// The accesses since the list was last cleared, in their order.
///
/// The list has a fixed size, so that it costs no memory if nobody takes it. It is long enough for
/// what one call can do: a balancer that takes 32 tasks, or ages all queues of a CPU, in groups of
/// eight levels on eight nodes. What does not fit is counted ([`Touched::lost`]).
#[derive(Clone, Debug, Default)]
pub struct Touched {
    list: Vec<Touch>,
    lost: u64,
    calls: [u32; Function::NAMES.len()],
}

/// 32 tasks * 8 levels * (8 nodes read + 2 lines written), and room for more.
const CAPACITY: usize = 4096;

impl Touched {
    /// An empty list with all its memory.
    #[must_use]
    pub fn new() -> Touched {
        Touched { list: Vec::with_capacity(CAPACITY), ..Touched::default() }
    }

    /// Notes an access.
    #[inline]
    pub fn push(&mut self, line: LineId, access: Access, what: Function) {
        if self.list.len() < CAPACITY {
            self.list.push(Touch { line, access, what });
        } else {
            self.lost += 1;
        }
    }

    /// Notes that this function was called, whatever it touched.
    #[inline]
    pub fn call(&mut self, what: Function) {
        self.calls[what as usize] += 1;
    }

    /// How often each function was called, by [`Function`], since this was last asked.
    #[inline]
    pub fn take_calls(&mut self) -> [u32; Function::NAMES.len()] {
        std::mem::take(&mut self.calls)
    }

    /// The accesses, oldest first.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[Touch] {
        &self.list
    }

    /// Forgets the accesses; the memory is kept.
    #[inline]
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// How many accesses did not fit. Zero as long as the list is cleared after every call.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_keeps_its_order_and_its_size() {
        let mut touched = Touched::new();
        let memory = touched.list.capacity();
        for line in 0..10_000 {
            touched.push(LineId(line), Access::Write, Function::UpdateLoadAvg);
        }
        let kept = touched.as_slice().len();
        assert_eq!((touched.list.capacity(), touched.lost()), (memory, 10_000 - kept as u64));
        assert!((0..).zip(touched.as_slice()).all(|(line, touch)| touch.line == LineId(line)));
        touched.clear();
        touched.push(LineId(7), Access::Read, Function::UpdateCfsGroup);
        assert_eq!(touched.as_slice().len(), 1);
        assert_eq!(touched.as_slice()[0].access, Access::Read);
    }
}
