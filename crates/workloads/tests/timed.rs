//! netperf, tbench and sysbench: what each task does, that nothing is lost, and what is counted.

use crate::common::clocked::Clocked;
use crate::common::{Ran, run};
use proptest::prelude::*;
use simsched_core::ipc::IpcVersion;
use simsched_core::{MarkId, Nanos, Op, Seed};
use simsched_workloads::netperf::{self, Netperf, RECV_BYTES, STREAM_BYTES, Test};
use simsched_workloads::tbench::load::EXCHANGES;
use simsched_workloads::{Programs, Sysbench, Tbench, sysbench, tbench};

/// Draws tasks by a generator of its own, so that a failure can be shrunk.
fn chooser(mut state: u64) -> impl FnMut(usize) -> usize {
    move |ready| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % ready
    }
}

fn ran(programs: Programs, seed: u64) -> Ran {
    run(&mut Clocked::new(programs), IpcVersion::V6_13, chooser(seed))
}

fn passed(ran: &Ran, mark: MarkId) -> usize {
    ran.log.iter().filter(|(_, op)| *op == Op::Mark(mark)).count()
}

/// Every task comes to its end, and all bytes that were sent were received.
fn check_whole(ran: &Ran, tasks: usize) -> Result<(), TestCaseError> {
    prop_assert_eq!(&ran.stuck, &Vec::<String>::new());
    prop_assert_eq!(ran.written, ran.read);
    let exits = ran.log.iter().filter(|(_, op)| *op == Op::Exit).count();
    prop_assert_eq!(exits, tasks);
    Ok(())
}

/// The sends and receipts of data of pair `nth`, in order, by end.
fn data(ran: &Ran, nth: u32) -> Vec<Op> {
    let ends = [4 * nth + 4, 4 * nth + 5];
    let is_data = |op: &Op| match op {
        Op::Send { socket, .. } | Op::Recv { socket, .. } => ends.contains(&socket.0),
        _ => false,
    };
    ran.log.iter().map(|(_, op)| *op).filter(is_data).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Request, its receipt, response, its receipt: whatever the order in which tasks run, one
    /// transaction of a pair is over before the next begins, and both sides count the same.
    #[test]
    fn a_pair_has_one_transaction_in_flight(
        pairs in 1..4u32,
        over_udp: bool,
        ms in 1..4u64,
        seed: u64,
    ) {
        let test = if over_udp { Test::UdpRr } else { Test::TcpRr };
        let netperf = Netperf { test, pairs, length: Nanos::from_millis(ms) };
        let ran = ran(netperf.build(Seed(1)).unwrap(), seed);
        check_whole(&ran, 2 + 2 * pairs as usize)?;
        let [requests, done, served] = [netperf::REQUEST, netperf::DONE, netperf::SERVED].map(|mark| passed(&ran, mark));
        prop_assert!(done > 0);
        prop_assert_eq!((requests, served), (done, done));
        for pair in 0..pairs {
            let (client, server) = (4 * pair + 4, 4 * pair + 5);
            let step = |op: &Op| match op {
                Op::Send { socket, bytes: 1 } if socket.0 == client => 0,
                Op::Recv { socket, bytes: 1 } if socket.0 == server => 1,
                Op::Send { socket, bytes: 1 } if socket.0 == server => 2,
                Op::Recv { socket, bytes: 1 } if socket.0 == client => 3,
                _ => 4,
            };
            let mut ops = data(&ran, pair);
            // The end of the stream is received too, and is no transaction.
            let end = (!over_udp).then(|| ops.pop().map(|op| step(&op)));
            prop_assert!(end.is_none_or(|step| step == Some(1)));
            for (nth, op) in ops.iter().enumerate() {
                prop_assert_eq!(step(op), nth % 4, "{:?}", op);
            }
        }
    }

    #[test]
    fn a_stream_arrives_whole(pairs in 1..4u32, ms in 1..6u64, seed: u64) {
        let netperf = Netperf { test: Test::TcpStream, pairs, length: Nanos::from_millis(ms) };
        let ran = ran(netperf.build(Seed(1)).unwrap(), seed);
        check_whole(&ran, 2 + 2 * pairs as usize)?;
        let sends = (0..pairs).flat_map(|pair| data(&ran, pair)).filter(|op| {
            matches!(op, Op::Send { bytes: STREAM_BYTES, .. })
        });
        prop_assert_eq!(sends.count(), passed(&ran, netperf::DONE));
        let asks = |op: &Op| matches!(op, Op::Recv { bytes, .. } if *bytes == RECV_BYTES);
        prop_assert!(ran.log.iter().any(|(_, op)| asks(op)));
    }

    #[test]
    fn an_exchange_of_tbench_has_its_reply(clients in 1..4u32, ms in 2..6u64, seed: u64) {
        let (length, warmup) = (Nanos::from_millis(ms), Some(Nanos::from_millis(1)));
        let tbench = Tbench { clients, length, warmup };
        let ran = ran(tbench.build(Seed(1)).unwrap(), seed);
        check_whole(&ran, 2 + 2 * clients as usize)?;
        let (replies, served) = (passed(&ran, tbench::REPLY), passed(&ran, tbench::SERVED));
        prop_assert!(replies > 0 && replies < served, "the warm-up does not count");
        let kind = |kind: usize| passed(&ran, MarkId::new(tbench::FIRST_KIND.idx() + kind));
        prop_assert_eq!((0..EXCHANGES.len()).map(kind).sum::<usize>(), replies);
    }

    /// Each of 20 statements is a request and a reply, on both sides.
    #[test]
    fn a_transaction_is_served_as_it_is_asked_for(threads in 1..5u32, ms in 1..5u64, seed: u64) {
        let sysbench = Sysbench { threads, length: Nanos::from_millis(ms) };
        let ran = ran(sysbench.build(Seed(1)).unwrap(), seed);
        check_whole(&ran, 2 + 2 * threads as usize)?;
        let [begun, done, served] = [sysbench::BEGIN, sysbench::DONE, sysbench::SERVED].map(|mark| passed(&ran, mark));
        prop_assert!(done > 0);
        prop_assert_eq!((begun, served), (done, done));
        let sends = ran.log.iter().filter(|(_, op)| matches!(op, Op::Send { .. })).count();
        prop_assert_eq!(sends, 2 * 20 * done + threads as usize, "and one to connect");
        let count = |is: fn(&Op) -> bool| ran.log.iter().filter(|(_, op)| is(op)).count();
        let locks = count(|op| matches!(op, Op::Lock(_)));
        // BEGIN, COMMIT and ten rows in two bursts, four ranges in ten, four writes in four.
        prop_assert_eq!(locks, done * (12 + 4 * 9 + 4 * 3));
        prop_assert_eq!(count(|op| matches!(op, Op::Unlock(_))), locks);
    }
}

#[test]
fn a_pair_begins_when_its_server_has_answered_whoever_is_still_to_come() {
    let netperf = Netperf { test: Test::TcpRr, pairs: 30, length: Nanos::from_millis(1) };
    let ran = ran(netperf.build(Seed(1)).unwrap(), 7);
    let first = ran.log.iter().position(|(_, op)| *op == Op::Mark(netperf::START)).unwrap();
    let is_spawn = |(_, op): &(u32, Op)| matches!(op, Op::Spawn(_));
    assert!(ran.log[..first].iter().filter(|entry| is_spawn(entry)).count() < 60);
    assert_eq!(passed(&ran, netperf::START), 30);
    for client in 2..32 {
        let ops: Vec<&Op> =
            ran.log.iter().filter(|(task, _)| *task == client).map(|(_, op)| op).collect();
        let start = ops.iter().position(|op| **op == Op::Mark(netperf::START)).unwrap();
        let is_answer = |op: &&Op| matches!(op, Op::Recv { .. });
        assert!(ops[..start].iter().any(is_answer), "client {client} asks first");
    }
}

#[test]
fn there_are_no_more_pairs_than_a_run_can_hold() {
    let many = Netperf { pairs: 1 << 17, ..Netperf::default() };
    let message = many.build(Seed(1)).unwrap_err().to_string();
    assert_eq!(message, "netperfs: 131072 are more than the 65536 that a run can hold");
}
