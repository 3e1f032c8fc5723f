//! Stream socket pairs: accounting, and whom a send or a receive wakes.
//!
//! The 278 messages that are admitted and the 209 receives until there is room were also counted
//! on a real machine (Linux 6.18, x86-64, a non-blocking sender and `poll`).

use simsched_core::ipc::IpcVersion::V6_13;
use simsched_core::{Op, SocketId};

use crate::ipc::rig::{BLOCK, DONE, Rig, bytes, nobody, recv, send, sync};

/// A message of 100 bytes is accounted at 668 + 100 = 768. It is admitted while less than 212,992
/// is outstanding: 277 * 768 = 212,736 is less, 278 * 768 = 213,504 is not.
#[test]
fn the_279th_message_of_100_bytes_blocks() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.fill(send(100)), 278);
    assert_eq!(rig.blocked_on(15), "socket 1 to have room to send");
    assert_eq!(rig.ipc.socket_bytes(SocketId(0)), 27_800);
}

/// 69 * 768 * 4 = 211,968 is at most 212,992, 70 * 768 * 4 = 215,040 is not: the receiver takes
/// 278 - 69 = 209 messages before it wakes anybody, and then it wakes all, newest first.
#[test]
fn senders_wake_all_at_once_when_a_quarter_is_left() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.fill(send(100)), 278);
    for sender in [1, 2, 3] {
        assert_eq!(rig.op(sender, send(100)), (BLOCK, nobody()));
    }
    for _ in 0..208 {
        assert_eq!(rig.op(0, recv(100)), (bytes(100), nobody()));
    }
    assert_eq!(rig.op(0, recv(100)), (bytes(100), sync([3, 2, 1, 15])));
    assert_eq!(rig.op(0, recv(100)), (bytes(100), nobody()), "nobody sleeps any more");
    for sender in [3, 2, 1, 15] {
        assert_eq!(rig.retry(sender, send(100)), (DONE, nobody()));
    }
}

/// Of 1000 each, four messages reach a limit of 4000 exactly, and one is a quarter of it exactly:
/// at the limit a send blocks, at the quarter it is woken.
#[test]
fn the_limit_itself_blocks_and_the_quarter_itself_wakes() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.fill(Op::Send { socket: SocketId(3), bytes: 100 }), 4);
    let recv = Op::Recv { socket: SocketId(2), bytes: 100 };
    for woken in [nobody(), nobody(), sync([15])] {
        assert_eq!(rig.op(0, recv), (bytes(100), woken));
    }
}

/// The accounts belong to the sending end: what comes back on the other does not count.
#[test]
fn the_two_directions_are_accounted_apart() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.fill(send(100)), 278);
    let back = Op::Send { socket: SocketId(0), bytes: 100 };
    assert_eq!(rig.op(0, back), (DONE, sync([15])), "who sleeps to send is on the same queue");
    assert_eq!(rig.retry(15, send(100)), (BLOCK, nobody()), "a spurious wakeup");
}

#[test]
fn each_send_wakes_a_receiver_that_sleeps() {
    let mut rig = Rig::new(V6_13);
    for _ in 0..3 {
        assert_eq!(rig.op(0, recv(100)), (BLOCK, nobody()));
        assert_eq!(rig.op(1, send(100)), (DONE, sync([0])));
        assert_eq!(rig.op(1, send(100)), (DONE, nobody()), "it is awake");
        assert_eq!(rig.retry(0, recv(100)), (bytes(100), nobody()));
        assert_eq!(rig.op(0, recv(100)), (bytes(100), nobody()));
    }
}

#[test]
fn all_receivers_wake_newest_first_and_the_late_ones_sleep_again() {
    let mut rig = Rig::new(V6_13);
    for receiver in [0, 2, 3] {
        assert_eq!(rig.op(receiver, recv(100)), (BLOCK, nobody()));
    }
    assert_eq!(rig.op(1, send(100)), (DONE, sync([3, 2, 0])));
    assert_eq!(rig.retry(3, recv(100)), (bytes(100), nobody()));
    assert_eq!(rig.retry(2, recv(100)), (BLOCK, nobody()));
    assert_eq!(rig.retry(0, recv(100)), (BLOCK, nobody()));
    assert_eq!(rig.op(1, send(100)), (DONE, sync([0, 2])));
}

/// A stream has no borders: three messages of 100, 100 and 30 bytes are received as 100, as 50,
/// as the 50 that the second has left with 30 of the third, and not at all.
#[test]
fn a_receive_takes_exactly_one_message_of_its_size_and_goes_on_into_the_next() {
    let mut rig = Rig::new(V6_13);
    for size in [100, 100, 30] {
        assert_eq!(rig.op(1, send(size)).0, DONE);
    }
    assert_eq!(rig.op(0, recv(100)).0, bytes(100));
    assert_eq!(rig.ipc.socket_bytes(SocketId(0)), 130);
    assert_eq!(rig.op(0, recv(50)).0, bytes(50));
    assert_eq!(rig.ipc.socket_bytes(SocketId(0)), 80);
    assert_eq!(rig.op(0, recv(100)).0, bytes(80));
    assert_eq!(rig.op(0, recv(100)).0, BLOCK);
}

/// A buffer is freed when its last byte is received: half a message frees no room.
#[test]
fn half_a_message_received_frees_nothing() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.fill(send(100)), 278);
    for _ in 0..208 {
        assert_eq!(rig.op(0, recv(100)).1, nobody());
    }
    assert_eq!(rig.op(0, recv(99)), (bytes(99), nobody()));
    assert_eq!(rig.op(0, recv(1)), (bytes(1), sync([15])));
}

/// A buffer has at most 36,544 bytes, accounted here at 37,212: five are 186,060 and below the
/// limit, six are 223,272 and above (219,264 bytes, as a non-blocking send of a million bytes to
/// Linux 6.18 takes). The first wakes the receiver. It must free buffers down to 53,248
/// outstanding, that is to one.
#[test]
fn a_long_message_goes_in_buffers_and_blocks_half_way() {
    const BUFFER: u32 = 36_544;
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.op(0, recv(1)), (BLOCK, nobody()));
    assert_eq!(rig.op(1, send(300_000)), (BLOCK, sync([0])));
    assert_eq!(rig.ipc.socket_bytes(SocketId(0)), 219_264);
    assert_eq!(rig.retry(0, recv(5 * BUFFER - 1)), (bytes(5 * BUFFER - 1), nobody()));
    assert_eq!(rig.op(0, recv(1)), (bytes(1), sync([1])));
    assert_eq!(rig.retry(1, send(300_000)), (DONE, nobody()));
    assert_eq!(rig.ipc.socket_bytes(SocketId(0)), u64::from(300_000 - 5 * BUFFER));
}
