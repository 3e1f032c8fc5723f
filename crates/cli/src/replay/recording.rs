//! The threads of a trace as those of a workload.

use simsched_trace::history::{self, Deed, Does, History, Life};
use simsched_trace::reader::Trace;
use simsched_trace::{Thread, ThreadIx};
use simsched_workloads::replay::{self as workload, Recording};

/// The threads of a trace that did something, and what they did.
pub(crate) fn recording(trace: &Trace, history: &History) -> (Vec<ThreadIx>, Recording) {
    let mut players = Vec::new();
    let mut places = vec![usize::MAX; history.lives.len()];
    for (nth, life) in (0..).zip(&history.lives) {
        if life.begin != history::Begin::Unknown {
            places[nth as usize] = players.len();
            players.push(ThreadIx(nth));
        }
    }
    let threads = players.iter().map(|ix| {
        let life = &history.lives[ix.0 as usize];
        let Thread { pid, tgid, comm, prio } = trace.threads.get(*ix).clone();
        workload::Thread {
            comm,
            pid,
            tgid,
            prio,
            begin: begin(life),
            deeds: life.deeds.iter().map(|deed| lowered(*deed, history.begin, &places)).collect(),
            end: match life.end {
                history::End::Awake => workload::End::Awake,
                history::End::Asleep => workload::End::Asleep,
                history::End::Exited => workload::End::Exited,
            },
            cpus: life.cpus.iter().copied().collect(),
            kept: life.kept_first,
        }
    });
    let threads = threads.collect();
    let span = history.end - history.begin;
    let History { dispatch, preempt, leave, .. } = *history;
    (players, Recording { span, dispatch, preempt, leave, here: false, speeds: None, threads })
}

fn begin(life: &Life) -> workload::Begin {
    match life.begin {
        history::Begin::Forked(dispatch) => workload::Begin::Forked(dispatch),
        history::Begin::Running(cpu) => workload::Begin::Running(cpu),
        history::Begin::Waiting(cpu) => workload::Begin::Waiting(cpu),
        history::Begin::Asleep(cpu) => workload::Begin::Asleep(cpu),
        history::Begin::Unknown => unreachable!("who did nothing does not play"),
    }
}

/// A deed of a history that begins at `zero`, where threads have these places.
fn lowered(deed: Deed, zero: u64, places: &[usize]) -> workload::Deed {
    let place = |ix: ThreadIx| places[ix.0 as usize];
    let does = match deed.does {
        Does::In(cpu) => workload::Does::In(cpu),
        Does::Out => workload::Does::Out,
        Does::Sleep(wake) => workload::Does::Sleep(wake.map(|wake| {
            let by = match wake.by {
                Some(_) => workload::Wake::Thread,
                None => workload::Wake::Outside(wake.time.saturating_sub(zero)),
            };
            workload::Woken { by, dispatch: wake.dispatch, early: wake.early }
        })),
        Does::Wakes(wakee, nth, sync) => {
            workload::Does::Wakes(place(wakee), nth, sync == history::Sync::Yes)
        }
        Does::Forks(child) => workload::Does::Forks(place(child)),
        Does::Keeps(thread, cpu) => workload::Does::Keeps(place(thread), cpu),
        Does::Prio(prio) => workload::Does::Prio(prio),
        Does::Exits => workload::Does::Exits,
    };
    workload::Deed { time: deed.time.saturating_sub(zero), does }
}
