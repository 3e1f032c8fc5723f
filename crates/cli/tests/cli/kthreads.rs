//! `--set kthreads=on`: the kernel's own threads beside a program, as often as the recordings have them.

use crate::common::{json, prints};

/// The wakeups of two seconds on the eight CPUs of the lab's t8, as `ftrace` has them.
fn wakeups(settings: &str) -> Vec<String> {
    let args = format!("run --quiet --topo t8 {settings} --ftrace - -- stress-ng --cpu 4 -t 2");
    let trace = prints(&args);
    trace.lines().filter(|line| line.contains("sched_wakeup:")).map(str::to_owned).collect()
}

/// How many of them are of the thread of this name.
fn of(wakeups: &[String], thread: &str) -> usize {
    wakeups.iter().filter(|line| line.contains(&format!("comm={thread} "))).count()
}

#[test]
fn threads_of_the_kernel_wake_up_as_often_as_recorded() {
    let without = wakeups("");
    assert!(without.iter().all(|line| line.contains("comm=stress-ng")), "{without:?}");
    // kcompactd comes each 512 ms and writeback each 2,016, whatever a tick is.
    for hz in [250, 1000] {
        let with = wakeups(&format!("--set kthreads=on --set hz={hz}"));
        let counts = ["kcompactd0", "kworker/u16:1", "kworker/0:1", "rcu_preempt"];
        let [compact, write, cpu0, rcu] = counts.map(|thread| of(&with, thread));
        assert!((3..=4).contains(&compact) && write <= 1, "{hz}: {compact} {write}");
        assert!(cpu0 >= 1 && rcu >= 3, "{hz}: {cpu0} {rcu}");
        assert_eq!(of(&with, "kdamond.0"), 0, "6.1 has none");
    }
    let newer = wakeups("--policy eevdf@7.3 --set kthreads=on");
    assert!(of(&newer, "kdamond.0") > 0, "{newer:?}");
}

/// A report counts their wakeups, as `perf sched` does, and the lab's programs have them anyway.
#[test]
fn reports_count_them_and_lab_programs_have_them_already() {
    let run = |set: &str, what: &str| {
        json(&format!("run --quiet --whole --topo t8 --set kthreads={set} --json - -- {what}"))
    };
    let all = wakeups("--set kthreads=on").len();
    assert_eq!(run("on", "stress-ng --cpu 4 -t 2")["wakeups"]["total"], all);
    let [on, off] = ["on", "off"].map(|set| run(set, "lab:hogs-free-4")["digest"].clone());
    assert_eq!(on, off);
}
