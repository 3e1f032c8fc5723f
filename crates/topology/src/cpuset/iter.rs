//! Walking the members of a set, from the lowest or round from a start.

use super::{CpuSet, lowest};
use crate::ids::CpuId;

/// The members of a [`CpuSet`] in increasing order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    set: &'a CpuSet,
    w: usize,
    /// What is left of word `w`.
    word: u64,
}

impl<'a> Iter<'a> {
    #[inline]
    pub(super) fn new(set: &'a CpuSet) -> Self {
        let w = usize::from(set.lo);
        Self { set, w, word: set.words.get(w).copied().unwrap_or(0) }
    }
}

impl Iterator for Iter<'_> {
    type Item = CpuId;

    #[inline]
    fn next(&mut self) -> Option<CpuId> {
        while self.word == 0 {
            self.w += 1;
            if self.w >= self.set.window().end {
                return None;
            }
            self.word = self.set.words[self.w];
        }
        let cpu = lowest(self.w, self.word);
        self.word &= self.word - 1;
        Some(cpu)
    }
}

/// The members of a [`CpuSet`] in increasing order from a start, wrapping once.
#[derive(Clone, Debug)]
pub struct IterWrap<'a> {
    set: &'a CpuSet,
    at: usize,
    left: usize,
}

impl<'a> IterWrap<'a> {
    #[inline]
    pub(super) fn new(set: &'a CpuSet, start: CpuId) -> Self {
        Self { set, at: start.idx(), left: set.len() }
    }
}

impl Iterator for IterWrap<'_> {
    type Item = CpuId;

    #[inline]
    fn next(&mut self) -> Option<CpuId> {
        self.left = self.left.checked_sub(1)?;
        let cpu = self.set.next_wrap(CpuId::new(self.at))?;
        self.at = cpu.idx() + 1;
        Some(cpu)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for IterWrap<'_> {}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut set = Self::new();
        set.extend(cpus);
        set
    }
}

impl Extend<CpuId> for CpuSet {
    fn extend<I: IntoIterator<Item = CpuId>>(&mut self, cpus: I) {
        for cpu in cpus {
            self.insert(cpu);
        }
    }
}

impl<'a> IntoIterator for &'a CpuSet {
    type Item = CpuId;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}
