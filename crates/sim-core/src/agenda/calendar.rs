//! `Calendar`: the ends of the CPUs' stages. What ends soon has a page for its nanosecond; what ends
//! later competes in the tournament.
//!
//! A stage nearly always ends within a few microseconds, so a plan is nearly always made and found in
//! constant time, however many CPUs there are.

#![expect(clippy::cast_possible_truncation, reason = "pages and CPUs are counted in u16")]

use simsched_topology::CpuId;

use super::tournament::Tournament;

/// Pages, one for each nanosecond from the present on, cyclically.
const PAGES: usize = 4096;
/// The most CPUs there are; an index that is masked with it needs no check.
const CPUS: usize = 1024;
/// The end of a page's list; the place of a CPU without a plan.
const NONE: u16 = u16::MAX;
/// The place of a CPU whose plan is in the tournament.
const FAR: u16 = u16::MAX - 1;

/// Where the plan of a CPU is.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// A page, [`FAR`] or [`NONE`].
    place: u16,
    /// The next CPU on the same page.
    next: u16,
}

/// The plans of all CPUs.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    /// The first CPU of each page: the lowest number of those that fire at that instant.
    pages: Box<[u16; PAGES]>,
    rows: Box<[Row; CPUS]>,
    /// One bit for each page with a CPU.
    used: Box<[u64; PAGES / 64]>,
    /// One bit for each word of `used` that is not zero.
    words: u64,
    /// No plan is earlier; the plans on pages are less than [`PAGES`] later.
    at: u64,
    far: Tournament,
    /// The earliest plan of the tournament, `u64::MAX` if there is none.
    far_from: u64,
}

impl Calendar {
    /// No plan for any of `nr_cpus` CPUs.
    pub(super) fn new(nr_cpus: usize) -> Calendar {
        Calendar {
            pages: Box::new([NONE; PAGES]),
            rows: Box::new([Row { place: NONE, next: NONE }; CPUS]),
            used: Box::new([0; PAGES / 64]),
            words: 0,
            at: 0,
            far: Tournament::new(nr_cpus),
            far_from: u64::MAX,
        }
    }

    /// Plans `cpu` for `time`, in place of what was planned for it.
    #[inline(always)]
    pub(super) fn arm(&mut self, cpu: CpuId, time: u64) {
        if self.rows[cpu.idx() % CPUS].place != NONE {
            self.disarm(cpu);
        }
        self.arm_new(cpu, time);
    }

    /// Plans `cpu`, for which nothing is planned, for `time`.
    #[inline(always)]
    pub(super) fn arm_new(&mut self, cpu: CpuId, time: u64) {
        debug_assert!(time >= self.at, "CPU {cpu} at {time}");
        debug_assert!(self.rows[cpu.idx() % CPUS].place == NONE, "CPU {cpu} has a plan");
        if time - self.at < PAGES as u64 {
            self.link(cpu, (time % PAGES as u64) as usize);
        } else {
            self.arm_far(cpu, time);
        }
    }

    #[inline(never)]
    fn arm_far(&mut self, cpu: CpuId, time: u64) {
        self.rows[cpu.idx() % CPUS].place = FAR;
        self.far.arm(cpu, time);
        self.far_from = self.far.earliest();
    }

    /// Drops the plan of `cpu`, if there is one.
    #[inline(never)]
    pub(super) fn disarm(&mut self, cpu: CpuId) {
        match std::mem::replace(&mut self.rows[cpu.idx() % CPUS].place, NONE) {
            NONE => {}
            FAR => {
                self.far.disarm(cpu);
                self.far_from = self.far.earliest();
            }
            page => self.unlink(cpu, usize::from(page) % PAGES),
        }
    }

    /// When `cpu` will fire.
    pub(super) fn planned(&self, cpu: CpuId) -> Option<u64> {
        match self.rows[cpu.idx() % CPUS].place {
            NONE => None,
            FAR => self.far.planned(cpu),
            page => Some(self.time_of(usize::from(page))),
        }
    }

    /// The earliest plan, `u64::MAX` if there is none.
    #[inline]
    pub(super) fn earliest(&self) -> u64 {
        let near = self.first_page().map_or(u64::MAX, |page| self.time_of(page));
        near.min(self.far_from)
    }

    /// Takes out whose plan is the earliest one, `time`; at one instant the CPU with the lowest
    /// number comes first.
    #[inline]
    pub(super) fn take(&mut self, time: u64) -> CpuId {
        self.at = time;
        let page = (time % PAGES as u64) as usize;
        let near = self.pages[page];
        // A page that has passed is empty, and none of those to come is earlier than `time`.
        if self.far_from == time && self.far.first().0 < near {
            return self.take_far();
        }
        let row = &mut self.rows[usize::from(near) % CPUS];
        row.place = NONE;
        let next = row.next;
        self.behead(page, next);
        CpuId(near)
    }

    #[inline(never)]
    fn take_far(&mut self) -> CpuId {
        let cpu = self.far.first();
        self.disarm(cpu);
        cpu
    }

    /// Time has passed up to `time`, and no plan is earlier.
    #[inline]
    pub(super) fn pass(&mut self, time: u64) {
        self.at = time;
    }

    /// The instant of a page.
    #[inline]
    fn time_of(&self, page: usize) -> u64 {
        self.at + ((page as u64).wrapping_sub(self.at) % PAGES as u64)
    }

    /// The first page with a CPU, from the present on.
    #[inline]
    fn first_page(&self) -> Option<usize> {
        let from = (self.at % PAGES as u64) as usize;
        let word = from / 64;
        let here = self.used[word] & (!0 << (from % 64));
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        if self.words == 0 {
            return None;
        }
        // The pages of this word that lie before the present are the last ones.
        let later = self.words.rotate_right(word as u32 + 1).trailing_zeros() as usize;
        let word = (word + 1 + later) % 64;
        Some(word * 64 + self.used[word].trailing_zeros() as usize)
    }

    #[inline(always)]
    fn link(&mut self, cpu: CpuId, page: usize) {
        let head = self.pages[page % PAGES];
        let row = Row { place: page as u16, next: head };
        if head < cpu.0 {
            return self.link_behind(cpu, row);
        }
        self.rows[cpu.idx() % CPUS] = row;
        self.pages[page % PAGES] = cpu.0;
        self.used[page / 64 % (PAGES / 64)] |= 1 << (page % 64);
        self.words |= 1 << (page / 64 % 64);
    }

    /// Puts `cpu` behind the CPUs of the page that have lower numbers; `row.next` is the first.
    #[inline(never)]
    fn link_behind(&mut self, cpu: CpuId, mut row: Row) {
        let mut before = row.next;
        row.next = self.rows[usize::from(before) % CPUS].next;
        while row.next < cpu.0 {
            before = row.next;
            row.next = self.rows[usize::from(before) % CPUS].next;
        }
        self.rows[usize::from(before) % CPUS].next = cpu.0;
        self.rows[cpu.idx() % CPUS] = row;
    }

    fn unlink(&mut self, cpu: CpuId, page: usize) {
        let next = self.rows[cpu.idx() % CPUS].next;
        if self.pages[page] == cpu.0 {
            return self.behead(page, next);
        }
        let mut before = self.pages[page];
        while self.rows[usize::from(before) % CPUS].next != cpu.0 {
            before = self.rows[usize::from(before) % CPUS].next;
        }
        self.rows[usize::from(before) % CPUS].next = next;
    }

    /// The list of `page` loses its first CPU.
    #[inline]
    fn behead(&mut self, page: usize, next: u16) {
        self.pages[page % PAGES] = next;
        if next == NONE {
            let word = &mut self.used[page / 64 % (PAGES / 64)];
            *word &= !(1 << (page % 64));
            if *word == 0 {
                self.words &= !(1 << (page / 64 % 64));
            }
        }
    }
}
