//! Pollers: newest first, all at once, and in their place until the poll ends.

use simsched_core::ipc::IpcVersion::V6_13;
use simsched_core::{Op, PipeId, SocketId};

use crate::ipc::rig::{BLOCK, DONE, Rig, bytes, nobody, read, recv, send, sync, write};

const POLL: Op = Op::PollPipe(PipeId(0));
const POLL_SOCKET: Op = Op::PollSocket(SocketId(0));

#[test]
fn one_write_wakes_all_pollers_newest_first_and_then_one_reader() {
    let mut rig = Rig::new(V6_13);
    for reader in [0, 1] {
        assert_eq!(rig.op(reader, read(1)).0, BLOCK);
    }
    for poller in [2, 3, 4] {
        assert_eq!(rig.op(poller, POLL), (BLOCK, nobody()));
    }
    assert_eq!(rig.op(5, write(1)), (DONE, sync([4, 3, 2, 0])));
    for poller in [2, 3, 4] {
        assert_eq!(rig.retry(poller, POLL), (DONE, nobody()));
    }
    assert_eq!(rig.op(6, POLL), (DONE, nobody()), "a poll takes nothing");
}

#[test]
fn a_polled_pipe_wakes_at_each_write_even_when_it_was_not_empty() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.op(5, write(1)), (DONE, nobody()));
    assert_eq!(rig.op(2, POLL), (DONE, nobody()));
    for reader in [0, 1] {
        assert_eq!(rig.op(reader, Op::Read { pipe: PipeId(1), bytes: 1 }).0, BLOCK);
    }
    assert_eq!(rig.op(4, read(1)), (bytes(1), nobody()));
    for reader in [3, 4] {
        assert_eq!(rig.op(reader, read(1)).0, BLOCK);
    }
    assert_eq!(rig.op(5, write(1)), (DONE, sync([3])));
    assert_eq!(rig.op(5, write(1)), (DONE, sync([4])), "the pipe was not empty, but polled once");
    let other = Op::Write { pipe: PipeId(1), bytes: 1 };
    assert_eq!(rig.op(5, other), (DONE, sync([0])));
    assert_eq!(rig.op(5, other), (DONE, nobody()), "this pipe was never polled");
}

#[test]
fn a_poller_that_finds_nothing_keeps_its_place_and_is_woken_once_while_awake() {
    let mut rig = Rig::new(V6_13);
    for poller in [1, 2, 3] {
        assert_eq!(rig.op(poller, POLL).0, BLOCK);
    }
    assert_eq!(rig.op(5, write(1)).1, sync([3, 2, 1]));
    assert_eq!(rig.op(5, write(1)).1, nobody(), "all are awake");
    assert_eq!(rig.blocked_on(2), "");
    assert_eq!(rig.op(0, read(2)).0, bytes(2));
    assert_eq!(rig.retry(1, POLL), (BLOCK, nobody()));
    assert_eq!(rig.retry(2, POLL), (BLOCK, nobody()));
    assert_eq!(rig.op(4, POLL), (BLOCK, nobody()));
    assert_eq!(rig.blocked_on(2), "pipe 0 to have data (poll)");
    // 3 is still awake; 2 sleeps before 1 as it always did, though 1 looked again first.
    assert_eq!(rig.op(5, write(1)).1, sync([4, 2, 1]));
}

#[test]
fn pollers_of_a_socket_wake_for_data_and_not_for_room() {
    let mut rig = Rig::new(V6_13);
    for poller in [2, 3] {
        assert_eq!(rig.op(poller, POLL_SOCKET), (BLOCK, nobody()));
    }
    let back = Op::Send { socket: SocketId(0), bytes: 100 };
    assert_eq!(rig.op(0, back), (DONE, nobody()));
    let drain = Op::Recv { socket: SocketId(1), bytes: 100 };
    assert_eq!(rig.op(1, drain), (bytes(100), nobody()), "room at end 0 concerns no poller");
    assert_eq!(rig.op(1, send(100)), (DONE, sync([3, 2])));
    assert_eq!(rig.op(0, recv(100)).0, bytes(100));
    assert_eq!(rig.retry(3, POLL_SOCKET), (BLOCK, nobody()));
    assert_eq!(rig.op(1, send(100)), (DONE, sync([3])), "2 is awake");
    assert_eq!(rig.retry(2, POLL_SOCKET), (DONE, nobody()));
    assert_eq!(rig.retry(3, POLL_SOCKET), (DONE, nobody()));
}
