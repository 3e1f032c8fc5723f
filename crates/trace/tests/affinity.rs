//! Who was not free to leave a CPU, as a schedule tells that has no line of it.

use simsched_trace::history::{Does, History, Life};
use simsched_trace::{ThreadIx, reader};

const P: (&str, u32) = ("p", 1);
const A: (&str, u32) = ("a", 2);
const B: (&str, u32) = ("b", 3);
const C: (&str, u32) = ("c", 4);
const IDLE: (&str, u32) = ("swapper", 0);

/// A line of ftrace: who is current on which CPU, when (us), and what is told.
fn line(current: (&str, u32), cpu: u32, us: u64, told: &str) -> String {
    let name = if current.1 == 0 { "<idle>" } else { current.0 };
    let (s, us) = (1 + us / 1_000_000, us % 1_000_000);
    format!("{name}-{} [{cpu:03}] d..2. {s}.{us:06}: {told}\n", current.1)
}

fn switch(cpu: u32, us: u64, from: (&str, u32), state: &str, to: (&str, u32)) -> String {
    let told = format!(
        "sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={state} ==> next_comm={} next_pid={} next_prio=120",
        from.0, from.1, to.0, to.1
    );
    line(from, cpu, us, &told)
}

fn forks(cpu: u32, us: u64, parent: (&str, u32), child: (&str, u32)) -> String {
    let born = format!(
        "sched_process_fork: comm={} pid={} child_comm={} child_pid={}",
        parent.0, parent.1, child.0, child.1
    );
    let woken =
        format!("sched_wakeup_new: comm={} pid={} prio=120 target_cpu={cpu:03}", child.0, child.1);
    line(parent, cpu, us, &born) + &line(parent, cpu, us + 1, &woken)
}

/// Two children of `p` take turns of 10 ms on CPU 0, beside `other` on CPU 1; at 100 ms `p` runs there for
/// half a millisecond, and at 120 ms one of them goes to CPU 1.
fn shared(other: (&str, u32)) -> String {
    let mut text = line(other, 1, 0, "sched_wakeup: comm=x pid=9 prio=120 target_cpu=001");
    text += &(forks(0, 1_000, P, A) + &forks(0, 2_000, P, B) + &switch(0, 3_000, P, "S", A));
    for turn in 1..10 {
        let (from, to) = if turn % 2 == 1 { (A, B) } else { (B, A) };
        text += &switch(0, turn * 10_000, from, "R", to);
    }
    text += &line(B, 0, 100_000, "sched_waking: comm=p pid=1 prio=120 target_cpu=000");
    text += &line(B, 0, 100_001, "sched_wakeup: comm=p pid=1 prio=120 target_cpu=000");
    text += &(switch(0, 100_004, B, "R", P) + &switch(0, 100_500, P, "S", A));
    text +=
        &line(other, 1, 120_000, "sched_migrate_task: comm=b pid=3 prio=120 orig_cpu=0 dest_cpu=1");
    text + &switch(1, 120_002, other, "R", B) + &switch(1, 150_000, B, "Z", other)
}

fn lives(text: &str) -> Vec<(u32, Life)> {
    let trace = reader::read(text.as_bytes()).unwrap();
    let history = History::of(&trace);
    let pid = |thread: &simsched_trace::Thread| u32::try_from(thread.pid).unwrap();
    trace.threads.all.iter().map(pid).zip(history.lives).collect()
}

#[test]
fn who_waits_beside_idle_cpus_was_kept_until_its_parent_ran_before_the_first_one_left() {
    let lives = lives(&shared(IDLE));
    let of = |(_, pid): (&str, u32)| {
        let at = lives.iter().position(|(other, _)| *other == pid).unwrap();
        (ThreadIx(u32::try_from(at).unwrap()), &lives[at].1)
    };
    let ((a, one), (b, two), (_, parent)) = (of(A), of(B), of(P));
    assert_eq!((one.kept_first, two.kept_first), (Some(0), Some(0)));
    let lets_go: Vec<(u64, Does)> = parent
        .deeds
        .iter()
        .filter(|deed| matches!(deed.does, Does::Keeps(..)))
        .map(|deed| (deed.time, deed.does))
        .collect();
    // It does so in its last run before that, wherever in it.
    let at = 1_000_000_000 + 100_500_000;
    assert!(lets_go.contains(&(at, Does::Keeps(a, None))), "{lets_go:?}");
    assert!(lets_go.contains(&(at, Does::Keeps(b, None))), "{lets_go:?}");
    assert_eq!(lets_go.len(), 2);
}

#[test]
fn who_waits_where_all_cpus_are_busy_was_free_to_go() {
    for (_, life) in lives(&shared(C)) {
        assert!(!life.kept && life.kept_first.is_none());
        assert!(!life.deeds.iter().any(|deed| matches!(deed.does, Does::Keeps(..))));
    }
}

#[test]
fn who_was_brought_by_a_balancer_was_free_to_be_moved() {
    let mut text = line(IDLE, 1, 0, "sched_wakeup: comm=x pid=9 prio=120 target_cpu=001");
    text += &switch(0, 1_000, IDLE, "R", B);
    text += &line(IDLE, 1, 2_000, "sched_wakeup: comm=a pid=2 prio=120 target_cpu=001");
    text +=
        &line(IDLE, 1, 2_100, "sched_migrate_task: comm=a pid=2 prio=120 orig_cpu=1 dest_cpu=0");
    for turn in 1..20 {
        let (from, to) = if turn % 2 == 1 { (B, A) } else { (A, B) };
        text += &switch(0, turn * 10_000, from, "R", to);
    }
    let lives = lives(&text);
    let kept = |pid| lives.iter().find(|(other, _)| *other == pid).unwrap().1.kept;
    assert!(kept(B.1));
    assert!(!kept(A.1));
}
