//! `Agenda`: one slot for each source of events, in a wheel of wheels of the earliest.
//!
//! Sources are known before the run, and each has one slot: arming it again *replaces* its plan,
//! so nothing is ever cancelled and no stale event can come out. At one instant, sources fire in
//! the order of the variants of [`Event`], then by id: the order depends on who, never on who was
//! armed first.
//!
//! The plans stand in a hierarchical timing wheel (Varghese and Lauck, "Hashed and hierarchical
//! timing wheels", 1987) whose finest wheel has one spoke for each nanosecond; so a plan is taken
//! and replaced in constant time, and no two instants ever share a spoke of the finest wheel.

#![expect(clippy::cast_possible_truncation, reason = "spokes and nodes are counted in u32")]

use simsched_topology::CpuId;

use crate::ids::TaskId;
use crate::time::SimTime;

/// What can happen. The order of the variants is the order at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// What the CPU is doing ends: an op, a switch, a handler.
    StageEnd(CpuId),
    /// An interprocessor interrupt arrives, or a polling idle CPU sees its flag.
    Resched(CpuId),
    /// The CPU's tick.
    Tick(CpuId),
    /// A sleeping task's timer expires.
    Timer(TaskId),
}

/// Bits of a plan's time that choose a spoke, by wheel, finest first.
const BITS: [u32; 6] = [12, 10, 10, 10, 10, 10];
/// The lowest of these bits, by wheel.
const SHIFT: [u32; 6] = [0, 12, 22, 32, 42, 52];
/// The first spoke of each wheel in the table of all.
const FIRST: [usize; 6] = [0, 4096, 5120, 6144, 7168, 8192];
/// Spokes of all wheels together, rounded up to a power of two: a masked index needs no check.
const SPOKES: usize = 16384;
/// The wheel of a plan, by the number of bits of (its time xor the present).
const WHEEL: [u8; 65] = {
    let mut wheel = [0; 65];
    let mut bits = 13;
    while bits <= 64 {
        wheel[bits] = if bits > 52 { 5 } else { ((bits - 3) / 10) as u8 };
        bits += 1;
    }
    wheel
};
/// No node, no spoke.
const NONE: u32 = u32::MAX;

/// A source and its plan; nodes of one spoke form a list.
#[derive(Clone, Copy, Debug)]
struct Node {
    time: u64,
    next: u32,
    prev: u32,
    spoke: u32,
}

/// The plans of all sources.
#[derive(Clone, Debug)]
pub struct Agenda {
    nodes: Vec<Node>,
    heads: Box<[u32; SPOKES]>,
    /// One bit for each spoke that holds a plan.
    used: Box<[u64; SPOKES / 64]>,
    /// One bit for each word of `used` of the finest wheel that is not zero.
    used_words: u64,
    /// No plan is earlier; the wheels turn with it.
    at: u64,
    nr_cpus: u32,
}

impl Agenda {
    /// An empty agenda for this many CPUs and tasks.
    #[must_use]
    pub fn new(nr_cpus: usize, nr_tasks: usize) -> Agenda {
        let nr_cpus = u32::try_from(nr_cpus).expect("at most 1024 CPUs");
        let node = Node { time: 0, next: NONE, prev: NONE, spoke: NONE };
        Agenda {
            nodes: vec![node; 3 * nr_cpus as usize + nr_tasks],
            heads: Box::new([NONE; SPOKES]),
            used: Box::new([0; SPOKES / 64]),
            used_words: 0,
            at: 0,
            nr_cpus,
        }
    }

    /// Plans `event` for `time`, in place of what was planned for its source.
    #[inline]
    pub fn arm(&mut self, event: Event, time: SimTime) {
        debug_assert!(time.0 >= self.at && time.0 < 1 << 62, "{event:?} at {time}");
        let idx = self.index(event);
        if self.nodes[idx as usize].spoke != NONE {
            self.unlink(idx);
        }
        self.nodes[idx as usize].time = time.0;
        self.link(idx, time.0);
    }

    /// Drops what is planned for the source of `event`, if anything is.
    #[inline]
    pub fn disarm(&mut self, event: Event) {
        let idx = self.index(event);
        if self.nodes[idx as usize].spoke != NONE {
            self.unlink(idx);
        }
    }

    /// When the source of `event` will fire.
    #[inline]
    #[must_use]
    pub fn planned(&self, event: Event) -> Option<SimTime> {
        let node = &self.nodes[self.index(event) as usize];
        (node.spoke != NONE).then_some(SimTime(node.time))
    }

    /// Takes the next event out, unless it lies after `horizon`: then time has passed up to there, and
    /// nothing earlier may be armed.
    #[inline]
    pub fn next_until(&mut self, horizon: SimTime) -> Option<(SimTime, Event)> {
        loop {
            if let Some(spoke) = self.first_in_finest() {
                let time = (self.at & !0xfff) | spoke as u64;
                if time > horizon.0 {
                    return None;
                }
                self.at = time;
                return Some((SimTime(time), self.take_first(spoke)));
            }
            if !self.turn(horizon.0) {
                return None;
            }
        }
    }

    /// Takes the first plan of a used spoke out.
    #[inline]
    fn take_first(&mut self, spoke: usize) -> Event {
        let idx = self.heads[spoke % SPOKES];
        let node = &mut self.nodes[idx as usize];
        node.spoke = NONE;
        let next = node.next;
        if next != NONE {
            self.nodes[next as usize].prev = NONE;
        }
        self.behead(spoke % SPOKES, next);
        self.event(idx)
    }

    /// The first used spoke of the finest wheel that has not passed.
    #[inline]
    fn first_in_finest(&self) -> Option<usize> {
        let from = (self.at & 0xfff) as usize;
        let word = from / 64;
        let here = self.used[word] & (!0 << (from % 64));
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        let later = self.used_words & (!1_u64 << word);
        if later == 0 {
            return None;
        }
        let word = later.trailing_zeros() as usize;
        Some(word * 64 + self.used[word].trailing_zeros() as usize)
    }

    /// Turns to the next used spoke of a coarser wheel and spreads its plans over the finer ones;
    /// false where there is none up to `horizon`.
    fn turn(&mut self, horizon: u64) -> bool {
        for wheel in 1..BITS.len() {
            let digit = (self.at >> SHIFT[wheel]) as usize & ((1 << BITS[wheel]) - 1);
            let Some(spoke) = self.next_used(wheel, digit + 1) else { continue };
            let width = SHIFT[wheel] + BITS[wheel];
            let start = (self.at >> width << width) | ((spoke as u64) << SHIFT[wheel]);
            if start > horizon {
                return false;
            }
            self.at = start;
            self.spread(FIRST[wheel] + spoke);
            return true;
        }
        false
    }

    /// The first used spoke of `wheel` from number `from` on.
    fn next_used(&self, wheel: usize, from: usize) -> Option<usize> {
        let end = 1usize << BITS[wheel];
        let base = FIRST[wheel] / 64;
        let mut word = from / 64;
        let mut mask = !0_u64 << (from % 64);
        while word * 64 < end {
            let bits = self.used[base + word] & mask;
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
            word += 1;
            mask = !0;
        }
        None
    }

    fn spread(&mut self, spoke: usize) {
        let mut idx = self.heads[spoke];
        self.heads[spoke] = NONE;
        self.used[spoke / 64] &= !(1 << (spoke % 64));
        while idx != NONE {
            let Node { time, next, .. } = self.nodes[idx as usize];
            self.link(idx, time);
            idx = next;
        }
    }

    #[inline]
    fn link(&mut self, idx: u32, time: u64) {
        let differ = time ^ self.at;
        if differ < 1 << 12 {
            self.link_in_order(idx, (time & 0xfff) as usize);
        } else {
            let wheel = usize::from(WHEEL[(64 - differ.leading_zeros()) as usize]);
            let digit = (time >> SHIFT[wheel]) as usize & ((1 << BITS[wheel]) - 1);
            self.link_first(idx, FIRST[wheel] + digit);
        }
    }

    /// A spoke of the finest wheel is one instant: its list is kept in the order of firing.
    #[inline]
    fn link_in_order(&mut self, idx: u32, spoke: usize) {
        let head = self.heads[spoke % SPOKES];
        if head == NONE || idx < head {
            self.link_first(idx, spoke);
            self.used_words |= 1 << (spoke / 64 % 64);
        } else {
            self.link_behind(idx, head, spoke);
        }
    }

    fn link_behind(&mut self, idx: u32, head: u32, spoke: usize) {
        let mut after = head;
        let mut next = self.nodes[head as usize].next;
        while next != NONE && next < idx {
            after = next;
            next = self.nodes[next as usize].next;
        }
        let node = &mut self.nodes[idx as usize];
        (node.prev, node.next, node.spoke) = (after, next, spoke as u32);
        self.nodes[after as usize].next = idx;
        if next != NONE {
            self.nodes[next as usize].prev = idx;
        }
    }

    #[inline]
    fn link_first(&mut self, idx: u32, spoke: usize) {
        let spoke = spoke % SPOKES;
        let head = std::mem::replace(&mut self.heads[spoke], idx);
        let node = &mut self.nodes[idx as usize];
        (node.prev, node.next, node.spoke) = (NONE, head, spoke as u32);
        self.used[spoke / 64] |= 1 << (spoke % 64);
        if head != NONE {
            self.nodes[head as usize].prev = idx;
        }
    }

    #[inline]
    fn unlink(&mut self, idx: u32) {
        let node = &mut self.nodes[idx as usize];
        let Node { next, prev, spoke, .. } = *node;
        node.spoke = NONE;
        if next != NONE {
            self.nodes[next as usize].prev = prev;
        }
        if prev == NONE {
            self.behead(spoke as usize % SPOKES, next);
        } else {
            self.nodes[prev as usize].next = next;
        }
    }

    /// The list of `spoke` loses its first node.
    #[inline]
    fn behead(&mut self, spoke: usize, next: u32) {
        self.heads[spoke] = next;
        if next == NONE {
            let word = &mut self.used[spoke / 64];
            *word &= !(1 << (spoke % 64));
            if *word == 0 && spoke < 4096 {
                self.used_words &= !(1 << (spoke / 64));
            }
        }
    }

    #[inline]
    fn index(&self, event: Event) -> u32 {
        match event {
            Event::StageEnd(cpu) => u32::from(cpu.0),
            Event::Resched(cpu) => self.nr_cpus + u32::from(cpu.0),
            Event::Tick(cpu) => 2 * self.nr_cpus + u32::from(cpu.0),
            Event::Timer(task) => 3 * self.nr_cpus + task.0,
        }
    }

    #[inline]
    fn event(&self, idx: u32) -> Event {
        let n = self.nr_cpus;
        let cpu = |idx: u32| CpuId(idx as u16);
        if idx < n {
            Event::StageEnd(cpu(idx))
        } else if idx < 2 * n {
            Event::Resched(cpu(idx - n))
        } else if idx < 3 * n {
            Event::Tick(cpu(idx - 2 * n))
        } else {
            Event::Timer(TaskId(idx - 3 * n))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_one_instant_sources_fire_by_kind_then_by_id() {
        let mut agenda = Agenda::new(2, 2);
        let order = [
            Event::StageEnd(CpuId(0)),
            Event::StageEnd(CpuId(1)),
            Event::Resched(CpuId(1)),
            Event::Tick(CpuId(0)),
            Event::Timer(TaskId(1)),
        ];
        for event in order.iter().rev() {
            agenda.arm(*event, SimTime(7));
        }
        let fired: Vec<_> = std::iter::from_fn(|| agenda.next_until(SimTime(9))).collect();
        assert_eq!(fired, order.map(|event| (SimTime(7), event)));
    }

    #[test]
    fn an_event_after_the_horizon_stays() {
        let mut agenda = Agenda::new(1, 0);
        agenda.arm(Event::Tick(CpuId(0)), SimTime(5_000_000_000));
        assert_eq!(agenda.next_until(SimTime(4_999_999_999)), None);
        agenda.arm(Event::StageEnd(CpuId(0)), SimTime(4_999_999_999));
        assert!(agenda.next_until(SimTime(4_999_999_999)).is_some());
        assert!(agenda.next_until(SimTime(5_000_000_000)).is_some());
    }
}
