//! Recordings that are replayed: what threads computed, whom they woke, and when they slept.

use std::sync::Arc;

use proptest::prelude::*;
use simsched_core::observe::Invariants;
use simsched_core::{
    Config, HardwareModel, Observer, SimTime, Simulator, Status, TaskId, Tracepoint, World,
};
use simsched_policies::catalog;
use simsched_topology::Topology;
use simsched_workloads::replay::{
    Act, Affinity, Begin, Deed, Does, End, Options, Players, Recording, Thread, Timers, Wake,
    Woken, lower,
};

const TICK: u64 = 4_000_000;

/// A sleep that ended so, by a call that came when the sleeper was gone.
fn woken(by: Wake, dispatch: Option<u64>) -> Woken {
    Woken { by, dispatch, early: 0 }
}

/// How long each task has had a CPU, and how often it has left it.
#[derive(Debug, Default)]
struct Clock {
    current: Vec<Option<(TaskId, SimTime)>>,
    runtime: Vec<u64>,
    switches: Vec<u64>,
}

impl Clock {
    fn of(tasks: usize) -> Clock {
        Clock { current: vec![None; 64], runtime: vec![0; tasks], switches: vec![0; tasks] }
    }

    fn finish(&mut self, now: SimTime) {
        for (task, since) in self.current.iter_mut().filter_map(Option::take) {
            self.runtime[task.idx()] += now.since(since).get();
        }
    }
}

impl Observer for Clock {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        if let Tracepoint::Switch { cpu, next, .. } = tracepoint {
            let next = next.map(|task| (task, world.now()));
            if let Some((task, since)) = std::mem::replace(&mut self.current[cpu.idx()], next) {
                self.runtime[task.idx()] += world.now().since(since).get();
                self.switches[task.idx()] += 1;
            }
        }
    }
}

fn thread(begin: Begin, deeds: &[(u64, Does)], end: End) -> Thread {
    Thread {
        comm: "t".to_owned(),
        pid: 1,
        tgid: 1,
        prio: 120,
        begin,
        deeds: deeds.iter().map(|(time, does)| Deed { time: *time, does: *does }).collect(),
        end,
        cpus: vec![0],
        kept: None,
    }
}

fn lowered(recording: &Recording, options: &Options) -> simsched_workloads::replay::Lowered {
    lower(recording, options, 8, TICK).unwrap()
}

/// What each thread had of a CPU, by the table of the recording.
fn recorded(thread: &Thread) -> u64 {
    let mut since = None;
    let mut sum = 0;
    for deed in &thread.deeds {
        match deed.does {
            Does::In(0) => since = Some(deed.time),
            Does::Out | Does::Sleep(_) | Does::Exits => {
                sum += since.take().map_or(0, |since| deed.time - since);
            }
            _ => {}
        }
    }
    sum
}

/// Replays on 8 CPUs, with all rules checked; runtimes and switches by thread, and the time at the end.
fn replayed(recording: &Recording, options: &Options, policy: &str) -> (Vec<u64>, Vec<u64>, u64) {
    let lowered = Arc::new(lowered(recording, options));
    let nr = lowered.players.len();
    let threads = lowered.threads.clone();
    let workload = Players::new(lowered, None);
    let config = Config { hardware: HardwareModel::Free, ..Config::default() };
    let policy = catalog::build(policy, &[]).unwrap();
    let topology = Arc::new(Topology::builtin("t8", None).unwrap());
    let watch = (Clock::of(nr), Invariants::new(8, nr));
    let mut run = Simulator::new(topology, policy, workload, watch, config).unwrap();
    run.set_paranoid();
    assert_eq!(run.run_until(SimTime::NEVER).unwrap(), Status::Finished);
    let (world, _, _, (mut clock, mut rules)) = run.into_parts();
    rules.finish(&world).unwrap();
    clock.finish(world.now());
    let (mut runtime, mut switches) = (vec![0; nr], vec![0; nr]);
    for (task, nth) in threads.iter().enumerate() {
        (runtime[*nth], switches[*nth]) = (clock.runtime[task], clock.switches[task]);
    }
    (runtime, switches, world.now().get())
}

/// In the recording they ran beside each other, and the second one was asleep when it was called for; on one
/// CPU it comes to that sleep when the call is over.
#[test]
fn who_slept_sleeps_although_its_wakeup_has_come() {
    let waker = [(0, Does::In(0)), (50_000, Does::Wakes(0, 0, false)), (100_000, Does::Out)];
    let wake = Some(woken(Wake::Thread, None));
    let wakee =
        [(0, Does::In(0)), (10_000, Does::Sleep(wake)), (60_000, Does::In(0)), (70_000, Does::Out)];
    let begin = Begin::Running(0);
    let threads = vec![thread(begin, &wakee, End::Awake), thread(begin, &waker, End::Awake)];
    let recording = Recording {
        span: 100_000,
        dispatch: 0,
        preempt: 0,
        leave: 0,
        here: false,
        speeds: None,
        threads,
    };
    let beside = replayed(&recording, &Options::default(), "cfs");
    let one = Options { affinity: Affinity::Seen, ..Options::default() };
    let behind = replayed(&recording, &one, "cfs");
    assert_eq!((&behind.0, &beside.0), (&vec![20_000, 100_000], &vec![20_000, 100_000]));
    assert_eq!((beside.1[0], behind.1[0]), (2, 2), "it sleeps once, and leaves at the end");
}

/// It is called for 2 us before the switch away from it, so it is asleep by then and still on its CPU: it goes
/// on to the switch, comes back there, and neither computes more nor less than it did.
#[test]
fn who_is_called_for_on_the_way_out_still_leaves() {
    let wake = Some(Woken { early: 2_000, ..woken(Wake::Thread, Some(1_000)) });
    let waker = [(0, Does::In(0)), (8_000, Does::Wakes(0, 0, false)), (100_000, Does::Out)];
    let wakee =
        [(0, Does::In(0)), (10_000, Does::Sleep(wake)), (11_000, Does::In(0)), (70_000, Does::Out)];
    let threads = vec![
        thread(Begin::Running(0), &wakee, End::Awake),
        thread(Begin::Running(1), &waker, End::Awake),
    ];
    let recording = Recording {
        span: 100_000,
        dispatch: 0,
        preempt: 0,
        leave: 0,
        here: false,
        speeds: None,
        threads,
    };
    let acts = lowered(&recording, &Options::default()).acts;
    let sleeps = [Act::Run(8_000), Act::Leave(2_000), Act::Early(2_000), Act::Dispatch(1_000)];
    assert!(acts.windows(4).any(|acts| acts == sleeps), "{acts:?}");
    let (runtime, switches, _) = replayed(&recording, &Options::default(), "cfs");
    assert_eq!((runtime, switches[0]), (vec![69_000, 100_000], 2));
}

#[test]
fn any_number_of_a_priority_has_a_nice_value() {
    for (prio, nice) in [(i32::MIN, -20), (100, -20), (119, -1), (139, 19), (i32::MAX, 19)] {
        let begins = thread(Begin::Running(0), &[(0, Does::In(0)), (9, Does::Out)], End::Awake);
        let recording = Recording {
            span: 9,
            dispatch: 0,
            preempt: 0,
            leave: 0,
            here: false,
            speeds: None,
            threads: vec![Thread { prio, ..begins }],
        };
        let lowered = lowered(&recording, &Options::default());
        assert_eq!(lowered.setup.tasks[0].nice, nice, "{prio}");
    }
}

#[test]
fn a_thread_computes_between_what_it_does_for_others() {
    let sleep = Does::Sleep(Some(woken(Wake::Outside(900), Some(30))));
    let one = [
        (0, Does::In(0)),
        (100, Does::Wakes(1, 0, false)),
        (150, Does::Out),
        (200, Does::In(0)),
        // It takes effect when its waker has gone to sleep, and is done before.
        (290, Does::Wakes(1, 1, false)),
        (260, sleep),
        (950, Does::Prio(125)),
        (930, Does::In(0)),
        (1_000, Does::Out),
    ];
    let wait = Does::Sleep(Some(woken(Wake::Thread, None)));
    let two = [(0, wait), (120, Does::In(0)), (130, wait), (300, Does::In(0)), (310, Does::Exits)];
    let threads = vec![
        thread(Begin::Running(0), &one, End::Awake),
        thread(Begin::Asleep(3), &two, End::Exited),
    ];
    let recording = Recording {
        span: 1_000,
        dispatch: 5,
        preempt: 0,
        leave: 0,
        here: false,
        speeds: None,
        threads,
    };
    let of = |timers| {
        let lowered = lowered(&recording, &Options { timers, ..Options::default() });
        let player = lowered.players[1];
        // Who sleeps at the begin is the first task.
        assert_eq!(lowered.threads, [1, 0]);
        lowered.acts[player.first as usize..player.end as usize].to_vec()
    };
    let begin = [
        Act::Run(100),
        Act::Wake(TaskId(0), 0),
        Act::Run(110),
        Act::Wake(TaskId(0), 1),
        Act::Dispatch(30),
    ];
    let absolute = of(Timers::Absolute);
    assert_eq!(absolute[..5], begin);
    assert_eq!(absolute[5..7], [Act::SleepUntil(900), Act::Nice(5)]);
    assert_eq!(absolute.last(), Some(&Act::Run(70)));
    assert_eq!(of(Timers::Relative)[5], Act::Sleep(640));
}

#[test]
fn a_replay_begins_so_that_its_ticks_come_with_those_of_the_recording() {
    let deeds = [(0, Does::In(0)), (9_000_000, Does::Out)];
    let threads = vec![thread(Begin::Running(2), &deeds, End::Awake)];
    let recording = Recording {
        span: 9_000_000,
        dispatch: 0,
        preempt: 0,
        leave: 0,
        here: false,
        speeds: None,
        threads,
    };
    let options = Options { tick: Some(TICK + 700_000), ..Options::default() };
    let lowered = lowered(&recording, &options);
    // 3.3 ms into the run the recording begins, 0.7 ms before a tick.
    assert_eq!((lowered.lead, lowered.acts[0]), (3_300_000, Act::RunUntil(3_300_000)));
    assert_eq!(lowered.acts[1..], [Act::Run(9_000_000)]);
}

#[test]
fn threads_of_the_kernel_stay_on_the_cpu_of_their_name() {
    let named = |comm: &str, affinity| {
        let deeds = [(0, Does::In(0)), (5, Does::Exits)];
        let thread = thread(Begin::Running(0), &deeds, End::Exited);
        let threads = vec![Thread { comm: comm.to_owned(), cpus: vec![2, 3], ..thread }];
        let recording = Recording {
            span: 5,
            dispatch: 0,
            preempt: 0,
            leave: 0,
            here: false,
            speeds: None,
            threads,
        };
        let lowered = lowered(&recording, &Options { affinity, ..Options::default() });
        lowered.setup.tasks[0].allowed.map(|set| set.to_string())
    };
    let known = |comm| {
        assert_eq!(named(comm, Affinity::Known), named(comm, Affinity::Inferred));
        named(comm, Affinity::Known)
    };
    assert_eq!(known("kworker/5:1-events"), Some("5".to_owned()));
    assert_eq!(known("ksoftirqd/7"), Some("7".to_owned()));
    for everywhere in ["kworker/u16:2", "kworker/99:1", "worker/5", "kswapd0"] {
        assert_eq!(known(everywhere), None, "{everywhere}");
    }
    assert_eq!(named("worker/5", Affinity::Seen), Some("2-3".to_owned()));
}

#[test]
fn a_thread_that_was_kept_stays_until_it_is_let_go_unless_that_is_not_asked_for() {
    let parent = [(0, Does::In(0)), (10, Does::Keeps(1, None)), (20, Does::Out)];
    let child = [(20, Does::In(0)), (40, Does::Out)];
    let kept = Thread { kept: Some(3), ..thread(Begin::Waiting(3), &child, End::Awake) };
    let threads = vec![thread(Begin::Running(3), &parent, End::Awake), kept];
    let recording = Recording {
        span: 40,
        dispatch: 0,
        preempt: 0,
        leave: 0,
        here: false,
        speeds: None,
        threads,
    };
    let of = |affinity, nr_cpus| {
        let options = Options { affinity, ..Options::default() };
        let lowered = lower(&recording, &options, nr_cpus, TICK).unwrap();
        let allowed = lowered.setup.tasks[1].allowed.map(|set| set.to_string());
        let masks = lowered.setup.masks.clone();
        let keeps = lowered.acts.iter().find_map(|act| match act {
            Act::Keep(task, mask) => Some((*task, masks[mask.idx()].to_string())),
            _ => None,
        });
        (allowed, keeps)
    };
    let free = Some((TaskId(1), "0-7".to_owned()));
    assert_eq!(of(Affinity::Inferred, 8), (Some("3".to_owned()), free));
    assert_eq!(of(Affinity::Known, 8), (None, None));
    // A machine without that CPU keeps nobody there.
    assert_eq!(of(Affinity::Inferred, 2).0, None);
}

/// Two equal threads of one CPU have 12 ms each in turn, three ticks (`sysctl_sched_latency` of 24 ms on 8
/// CPUs). A switch that comes some time behind its tick makes the slice shorter than three ticks at the third:
/// it lasts four, as on a real kernel (`share-0-0` of the lab: 16 ms, and of the same simulated: 12 ms).
#[test]
fn a_slice_begins_as_long_behind_its_tick_as_the_switch_came() {
    let hog = |begin, from: u64| {
        let deeds = [(from, Does::In(0)), (from + 960_000_000, Does::Out)];
        Thread { kept: Some(0), ..thread(begin, &deeds, End::Awake) }
    };
    for (preempt, slice) in [(0, 12), (5_000, 16)] {
        let threads = vec![hog(Begin::Running(0), 0), hog(Begin::Waiting(0), 960_000_000)];
        let recording = Recording {
            span: 1_920_000_000,
            dispatch: 5_000,
            preempt,
            leave: 0,
            here: false,
            speeds: None,
            threads,
        };
        let (runtime, switches, _) = replayed(&recording, &Options::default(), "cfs");
        assert_eq!(runtime, [960_000_000; 2]);
        let all: u64 = switches.iter().sum();
        assert!(all.abs_diff(1_920 / slice) <= 3, "{preempt} ns: {all} switches");
    }
}

#[test]
fn a_recording_in_which_nobody_begins_is_refused() {
    let recording = Recording {
        span: 5,
        dispatch: 0,
        preempt: 0,
        leave: 0,
        here: false,
        speeds: None,
        threads: vec![thread(Begin::Forked(None), &[], End::Awake)],
    };
    let told = lower(&recording, &Options::default(), 8, TICK).unwrap_err().to_string();
    assert_eq!(told, "replay: no thread of the recording runs, waits or sleeps at its begin");
}

/// A ping-pong of two threads on two CPUs: 2 us until the other is woken, 1 us until one sleeps, 5 us to the
/// switch. Each switch of the recording is there in the replay, at its time.
#[test]
fn a_ping_pong_is_repeated_switch_by_switch() {
    const TURNS: u64 = 50;
    let mut deeds = [vec![(0, Does::In(0))], vec![]];
    deeds[1].push((0, Does::Sleep(Some(woken(Wake::Thread, Some(5_000))))));
    for turn in 0..TURNS {
        let (at, own) = (turn * 7_000, usize::try_from(turn % 2).unwrap());
        deeds[own]
            .push((at + 2_000, Does::Wakes(1 - own, u32::try_from(turn / 2).unwrap(), false)));
        let wake = (turn + 2 <= TURNS).then(|| woken(Wake::Thread, Some(5_000)));
        deeds[own].push((at + 3_000, Does::Sleep(wake)));
        deeds[1 - own].push((at + 7_000, Does::In(0)));
    }
    let last = usize::try_from(TURNS % 2).unwrap();
    deeds[last].push((TURNS * 7_000 + 1_000, Does::Out));
    let threads = vec![
        thread(Begin::Running(0), &deeds[0], if last == 0 { End::Awake } else { End::Asleep }),
        thread(Begin::Asleep(1), &deeds[1], if last == 1 { End::Awake } else { End::Asleep }),
    ];
    let recording = Recording {
        span: TURNS * 7_000 + 1_000,
        dispatch: 5_000,
        preempt: 0,
        leave: 0,
        here: false,
        speeds: None,
        threads,
    };
    let want: Vec<u64> = recording.threads.iter().map(recorded).collect();
    for policy in ["cfs", "eevdf@6.12"] {
        let (runtime, switches, now) = replayed(&recording, &Options::default(), policy);
        assert_eq!(runtime, want, "{policy}");
        // Behind the end the other one is woken to end, which is no switch of the recording.
        let slept = recording.threads.iter().map(|thread| {
            thread.deeds.iter().filter(|deed| matches!(deed.does, Does::Sleep(_))).count() as u64
        });
        let all: u64 = slept.sum();
        assert!((all..=all + 2).contains(&switches.iter().sum()), "{policy}: {switches:?}");
        assert!(now.abs_diff(recording.span) <= 10_000, "{policy}: {now}");
    }
}

/// What happens next in a made-up recording: which thread, what, and how much later.
type Move = (usize, u8, u64);

/// A recording in which each thread has a CPU to itself, from moves.
fn made(threads: usize, moves: &[Move]) -> Recording {
    let mut deeds = vec![vec![(0, Does::In(0))]; threads];
    let mut waits = vec![0; threads];
    // By thread: until when it sleeps, or for ever.
    let mut asleep: Vec<Option<(usize, u64)>> = vec![None; threads];
    let mut now = 0;
    for (nth, what, later) in moves {
        now += 1 + later;
        let own = nth % threads;
        for other in 0..threads {
            if let Some((place, until)) = asleep[other]
                && until <= now
            {
                deeds[other][place].1 = Does::Sleep(Some(woken(Wake::Outside(until), None)));
                deeds[other].push((until, Does::In(0)));
                asleep[other] = None;
            }
        }
        if asleep[own].is_some() {
            continue;
        }
        match what {
            0 => {
                asleep[own] = Some((deeds[own].len(), now + later * 3 + 1));
                deeds[own].push((now, Does::Sleep(None)));
            }
            1 => {
                asleep[own] = Some((deeds[own].len(), u64::MAX));
                deeds[own].push((now, Does::Sleep(None)));
            }
            _ => {
                let sleeps =
                    (0..threads).find(|t| asleep[*t].is_some_and(|(_, at)| at == u64::MAX));
                let Some(wakee) = sleeps else { continue };
                let (place, _) = asleep[wakee].take().unwrap();
                let wake = Woken { early: later % 3, ..woken(Wake::Thread, None) };
                deeds[wakee][place].1 = Does::Sleep(Some(wake));
                deeds[own].push((now, Does::Wakes(wakee, waits[wakee], false)));
                waits[wakee] += 1;
                deeds[wakee].push((now, Does::In(0)));
            }
        }
    }
    let span = now + 100_000;
    let life = |(nth, deeds): (usize, &mut Vec<(u64, Does)>)| {
        let awake = asleep[nth].is_none();
        if awake {
            deeds.push((span, Does::Out));
        }
        let end = if awake { End::Awake } else { End::Asleep };
        thread(Begin::Running(u32::try_from(nth % 8).unwrap()), deeds, end)
    };
    Recording {
        span,
        dispatch: 5_000,
        preempt: 0,
        leave: 0,
        here: false,
        speeds: None,
        threads: deeds.iter_mut().enumerate().map(life).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whoever_sleeps_and_wakes_gets_its_run_time_to_the_nanosecond(
        threads in 1..12_usize,
        moves in prop::collection::vec((0..12_usize, 0..4_u8, 0..2_000_000_u64), 0..60),
        relative in any::<bool>(),
        tick in prop::option::of(0..TICK),
    ) {
        let recording = made(threads, &moves);
        let timers = if relative { Timers::Relative } else { Timers::Absolute };
        let options = Options { timers, tick, ..Options::default() };
        let lead = lowered(&recording, &options).lead;
        for policy in ["cfs", "eevdf@6.12"] {
            let (runtime, _, _) = replayed(&recording, &options, policy);
            for (thread, runtime) in recording.threads.iter().zip(runtime) {
                let want = recorded(thread);
                // Who begins on a CPU of its own runs from the begin of the run, not of the recording.
                prop_assert!(
                    (want..=want + lead).contains(&runtime), "{policy}: {runtime}, recorded {want}"
                );
            }
        }
    }
}
