//! How much of its loops a thread has still to do, and how it leaves a part of that out.

use super::{Inst, Reg, Thread};

/// The counters of the loops that a thread is in, with their turns, from the innermost outwards.
struct Nest([Option<(Reg, u64)>; super::LOOPS]);

impl Nest {
    /// The loops around the instruction of this number.
    ///
    /// A loop's end is behind its body and names the body's first instruction; the ends of outer loops
    /// are behind those of inner ones. A program ends with [`Inst::Exit`] or in an endless loop.
    fn around(code: &[Inst], pc: usize) -> Nest {
        let mut loops = [None; super::LOOPS];
        let mut at = 0;
        for inst in &code[pc..] {
            match *inst {
                Inst::Repeat { counter, to, times } if to as usize <= pc && at < loops.len() => {
                    loops[at] = Some((counter, u64::from(times)));
                    at += 1;
                }
                Inst::Exit => break,
                // Whoever turns for ever around these loops does them for ever.
                Inst::Forever(to) if to as usize <= pc => return Nest([None; super::LOOPS]),
                _ => {}
            }
        }
        Nest(loops)
    }

    fn loops(&self) -> impl DoubleEndedIterator<Item = (Reg, u64)> + '_ {
        self.0.iter().flatten().copied()
    }
}

impl Thread {
    /// How many turns of its innermost loop are behind the one that it is in.
    pub(super) fn turns_left(&self, code: &[Inst]) -> Option<u64> {
        let nest = Nest::around(code, self.pc());
        let all: u64 = nest.loops().map(|(_, times)| times).product();
        nest.0[0].map(|_| all - 1 - self.turns_done(&nest))
    }

    /// Leaves out so many of them.
    pub(super) fn skip_turns(&mut self, code: &[Inst], turns: u64) {
        let nest = Nest::around(code, self.pc());
        let mut done = self.turns_done(&nest) + turns;
        for (counter, times) in nest.loops() {
            let turn = u32::try_from(done % times).expect("below a loop's turns");
            self.regs[counter.idx()] = turn;
            done /= times;
        }
        debug_assert!(done == 0, "a thread has its last turn before it");
    }

    /// Those of all loops, in turns of the innermost.
    fn turns_done(&self, nest: &Nest) -> u64 {
        let turn = |(counter, times): (Reg, u64)| (u64::from(self.regs[counter.idx()]), times);
        nest.loops().rev().map(turn).fold(0, |done, (turn, times)| done * times + turn)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Programs;
    use crate::builder::Builder;
    use crate::program::Operand;
    use simsched_core::{Op, Outcome, PipeId, Seed, SimTime, TaskId, Workload};

    /// Five times three writes, to pipes 0, 1, 2 in turn, and one more to pipe 3.
    fn programs() -> Programs {
        let mut b = Builder::new();
        let proc = b.process("p");
        b.pipes(4);
        let program = b.program("writer", |p| {
            p.repeat(5, |p, _| p.repeat(3, |p, nth| p.write(Operand::fixed(0).plus(nth), 1)));
            p.write(Operand::fixed(3), 1);
        });
        b.start("p", proc, program, [0, 0]);
        b.build(Seed(1)).unwrap()
    }

    fn next(programs: &mut Programs) -> Op {
        programs.next_op(TaskId::new(0), SimTime::ZERO, Outcome::Done)
    }

    #[test]
    fn turns_are_counted_down_to_the_end_of_all_loops() {
        let mut programs = programs();
        let task = TaskId::new(0);
        for left in (0..15).rev() {
            assert!(matches!(next(&mut programs), Op::Write { .. }));
            assert_eq!(programs.turns_left(task), Some(left));
        }
        assert_eq!(next(&mut programs), Op::Write { pipe: PipeId(3), bytes: 1 });
        assert_eq!(programs.turns_left(task), None);
    }

    #[test]
    fn who_leaves_turns_out_goes_on_as_if_it_had_done_them() {
        for skipped in 0..=12 {
            let (mut whole, mut short) = (programs(), programs());
            for _ in 0..2 {
                assert_eq!(next(&mut whole), next(&mut short));
            }
            short.skip_turns(TaskId::new(0), skipped);
            (0..skipped).for_each(|_| {
                next(&mut whole);
            });
            for _ in 0..15 - skipped {
                assert_eq!(next(&mut whole), next(&mut short), "{skipped} left out");
            }
        }
    }
}
