//! `CpuSet`: a set of up to 1,024 CPUs in line, which costs only as many words as it spans.

use std::{fmt, hash, ops::Range};

use crate::ids::CpuId;

mod iter;
mod text;

pub use iter::{Iter, IterWrap};
pub use text::ParseCpuSetError;

/// The number of CPUs that a set can hold, and so the largest machine.
pub const MAX_CPUS: usize = 1024;

const WORDS: usize = MAX_CPUS / 64;

/// A set of CPUs, as the kernel's `cpumask`.
///
/// 1,024 bits in line, and the window of words between the first member and the last:
/// a set within one LLC costs one or two words of work, wherever that LLC lies.
/// It is plain data and never allocates.
#[derive(Clone, Copy)]
pub struct CpuSet {
    /// Bit `c % 64` of word `c / 64` says whether CPU `c` is a member.
    words: [u64; WORDS],
    /// The words in use are `lo..hi`. Both edge words are non-zero; the empty set has `0..0`.
    lo: u8,
    hi: u8,
}

impl CpuSet {
    /// The empty set.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self { words: [0; WORDS], lo: 0, hi: 0 }
    }

    /// The CPUs `0..n`.
    ///
    /// # Panics
    ///
    /// If `n` is more than [`MAX_CPUS`].
    #[must_use]
    pub fn first_n(n: usize) -> Self {
        assert!(n <= MAX_CPUS, "a set holds at most {MAX_CPUS} CPUs, not {n}");
        let mut words = [0; WORDS];
        words[..n / 64].fill(u64::MAX);
        if !n.is_multiple_of(64) {
            words[n / 64] = bits_below(n % 64);
        }
        Self { words, lo: 0, hi: byte(n.div_ceil(64)) }
    }

    /// The set of this CPU alone.
    ///
    /// # Panics
    ///
    /// If `cpu` is 1,024 or more.
    #[inline]
    #[must_use]
    pub fn single(cpu: CpuId) -> Self {
        let mut set = Self::new();
        set.insert(cpu);
        set
    }

    /// Adds a CPU; true if it was not a member.
    ///
    /// # Panics
    ///
    /// If `cpu` is 1,024 or more.
    #[inline]
    pub fn insert(&mut self, cpu: CpuId) -> bool {
        let (w, bit) = split(cpu);
        let was = self.words[w];
        self.words[w] = was | bit;
        if self.lo == self.hi {
            (self.lo, self.hi) = (byte(w), byte(w + 1));
        } else {
            self.lo = self.lo.min(byte(w));
            self.hi = self.hi.max(byte(w + 1));
        }
        was & bit == 0
    }

    /// Takes a CPU out; true if it was a member.
    #[inline]
    pub fn remove(&mut self, cpu: CpuId) -> bool {
        let (w, bit) = split(cpu);
        let Some(word) = self.words.get_mut(w) else { return false };
        let was = *word;
        *word = was & !bit;
        if *word == 0 {
            self.trim();
        }
        was & bit != 0
    }

    /// Whether `cpu` is a member.
    #[inline]
    #[must_use]
    pub fn contains(&self, cpu: CpuId) -> bool {
        let (w, bit) = split(cpu);
        self.words.get(w).is_some_and(|word| word & bit != 0)
    }

    /// Whether there is no member.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.lo == self.hi
    }

    /// The number of members.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.words[self.window()].iter().map(|w| w.count_ones() as usize).sum()
    }

    /// The member with the lowest number.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<CpuId> {
        (!self.is_empty()).then(|| lowest(usize::from(self.lo), self.words[usize::from(self.lo)]))
    }

    /// The member with the highest number.
    #[inline]
    #[must_use]
    pub fn last(&self) -> Option<CpuId> {
        let w = usize::from(self.hi).checked_sub(1)?;
        Some(CpuId::new(w * 64 + 63 - self.words[w].leading_zeros() as usize))
    }

    /// The first member that is `cpu` or above it.
    #[inline]
    #[must_use]
    pub fn next_from(&self, cpu: CpuId) -> Option<CpuId> {
        first_in(self.window(), cpu.idx(), |w| self.words[w])
    }

    /// The first member in increasing order from `start` on, going on at 0 after the highest.
    #[inline]
    #[must_use]
    pub fn next_wrap(&self, start: CpuId) -> Option<CpuId> {
        self.next_from(start).or_else(|| self.first())
    }

    /// The first member of `self & other` in wrap order from `start` on; builds no set.
    #[inline]
    #[must_use]
    pub fn and_next_wrap(&self, other: &Self, start: CpuId) -> Option<CpuId> {
        let window = self.common(other);
        let word = |w: usize| self.words[w] & other.words[w];
        first_in(window.clone(), start.idx(), word).or_else(|| first_in(window, 0, word))
    }

    /// The number of members of `self & other`; builds no set.
    #[inline]
    #[must_use]
    pub fn and_len(&self, other: &Self) -> usize {
        self.common(other).map(|w| (self.words[w] & other.words[w]).count_ones() as usize).sum()
    }

    /// How many members a walk in wrap order from `start` visits up to and including `cpu`.
    #[inline]
    #[must_use]
    pub fn rank_wrap(&self, start: CpuId, cpu: CpuId) -> usize {
        let to_cpu = self.len_below(cpu.idx() + 1);
        let to_start = self.len_below(start.idx());
        if start <= cpu { to_cpu - to_start } else { self.len() - to_start + to_cpu }
    }

    /// The members in increasing order.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter::new(self)
    }

    /// The members in increasing order from `start` on, going on at 0 after the highest.
    #[inline]
    #[must_use]
    pub fn iter_wrap(&self, start: CpuId) -> IterWrap<'_> {
        IterWrap::new(self, start)
    }

    /// Whether the two sets have a member in common.
    #[inline]
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        self.common(other).any(|w| self.words[w] & other.words[w] != 0)
    }

    /// Whether all members of `self` are members of `other`.
    #[inline]
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.window().all(|w| self.words[w] & !other.words[w] == 0)
    }

    /// The members of both.
    #[inline]
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let window = self.common(other);
        let mut set = Self { words: [0; WORDS], lo: byte(window.start), hi: byte(window.end) };
        for w in window {
            set.words[w] = self.words[w] & other.words[w];
        }
        set.trim();
        set
    }

    /// The members of either.
    #[inline]
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let mut set = *self;
        set.union_with(other);
        set
    }

    /// The members of `self` that are not in `other`.
    #[inline]
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let mut set = *self;
        set.subtract(other);
        set
    }

    /// Adds the members of `other`.
    #[inline]
    pub fn union_with(&mut self, other: &Self) {
        if self.is_empty() {
            *self = *other;
        } else if !other.is_empty() {
            for w in other.window() {
                self.words[w] |= other.words[w];
            }
            self.lo = self.lo.min(other.lo);
            self.hi = self.hi.max(other.hi);
        }
    }

    /// Keeps only the members that are in `other` as well.
    #[inline]
    pub fn intersect_with(&mut self, other: &Self) {
        *self = self.and(other);
    }

    /// Takes the members of `other` out.
    #[inline]
    pub fn subtract(&mut self, other: &Self) {
        for w in self.common(other) {
            self.words[w] &= !other.words[w];
        }
        self.trim();
    }

    /// The members below `end`.
    #[inline]
    fn len_below(&self, end: usize) -> usize {
        let (last, rest) = (end / 64, end % 64);
        let whole: usize = self
            .window()
            .take_while(|&w| w < last)
            .map(|w| self.words[w].count_ones() as usize)
            .sum();
        let part = self.words.get(last).map_or(0, |word| word & bits_below(rest));
        whole + part.count_ones() as usize
    }

    #[inline]
    fn window(&self) -> Range<usize> {
        usize::from(self.lo)..usize::from(self.hi.min(WORDS_U8))
    }

    /// The words that can be non-zero in both.
    #[inline]
    fn common(&self, other: &Self) -> Range<usize> {
        let lo = self.lo.max(other.lo);
        usize::from(lo)..usize::from(self.hi.min(other.hi).min(WORDS_U8).max(lo))
    }

    /// Makes the window tight again after bits went away.
    #[inline]
    fn trim(&mut self) {
        while self.lo < self.hi && self.words[usize::from(self.lo)] == 0 {
            self.lo += 1;
        }
        while self.lo < self.hi && self.words[usize::from(self.hi) - 1] == 0 {
            self.hi -= 1;
        }
        if self.lo == self.hi {
            (self.lo, self.hi) = (0, 0);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "16 words")]
const WORDS_U8: u8 = WORDS as u8;

/// A word index as the window stores it.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "an index of a word is at most 16")]
const fn byte(w: usize) -> u8 {
    w as u8
}

/// The `n` lowest bits, for `n` below 64.
#[inline]
const fn bits_below(n: usize) -> u64 {
    (1 << n) - 1
}

/// The word and the bit of a CPU.
#[inline]
const fn split(cpu: CpuId) -> (usize, u64) {
    (cpu.idx() / 64, 1 << (cpu.idx() % 64))
}

/// The CPU of the lowest bit of word `w`.
#[inline]
const fn lowest(w: usize, word: u64) -> CpuId {
    CpuId::new(w * 64 + word.trailing_zeros() as usize)
}

/// The first bit at or above `start` among the words of `window`.
#[inline]
fn first_in(window: Range<usize>, start: usize, word: impl Fn(usize) -> u64) -> Option<CpuId> {
    let (first, skip) = (start / 64, start % 64);
    if window.contains(&first) {
        let here = word(first) & !bits_below(skip);
        if here != 0 {
            return Some(lowest(first, here));
        }
    }
    let from = if start == 0 { window.start } else { window.start.max(first + 1) };
    (from..window.end).map(|w| (w, word(w))).find(|&(_, bits)| bits != 0).map(|(w, b)| lowest(w, b))
}

impl Default for CpuSet {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for CpuSet {
    /// Equality of members: the window follows from them.
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.lo == other.lo
            && self.hi == other.hi
            && self.words[self.window()] == other.words[other.window()]
    }
}

impl Eq for CpuSet {}

impl hash::Hash for CpuSet {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.lo.hash(state);
        self.words[self.window()].hash(state);
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}
