//! `Stays`: from when to when each thread was on one CPU, and what was learned of it there.

use crate::event::ThreadIx;
use crate::reader::Trace;

/// The time of a thread on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stay {
    pub(super) thread: ThreadIx,
    pub(super) cpu: u32,
    /// It is the first one of its thread: it holds from the begin.
    pub(super) is_first: bool,
    /// Since when,
    pub(super) from: u64,
    /// and until when: none is to the end of the window.
    pub(super) until: Option<u64>,
    /// Who has forked the thread.
    pub(super) parent: Option<ThreadIx>,
    /// Who has let it go, and in which run: that ends then.
    pub(super) released: Option<(ThreadIx, u64)>,
    /// Who has forced it, if it is not the first one: the thread itself, in the run that ends then.
    pub(super) confined: Option<(ThreadIx, u64)>,
    /// A balancer has brought it here: it could be moved.
    pulled: bool,
    /// How often it was queued behind others here although it could have gone elsewhere,
    refused: u64,
    /// and how long it has waited behind them.
    waited: u64,
}

/// All stays, while events come.
pub(super) struct Stays {
    done: Vec<Stay>,
    /// By thread: the one that it is in.
    now: Vec<Option<Stay>>,
    /// By thread: who has forked it, and when.
    parents: Vec<Option<(ThreadIx, u64)>>,
    /// By thread: when it got a CPU and when it left it.
    runs: Vec<Vec<(u64, u64)>>,
}

impl Stays {
    pub(super) fn new(trace: &Trace) -> Stays {
        let nr = trace.threads.all.len();
        Stays {
            done: Vec::new(),
            now: vec![None; nr],
            parents: vec![None; nr],
            runs: vec![Vec::new(); nr],
        }
    }

    /// `thread` is on this CPU.
    pub(super) fn at(&mut self, thread: ThreadIx, cpu: u32, time: u64) {
        let parent = self.parent(thread);
        let now = &mut self.now[thread.0 as usize];
        let is_first = now.is_none();
        if let Some(stay) = now {
            if stay.cpu == cpu {
                return;
            }
            self.done.push(Stay { until: Some(time), ..*stay });
        }
        let stay = Stay {
            thread,
            cpu,
            is_first,
            from: time,
            until: None,
            parent,
            released: None,
            confined: None,
            pulled: false,
            refused: 0,
            waited: 0,
        };
        *now = Some(stay);
    }

    pub(super) fn forks(&mut self, parent: ThreadIx, child: ThreadIx, time: u64) {
        self.parents[child.0 as usize] = Some((parent, time));
    }

    pub(super) fn parent(&self, thread: ThreadIx) -> Option<ThreadIx> {
        self.parents[thread.0 as usize].map(|(parent, _)| parent)
    }

    /// Somebody else has moved `thread` to where it is, while it waited.
    pub(super) fn pulled(&mut self, thread: ThreadIx) {
        if let Some(stay) = &mut self.now[thread.0 as usize] {
            stay.pulled = true;
        }
    }

    pub(super) fn refused(&mut self, thread: ThreadIx, times: u64) {
        if let Some(stay) = &mut self.now[thread.0 as usize] {
            stay.refused += times;
        }
    }

    pub(super) fn waited(&mut self, thread: ThreadIx, ns: u64) {
        if let Some(stay) = &mut self.now[thread.0 as usize] {
            stay.waited += ns;
        }
    }

    /// `thread` gets its CPU.
    pub(super) fn runs(&mut self, thread: ThreadIx, time: u64) {
        self.runs[thread.0 as usize].push((time, u64::MAX));
    }

    /// `thread` leaves its CPU.
    pub(super) fn ran(&mut self, thread: ThreadIx, time: u64) {
        match self.runs[thread.0 as usize].last_mut() {
            Some(run) => run.1 = time,
            None => self.runs[thread.0 as usize].push((0, time)),
        }
    }

    /// Those that were forced, as `is_forced` says of how often and how long.
    pub(super) fn finish(mut self, is_forced: impl Fn(u64, u64) -> bool) -> Vec<Stay> {
        self.done.extend(self.now.iter().flatten());
        self.done.sort_by_key(|stay| (stay.from, stay.thread));
        let mut forced: Vec<Stay> = Vec::new();
        // A parent's stay begins before those of its children.
        for stay in &self.done {
            let is_forced = !stay.pulled && is_forced(stay.refused, stay.waited);
            if is_forced || self.inherits(stay, &forced) {
                forced.push(*stay);
            }
        }
        for nth in 0..forced.len() {
            forced[nth].released = self.release(&forced[nth], &forced);
            forced[nth].confined = self.last_run(forced[nth].thread, 0, forced[nth].from);
        }
        forced.retain(|stay| stay.is_first || stay.confined.is_some());
        forced
    }

    /// Whether the thread was forked on the CPU where it is by one that was forced to be there: affinity
    /// is inherited.
    fn inherits(&self, stay: &Stay, forced: &[Stay]) -> bool {
        let Some((parent, at)) = self.parents[stay.thread.0 as usize] else { return false };
        stay.is_first
            && forced.iter().any(|other| {
                let there = other.from <= at && other.until.is_none_or(|until| at < until);
                other.thread == parent && other.cpu == stay.cpu && there
            })
    }

    /// Who lets it go. Threads of one parent that were forced to be on one CPU are let go together: by the
    /// last run of their parent before the first of them leaves. Where that has not run since they
    /// came, each lets itself go in its own last run there.
    fn release(&self, stay: &Stay, forced: &[Stay]) -> Option<(ThreadIx, u64)> {
        let peers = forced.iter().filter(|peer| {
            let is_sibling = stay.parent.is_some() && peer.parent == stay.parent;
            peer.cpu == stay.cpu && (is_sibling || peer.thread == stay.thread)
        });
        let first = peers.clone().filter_map(|peer| peer.until).min()?;
        let came = peers.map(|peer| peer.from).filter(|from| *from < first).max()?;
        let by_parent = stay.parent.and_then(|parent| self.last_run(parent, came, first));
        by_parent.or_else(|| self.last_run(stay.thread, stay.from, stay.until?))
    }

    /// The last run of `thread` that begins from `after` on and before `before`, by its end in that time.
    fn last_run(&self, thread: ThreadIx, after: u64, before: u64) -> Option<(ThreadIx, u64)> {
        let mut runs = self.runs[thread.0 as usize].iter().rev();
        let run = runs.find(|run| (after..before).contains(&run.0))?;
        Some((thread, run.1.min(before)))
    }
}
