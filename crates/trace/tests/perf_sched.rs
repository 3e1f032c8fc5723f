//! The reports of `perf sched` over a recording of a real machine, against what perf 6.1 itself said of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use simsched_trace::perf_sched::{Latency, Map, Timehist};
use simsched_trace::{Event, PrevState, Sink, Thread, ThreadIx, Threads, What};

fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/perf-sched");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// What `perf script -F comm,pid,tid,cpu,time,event,trace` printed.
#[derive(Default)]
struct Recording {
    threads: Threads,
    known: BTreeMap<(i32, u32), ThreadIx>,
    events: Vec<Event>,
}

impl Recording {
    fn of(text: &str) -> Recording {
        let mut recording = Recording::default();
        // Whoever ran is told with its process.
        for line in text.lines() {
            let (comm, rest) = line.split_at(16);
            let mut words = rest.split_whitespace();
            let (tgid, pid) = words.next().unwrap().split_once('/').unwrap();
            let cpu = number(words.next().unwrap().trim_matches(['[', ']']));
            let (tgid, pid) = (tgid.parse().unwrap(), pid.parse().unwrap());
            recording.thread(comm.trim(), pid, Some(tgid), cpu);
        }
        text.lines().for_each(|line| recording.line(line));
        recording
    }

    fn thread(&mut self, comm: &str, pid: i32, tgid: Option<i32>, cpu: u32) -> ThreadIx {
        let key = (pid, if pid == 0 { cpu } else { 0 });
        let all = &mut self.threads;
        *self.known.entry(key).or_insert_with(|| {
            let tgid = tgid.unwrap_or(pid);
            all.push(Thread { pid, tgid, comm: comm.to_owned(), prio: 120 })
        })
    }

    fn line(&mut self, line: &str) {
        let mut words = line[16..].split_whitespace();
        let pid: i32 = words.next().unwrap().split_once('/').unwrap().1.parse().unwrap();
        let cpu = number(words.next().unwrap().trim_matches(['[', ']']));
        let (secs, nanos) = words.next().unwrap().trim_end_matches(':').split_once('.').unwrap();
        let time = secs.parse::<u64>().unwrap() * 1_000_000_000 + nanos.parse::<u64>().unwrap();
        let name = words.next().unwrap().trim_end_matches(':');
        let rest = line.split_once(&format!("{name}: ")).unwrap().1;
        let field = |key: &str| {
            let (_, value) = rest.split_once(&format!("{key}=")).unwrap();
            let end = value.find('=').map_or(value.len(), |next| value[..next].rfind(' ').unwrap());
            value[..end].trim_end_matches(" ==>").trim().to_owned()
        };
        let who = |all: &mut Recording, prefix: &str| {
            let pid = field(&format!("{prefix}pid")).parse().unwrap();
            all.thread(&field(&format!("{prefix}comm")), pid, None, cpu)
        };
        let current = self.thread("", pid, None, cpu);
        let what = match name.split_once(':').unwrap().1 {
            "sched_switch" => {
                let prev_state = match field("prev_state").as_str() {
                    "R" => PrevState::Running { preempted: false },
                    "R+" => PrevState::Running { preempted: true },
                    "D" => PrevState::Uninterruptible,
                    _ => PrevState::Interruptible,
                };
                What::Switch { prev: who(self, "prev_"), prev_state, next: who(self, "next_") }
            }
            "sched_waking" => What::Waking {
                wakee: who(self, ""),
                target_cpu: number(&field("target_cpu")),
                sync: false,
            },
            "sched_wakeup" => {
                What::Wakeup { wakee: who(self, ""), target_cpu: number(&field("target_cpu")) }
            }
            "sched_wakeup_new" => {
                What::WakeupNew { wakee: who(self, ""), target_cpu: number(&field("target_cpu")) }
            }
            _ => return,
        };
        self.events.push(Event { time, cpu, current, what });
    }

    fn tell(&self, sink: &mut dyn Sink) {
        for event in &self.events {
            sink.event(&self.threads, event).unwrap();
        }
        sink.finish(&self.threads, 0).unwrap();
    }
}

fn number(text: &str) -> u32 {
    text.parse().unwrap()
}

/// What a report says of the recording.
fn told(report: impl FnOnce(&mut Vec<u8>, &Recording)) -> String {
    let recording = Recording::of(&data("script.txt"));
    assert!(recording.events.len() > 50);
    let mut text = Vec::new();
    report(&mut text, &recording);
    String::from_utf8(text).unwrap()
}

#[test]
fn timehist_says_what_perf_says() {
    let text = told(|text, recording| recording.tell(&mut Timehist::new(text)));
    assert_eq!(text, data("timehist.txt"));
}

#[test]
fn map_says_what_perf_says() {
    let text = told(|text, recording| recording.tell(&mut Map::new(text, 2)));
    assert_eq!(text, data("map.txt"));
}

/// All but the run times, which perf takes from an event that a schedule does not have.
#[test]
fn latency_says_what_perf_says() {
    let without_runtime = |text: &str| {
        let cut = |line: &str| match line.split_once('|') {
            Some((who, rest)) => format!("{who}|{}", rest.split_once('|').unwrap().1),
            None => line.to_owned(),
        };
        text.lines().map(cut).collect::<Vec<_>>().join("\n")
    };
    let text = told(|text, recording| recording.tell(&mut Latency::new(text)));
    assert_eq!(without_runtime(&text), without_runtime(&data("latency.txt")));
}
