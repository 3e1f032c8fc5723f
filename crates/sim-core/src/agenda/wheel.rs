//! `Wheel`: the plans of sources that fire rarely, in a wheel of wheels.
//!
//! The hierarchical timing wheel of Varghese and Lauck ("Hashed and hierarchical timing wheels",
//! 1987). The finest wheel has one spoke for each nanosecond, so a plan is made and replaced in
//! constant time, and no two instants ever share a spoke of the finest wheel.

#![expect(clippy::cast_possible_truncation, reason = "spokes and nodes are counted in u32")]

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

/// The plans of sources that are numbered from 0; at one instant the lower number comes first.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    nodes: Vec<Node>,
    heads: Box<[u32; SPOKES]>,
    /// One bit for each spoke that holds a plan.
    used: Box<[u64; SPOKES / 64]>,
    /// One bit for each word of `used` of the finest wheel that is not zero.
    used_words: u64,
    /// No plan is earlier; the wheels turn with it.
    at: u64,
}

impl Wheel {
    /// An empty wheel for this many sources.
    pub(super) fn new(sources: usize) -> Wheel {
        let node = Node { time: 0, next: NONE, prev: NONE, spoke: NONE };
        Wheel {
            nodes: vec![node; sources],
            heads: Box::new([NONE; SPOKES]),
            used: Box::new([0; SPOKES / 64]),
            used_words: 0,
            at: 0,
        }
    }

    /// Plans source `idx` for `time`, in place of what was planned for it.
    #[inline]
    pub(super) fn arm(&mut self, idx: u32, time: u64) {
        debug_assert!(time >= self.at && time < 1 << 62, "source {idx} at {time}");
        self.disarm(idx);
        self.nodes[idx as usize].time = time;
        self.link(idx, time);
    }

    /// Drops what is planned for source `idx`, if anything is.
    #[inline]
    pub(super) fn disarm(&mut self, idx: u32) {
        if self.nodes[idx as usize].spoke != NONE {
            self.unlink(idx);
        }
    }

    /// When source `idx` will fire.
    #[inline]
    pub(super) fn planned(&self, idx: u32) -> Option<u64> {
        let node = &self.nodes[idx as usize];
        (node.spoke != NONE).then_some(node.time)
    }

    /// When the earliest source fires, if not after `horizon` (the wheels turn there); else an
    /// instant after `horizon` before which none fires.
    pub(super) fn earliest(&mut self, horizon: u64) -> Result<u64, u64> {
        loop {
            if let Some(spoke) = self.first_in_finest() {
                let time = (self.at & !0xfff) | spoke as u64;
                return if time <= horizon { Ok(time) } else { Err(time) };
            }
            self.turn(horizon)?;
        }
    }

    /// Takes the source out that fires at `time`, which [`Wheel::earliest`] has just told.
    pub(super) fn take(&mut self, time: u64) -> u32 {
        self.at = time;
        self.take_first((time & 0xfff) as usize)
    }

    /// Takes the first plan of a used spoke out.
    #[inline]
    fn take_first(&mut self, spoke: usize) -> u32 {
        let idx = self.heads[spoke % SPOKES];
        let node = &mut self.nodes[idx as usize];
        node.spoke = NONE;
        let next = node.next;
        if next != NONE {
            self.nodes[next as usize].prev = NONE;
        }
        self.behead(spoke % SPOKES, next);
        idx
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
    /// if that spoke begins after `horizon`, tells when instead.
    fn turn(&mut self, horizon: u64) -> Result<(), u64> {
        for wheel in 1..BITS.len() {
            let digit = (self.at >> SHIFT[wheel]) as usize & ((1 << BITS[wheel]) - 1);
            let Some(spoke) = self.next_used(wheel, digit + 1) else { continue };
            let width = SHIFT[wheel] + BITS[wheel];
            let start = (self.at >> width << width) | ((spoke as u64) << SHIFT[wheel]);
            if start > horizon {
                return Err(start);
            }
            self.at = start;
            self.spread(FIRST[wheel] + spoke);
            return Ok(());
        }
        Err(u64::MAX)
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
}
