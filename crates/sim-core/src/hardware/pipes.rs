//! `PipeLines`: where the lines of a pipe are, and what they take to come to who uses it next.

use simsched_topology::{CpuId, OsCosts, PackageId, Topology};

use super::overlap::Overlap;
use super::transfers::Transfers;
use crate::ipc::Slots;

/// No CPU: nobody has used it.
const NOBODY: CpuId = CpuId(u16::MAX);

/// Who has the lines of a pipe.
#[derive(Clone, Copy, Debug)]
struct Holder {
    /// The mutex with `rd_wait`: who used the pipe last.
    mutex: CpuId,
    /// The `pipe_buffer` to which is written, and that from which is read; one line if one slot is used.
    buffers: [CpuId; 2],
    /// Who wrote last.
    writer: CpuId,
    /// `head` and `tail`, `tmp_page` and `bufs`: who changed them last.
    page: CpuId,
    /// Who used the file of the reading and of the writing end last.
    files: [CpuId; 2],
    /// Where its memory is: with who used it first.
    home: PackageId,
}

/// The lines of pipes, as 6.1 lays them out (`struct pipe_inode_info`: `mutex` at 0 and `rd_wait` at
/// 32; `head` and `tail` at 80 and 84; `tmp_page` and `bufs` at 128 and 152; `struct pipe_buffer`).
///
/// An op takes the mutex and changes the length of a buffer, so these two move to it. `head`, `tail` and
/// `tmp_page` are read by all ops but change only where a page begins or ends (a write that fits goes
/// into the last page; a read that leaves bytes changes its buffer only): each CPU fetches them once
/// after a change. A pipe that is drained by each read changes them with each message; one in
/// which pages wait has its writers and its reader at different buffers. The bytes come from who wrote
/// last, and with threads the count of the end's `struct file`, which they share, from its last user.
/// With pages that turn, a message of 100 bytes moves 11 lines, without 7 (8 to 12, section 4 of the
/// cost model).
#[derive(Clone, Debug)]
pub(crate) struct PipeLines {
    holders: Vec<Holder>,
    /// By pipe, which CPUs have a copy of the lines of the page: a bit each, so many words a pipe.
    copies: Vec<u64>,
    words: usize,
    file_lines: u32,
    buffer_lines: u32,
    page_lines: u32,
    overlap: Overlap,
    any: bool,
}

impl PipeLines {
    /// `pipes` pipes that nobody has used, on a machine of `nr_cpus` CPUs.
    pub(crate) fn new(pipes: usize, nr_cpus: usize, costs: &OsCosts) -> PipeLines {
        let words = nr_cpus.div_ceil(64);
        let unused = Holder {
            mutex: NOBODY,
            buffers: [NOBODY; 2],
            writer: NOBODY,
            page: NOBODY,
            files: [NOBODY; 2],
            home: PackageId(0),
        };
        PipeLines {
            holders: vec![unused; pipes],
            copies: vec![0; pipes * words],
            words,
            file_lines: costs.file_lines,
            buffer_lines: costs.pipe_state_lines.saturating_sub(1),
            page_lines: costs.pipe_page_lines,
            overlap: Overlap::new(costs),
            any: costs.pipe_state_lines > 0,
        }
    }

    /// A task on `cpu` writes `pipe`, or reads `read` bytes from it: what the lines take to come, ns; that
    /// of the count of the file, if it is a thread, which takes and gives back its reference, and the
    /// others.
    #[inline(always)]
    pub(crate) fn used(
        &mut self,
        topology: &Topology,
        transfers: &Transfers,
        pipe: usize,
        (cpu, is_thread): (CpuId, bool),
        (read, slots): (Option<u32>, Slots),
    ) -> (u64, u64) {
        let holder = &mut self.holders[pipe];
        let toward = transfers.toward(cpu, holder.home);
        let file = match is_thread {
            true => self.file_lines.saturating_mul(toward.line(holder.file(cpu, read.is_some()))),
            false => 0,
        };
        let last = std::mem::replace(&mut holder.mutex, cpu);
        if last == NOBODY {
            let home = topology.package_of(cpu);
            *holder = Holder { buffers: [cpu; 2], writer: cpu, page: cpu, home, ..*holder };
            self.copies[pipe * self.words + cpu.idx() / 64] |= 1 << (cpu.0 % 64);
            return (self.overlap.at_once(file), 0);
        }
        let mut ns = if self.any { toward.line(last) } else { 0 };
        let buffer = toward.line(holder.buffer(cpu, read.is_some(), slots));
        ns = ns.saturating_add(self.buffer_lines.saturating_mul(buffer));
        if let Some(bytes) = read {
            let writer = holder.writer;
            let lines = (0, bytes);
            let message = self.overlap.message(topology, [writer, cpu], lines, toward.line(writer));
            ns = ns.saturating_add(message);
        } else {
            holder.writer = cpu;
        }
        let owner = holder.page;
        let mut from = cpu;
        if slots.turns {
            holder.page = cpu;
            // Who has changed them before may find copies elsewhere that have to go.
            from = if owner == cpu && !self.has_alone(pipe, cpu) { last } else { owner };
            self.take_alone(pipe, cpu);
        } else if self.fetches(pipe, cpu) {
            from = owner;
        }
        ns = ns.saturating_add(self.page_lines.saturating_mul(toward.line(from)));
        (self.overlap.at_once(file), self.overlap.at_once(ns))
    }

    /// Whether `cpu` has no copy of the lines of the page; it has one from now on.
    #[inline(always)]
    fn fetches(&mut self, pipe: usize, cpu: CpuId) -> bool {
        let word = &mut self.copies[pipe * self.words + cpu.idx() / 64];
        let bit = 1 << (cpu.0 % 64);
        let had = *word & bit;
        *word |= bit;
        had == 0
    }

    #[inline]
    fn has_alone(&self, pipe: usize, cpu: CpuId) -> bool {
        let copies = &self.copies[pipe * self.words..][..self.words];
        let own = |word: usize| if word == cpu.idx() / 64 { 1 << (cpu.0 % 64) } else { 0 };
        copies.iter().enumerate().all(|(word, copies)| copies & !own(word) == 0)
    }

    #[inline]
    fn take_alone(&mut self, pipe: usize, cpu: CpuId) {
        let copies = &mut self.copies[pipe * self.words..][..self.words];
        copies.fill(0);
        copies[cpu.idx() / 64] = 1 << (cpu.0 % 64);
    }
}

impl Holder {
    /// Who had the count of the file of the end that `cpu` uses now.
    #[inline(always)]
    fn file(&mut self, cpu: CpuId, reads: bool) -> CpuId {
        let last = std::mem::replace(&mut self.files[usize::from(!reads)], cpu);
        if last == NOBODY { cpu } else { last }
    }

    /// Who had the line of the `pipe_buffer` that `cpu` changes now.
    #[inline(always)]
    fn buffer(&mut self, cpu: CpuId, reads: bool, slots: Slots) -> CpuId {
        let [to, from] = &mut self.buffers;
        if !reads {
            // A slot that a write begins was last touched by the read that emptied it.
            let had = if slots.turns { *from } else { *to };
            *to = cpu;
            if slots.used == u8::from(!slots.turns) {
                *from = cpu;
            }
            return had;
        }
        let had = std::mem::replace(from, cpu);
        if slots.used == 1 {
            *to = cpu;
        } else if slots.turns {
            // The next slot is as its writers have left it.
            *from = *to;
        }
        had
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAINED: [Slots; 2] = [Slots { used: 0, turns: true }, Slots { used: 1, turns: true }];
    const MERGED: [Slots; 2] = [Slots { used: 1, turns: false }; 2];
    const STORED: [Slots; 2] = [Slots { used: 5, turns: false }; 2];

    struct Pipe {
        topology: Topology,
        transfers: Transfers,
        lines: PipeLines,
    }

    impl Pipe {
        fn of(machine: &str) -> Pipe {
            let topology = Topology::builtin(machine, None).unwrap();
            let transfers = Transfers::new(&topology);
            let lines = PipeLines::new(1, topology.nr_cpus(), topology.costs());
            Pipe { topology, transfers, lines }
        }

        fn used(&mut self, cpu: u16, read: Option<u32>, slots: Slots) -> u64 {
            let Pipe { topology, transfers, lines } = self;
            lines.used(topology, transfers, 0, (CpuId(cpu), false), (read, slots)).1
        }

        /// A write on one CPU and a read of 100 bytes on another, when both know the pipe: the sum.
        fn message(&mut self, [writer, reader]: [u16; 2], slots: [Slots; 2]) -> [u64; 2] {
            let mut both =
                || [self.used(writer, None, slots[0]), self.used(reader, Some(100), slots[1])];
            both();
            both();
            both()
        }
    }

    /// One line of Ice Lake within the LLC, with the overlap of the list.
    const LINE_ICX: u64 = 51 * 100 / 125;

    fn lines(ns: u64) -> u64 {
        (ns + LINE_ICX / 2) / LINE_ICX
    }

    #[test]
    fn a_message_on_one_cpu_moves_nothing() {
        let mut pipe = Pipe::of("genoa");
        assert_eq!(pipe.message([3, 3], DRAINED), [0, 0]);
        assert_eq!(pipe.message([3, 3], STORED), [0, 0]);
    }

    /// Offsets of `struct pipe_inode_info` in 6.1: `head` and `tail` and `tmp_page` are in lines of
    /// their own, which only the turn of a page writes.
    #[test]
    fn head_and_tail_move_only_where_pages_turn() {
        let mut pipe = Pipe::of("icelake");
        assert_eq!(pipe.message([0, 1], DRAINED).map(lines), [4, 6]);
        assert_eq!(pipe.message([0, 1], MERGED).map(lines), [2, 4]);
    }

    #[test]
    fn with_pages_in_store_both_sides_keep_their_buffers() {
        let mut pipe = Pipe::of("icelake");
        assert_eq!(pipe.message([0, 1], STORED).map(lines), [1, 3]);
    }

    #[test]
    fn each_cpu_fetches_head_and_tail_once_after_a_page_began() {
        let mut pipe = Pipe::of("icelake");
        for writer in 0..8 {
            pipe.used(writer, None, STORED[0]);
        }
        pipe.used(0, None, Slots { used: 5, turns: true });
        for writer in 1..8 {
            assert_eq!(lines(pipe.used(writer, None, STORED[0])), 4, "CPU {writer}");
        }
        for writer in 1..8 {
            assert_eq!(lines(pipe.used(writer, None, STORED[0])), 2, "CPU {writer} again");
        }
    }

    /// Section 4 of the cost model: leaving the LLC costs 0.9 us more on SPR (10 lines at 150 - 57),
    /// 0.7 us on Genoa (at 100 - 27), 1.65 us between its sockets, less what overlaps; a message may have
    /// 8 to 15 lines. Between two tasks the files stay where they are.
    #[test]
    fn a_message_that_leaves_the_llc_costs_what_its_lines_take_longer() {
        let spr = Pipe::of("spr");
        let other = spr.topology.package_span(PackageId(1)).first().unwrap().0;
        for (machine, near, far, want) in
            [("spr", 1, other, 930), ("genoa", 1, 8, 730), ("genoa", 1, 96, 1650)]
        {
            let cost = |reader| Pipe::of(machine).message([0, reader], DRAINED).iter().sum::<u64>();
            let more = (cost(far) - cost(near)) * 125 / 100;
            let range = want * 8 / 10..want * 15 / 10;
            assert!(range.contains(&(more + 3)), "{machine}: {more} for {want}");
        }
    }

    /// 1 MiB of 16,384 lines, two of them first: on Genoa at 27 ns and twice at once within an LLC,
    /// at 192 ns and three times at once between the sockets.
    #[test]
    fn the_lines_of_a_long_message_come_several_at_once() {
        for (reader, line, at_once) in [(1, 27, 2), (96, 192, 3)] {
            let mut pipe = Pipe::of("genoa");
            pipe.used(0, None, DRAINED[0]);
            let long = pipe.used(reader, Some(1 << 20), DRAINED[1]);
            let want = 16_382 * line / at_once;
            assert!((want..want + want / 50).contains(&long), "{long} for {want}");
        }
    }

    /// Twenty writers in turn: each finds the count of the file with the last one, and the reader has
    /// a file of its own.
    #[test]
    fn the_file_of_an_end_moves_between_the_threads_that_use_it() {
        let Pipe { topology, transfers, mut lines } = Pipe::of("icelake");
        let mut file = |cpu, reads: bool| {
            let op = (reads.then_some(100), STORED[0]);
            lines.used(&topology, &transfers, 0, (CpuId(cpu), true), op).0
        };
        assert_eq!((file(0, false), file(9, true)), (0, 0), "nobody had them");
        assert_eq!((file(0, false), file(9, true)), (0, 0), "they are still here");
        for writer in 1..20 {
            let ns = file(writer, false);
            assert!((LINE_ICX - 1..=LINE_ICX + 1).contains(&ns), "{ns} for {LINE_ICX}");
        }
        assert_eq!(file(9, true), 0);
    }
}
