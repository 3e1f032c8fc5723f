//! Which threads were kept on one CPU, and for how long: no tracepoint tells, but what did not happen does.
//!
//! A scheduler that may choose does not leave a thread waiting behind others while half of the machine is
//! idle. Where a thread was queued behind another one all the same, again and again, and stayed on that
//! CPU, it was not free to go.

use super::stays::{Stay, Stays};
use super::{Begin, Deed, Does, Life, is_player, is_stopper};
use crate::event::{PrevState, ThreadIx, What};
use crate::reader::{Context, Told, Trace};

/// Somebody who came to a CPU less than so long ago may not have been seen by a waker, ns.
/// Guess: several times what the longest way through a wakeup takes on the machines of the kernel lab.
const SEEN: u64 = 20_000;

/// So long a wait behind others weighs as much as one wakeup behind them, ns. Guess: a few ticks of each
/// usual length, for idle CPUs look for work at their ticks.
const LONG: u64 = 20_000_000;

/// So many times in one stay are no accident. Guess.
const ENOUGH: u64 = 3;

/// What is known of a CPU at an instant.
#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    /// Who is current, if any event has told.
    current: Option<ThreadIx>,
    /// Since when.
    since: u64,
}

/// What is known of a thread at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Is {
    #[default]
    Unknown,
    /// It has begun to wait then.
    Waiting(u64),
    Running,
    /// Asleep, or not born yet.
    Away,
}

/// Tells the lives of `trace` who was kept on one CPU.
pub(super) fn tell(trace: &Trace, lives: &mut [Life]) {
    for stay in forced(trace) {
        let Stay { thread, cpu, is_first, confined, released, .. } = stay;
        lives[thread.0 as usize].kept = true;
        if is_first {
            lives[thread.0 as usize].kept_first = Some(cpu);
        } else {
            insert(lives, confined, Does::Keeps(thread, Some(cpu)));
        }
        insert(lives, released, Does::Keeps(thread, None));
    }
}

/// Puts a deed into the run of somebody in which that time is.
fn insert(lives: &mut [Life], by: Option<(ThreadIx, u64)>, does: Does) {
    let Some((by, time)) = by else { return };
    let life = &mut lives[by.0 as usize];
    // Nothing comes before the sleep that somebody begins in.
    let first = usize::from(matches!(life.begin, Begin::Asleep(_)));
    let is_end = |deed: &Deed| matches!(deed.does, Does::Out | Does::Sleep(_) | Does::Exits);
    let mut rest = life.deeds.iter().skip(first);
    if let Some(place) = rest.position(|deed| deed.time >= time && is_end(deed)) {
        life.deeds.insert(first + place, Deed { time, does });
    }
}

/// Goes through a trace.
struct Watch<'a> {
    trace: &'a Trace,
    cpus: Vec<Cpu>,
    threads: Vec<Is>,
    stays: Stays,
}

/// The stays of `trace` that were forced.
fn forced(trace: &Trace) -> Vec<Stay> {
    let begin = trace.told.first().map_or(0, |told| told.event.time);
    let mut cpus = vec![Cpu::default(); trace.nr_cpus as usize];
    for told in &trace.told {
        let cpu = &mut cpus[told.event.cpu as usize];
        if cpu.current.is_none() {
            *cpu = Cpu { current: Some(told.event.current), since: begin };
        }
    }
    let threads = vec![Is::Unknown; trace.threads.all.len()];
    let mut watch = Watch { trace, cpus, threads, stays: Stays::new(trace) };
    for told in &trace.told {
        watch.event(told);
    }
    watch.stays.finish(|refused, waited| refused + waited / LONG >= ENOUGH)
}

impl Watch<'_> {
    fn event(&mut self, told: &Told) {
        let time = told.event.time;
        match told.event.what {
            What::Switch { prev, prev_state, next } => {
                self.leaves(told, prev, prev_state);
                self.gets(told, next);
                self.cpus[told.event.cpu as usize] = Cpu { current: Some(next), since: time };
            }
            What::Wakeup { wakee, target_cpu } => self.queued(told, wakee, target_cpu, false),
            What::WakeupNew { wakee, target_cpu } => self.queued(told, wakee, target_cpu, true),
            What::Migrate { task, dest_cpu, .. } => {
                self.stays.at(task, dest_cpu, time);
                let waits = matches!(self.threads[task.0 as usize], Is::Waiting(_));
                if waits && !is_stopper(self.trace.threads.get(told.event.current)) {
                    self.stays.pulled(task);
                }
            }
            What::Fork { parent, child } => {
                self.threads[child.0 as usize] = Is::Away;
                self.stays.forks(parent, child, time);
            }
            What::Waking { .. } | What::Exit { .. } => {}
        }
    }

    fn leaves(&mut self, told: &Told, prev: ThreadIx, state: PrevState) {
        let (time, cpu) = (told.event.time, told.event.cpu);
        if !is_player(&self.trace.threads, prev) {
            return;
        }
        // Who was moved while it ran is told so before its switch.
        if self.threads[prev.0 as usize] == Is::Unknown {
            self.stays.at(prev, cpu, time);
        }
        self.stays.ran(prev, time);
        let waits = matches!(state, PrevState::Running { .. });
        self.threads[prev.0 as usize] = if waits { Is::Waiting(time) } else { Is::Away };
    }

    fn gets(&mut self, told: &Told, next: ThreadIx) {
        let (time, cpu) = (told.event.time, told.event.cpu);
        if !is_player(&self.trace.threads, next) {
            return;
        }
        self.stays.at(next, cpu, time);
        self.stays.runs(next, time);
        if let Is::Waiting(since) = self.threads[next.0 as usize]
            && self.is_roomy(since)
        {
            self.stays.waited(next, time - since);
        }
        self.threads[next.0 as usize] = Is::Running;
    }

    /// `wakee` is queued on `target`.
    fn queued(&mut self, told: &Told, wakee: ThreadIx, target: u32, new: bool) {
        let time = told.event.time;
        if !is_player(&self.trace.threads, wakee) {
            return;
        }
        self.stays.at(wakee, target, time);
        let was = std::mem::replace(&mut self.threads[wakee.0 as usize], Is::Waiting(time));
        if was == Is::Running {
            self.threads[wakee.0 as usize] = was;
            return;
        }
        // Whoever is about to sleep may leave its own CPU to the one that it wakes.
        if !new && told.event.cpu == target && told.context != Context::Interrupt {
            return;
        }
        let before = time.saturating_sub(SEEN);
        if was != Is::Away || !self.is_busy(target, wakee, before) || !self.is_roomy(before) {
            return;
        }
        let parent = self.stays.parent(wakee);
        let is_behind_parent = new && self.cpus[target as usize].current == parent;
        // A fork looks at the whole machine. Who is new has the affinity of its parent.
        let times = if is_behind_parent { ENOUGH } else { 1 };
        self.stays.refused(wakee, times);
        if let Some(parent) = parent.filter(|_| is_behind_parent) {
            self.stays.refused(parent, times);
        }
    }

    /// Whether a thread other than `wakee` has been current on `cpu` since `before`. A worker of the
    /// kernel that belongs to this CPU does not count: who is woken by it may stay beside it.
    fn is_busy(&self, cpu: u32, wakee: ThreadIx, before: u64) -> bool {
        let Some(Cpu { current: Some(current), since }) = self.cpus.get(cpu as usize).copied()
        else {
            return false;
        };
        let threads = &self.trace.threads;
        let is_worker = threads.get(current).comm.starts_with("kworker/");
        since <= before && current != wakee && is_player(threads, current) && !is_worker
    }

    /// Whether half of the CPUs of which something is known have been idle since `before`.
    fn is_roomy(&self, before: u64) -> bool {
        let mut counts = [0_usize; 2];
        for Cpu { current, since } in &self.cpus {
            let Some(current) = current else { continue };
            let idle = self.trace.threads.get(*current).pid == 0 && *since <= before;
            counts[usize::from(idle)] += 1;
        }
        counts[1] > 0 && counts[1] >= counts[0]
    }
}
