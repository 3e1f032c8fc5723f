//! UDP and TCP over loopback: windows, room, ends of streams, and whom a send or a receive wakes.

use simsched_core::ipc::IpcVersion::V6_13;
use simsched_core::{Op, SocketId};

use crate::ipc::rig::{BLOCK, DONE, Rig, bytes, nobody, plain, sync};

/// Ends 4 and 5: 2000 bytes are received, a datagram of 100 is accounted at 1000.
fn udp(bytes: u32) -> [Op; 2] {
    [Op::Send { socket: SocketId(5), bytes }, Op::Recv { socket: SocketId(4), bytes }]
}

/// Ends 6 and 7: the window is 1000 bytes, 3000 wait behind it, in buffers of 400.
fn tcp(bytes: u32) -> [Op; 2] {
    [Op::Send { socket: SocketId(7), bytes }, Op::Recv { socket: SocketId(6), bytes }]
}

/// Ends 8 and 9: the receive buffer grows from 2000 to 10,000, segments have 100 bytes.
fn growing(bytes: u32) -> [Op; 2] {
    [Op::Send { socket: SocketId(9), bytes }, Op::Recv { socket: SocketId(8), bytes }]
}

#[test]
fn a_datagram_wakes_one_receiver_in_the_order_in_which_they_came() {
    let mut rig = Rig::new(V6_13);
    let [send, recv] = udp(1);
    for receiver in [0, 2] {
        assert_eq!(rig.op(receiver, recv), (BLOCK, nobody()));
    }
    assert_eq!(rig.op(1, send), (DONE, sync([0])));
    assert_eq!(rig.retry(0, recv), (bytes(1), nobody()));
    assert_eq!(rig.op(1, send), (DONE, sync([2])));
    assert_eq!(rig.retry(2, recv), (bytes(1), nobody()));
}

/// At 1000 each, the third is admitted with 2000 held, which is not more than the limit; the fourth
/// finds 3000 and is lost, and its sender is not told.
#[test]
fn a_datagram_without_room_is_lost_and_its_sender_goes_on() {
    let mut rig = Rig::new(V6_13);
    let [send, recv] = udp(100);
    for _ in 0..4 {
        assert_eq!(rig.op(1, send), (DONE, nobody()));
    }
    assert_eq!(rig.ipc.socket_bytes(SocketId(4)), 300);
    for _ in 0..3 {
        assert_eq!(rig.op(0, recv), (bytes(100), nobody()));
    }
    assert_eq!(rig.op(0, recv), (BLOCK, nobody()));
}

#[test]
fn datagrams_have_borders_and_what_is_not_asked_for_is_lost() {
    let mut rig = Rig::new(V6_13);
    for size in [100, 30] {
        assert_eq!(rig.op(1, udp(size)[0]).0, DONE);
    }
    assert_eq!(rig.op(0, udp(50)[1]).0, bytes(50));
    assert_eq!(rig.op(0, udp(500)[1]).0, bytes(30));
}

#[test]
fn a_segment_wakes_the_receiver_synchronously_and_a_stream_has_no_borders() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.op(0, tcp(500)[1]), (BLOCK, nobody()));
    assert_eq!(rig.op(1, tcp(300)[0]), (DONE, sync([0])));
    assert_eq!(rig.op(1, tcp(100)[0]), (DONE, nobody()), "it is awake");
    assert_eq!(rig.retry(0, tcp(350)[1]), (bytes(350), nobody()));
    assert_eq!(rig.op(0, tcp(500)[1]), (bytes(50), nobody()));
}

/// 1000 bytes fill the window and 3000 the send buffer: the buffers of 400 end at 4000, where 3000
/// wait, which is not below the limit.
#[test]
fn a_sender_blocks_behind_the_window_and_the_send_buffer() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.op(1, tcp(4000)[0]), (DONE, nobody()));
    assert_eq!(rig.op(1, tcp(1)[0]), (BLOCK, nobody()));
    assert_eq!(rig.blocked_on(1), "socket 7 to have room to send");
    assert_eq!(rig.ipc.socket_bytes(SocketId(6)), 1000);
}

/// The sender knows of no room; it is told when 400 bytes, a segment, are free. Then 400 of the 3000
/// go: 2600 wait, more than two thirds of 3000. After 600 and 400 more it is 2000, two thirds: it
/// wakes, not synchronously.
#[test]
fn a_sender_wakes_when_a_third_of_its_buffer_is_free() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.op(1, tcp(4001)[0]), (BLOCK, nobody()));
    assert_eq!(rig.op(0, tcp(399)[1]), (bytes(399), nobody()));
    assert_eq!(rig.ipc.socket_bytes(SocketId(6)), 601, "less than a segment is not told");
    assert_eq!(rig.op(0, tcp(1)[1]), (bytes(1), nobody()));
    assert_eq!(rig.ipc.socket_bytes(SocketId(6)), 1000);
    assert_eq!(rig.op(0, tcp(599)[1]), (bytes(599), nobody()));
    assert_eq!(rig.op(0, tcp(401)[1]), (bytes(401), plain([1])));
    assert_eq!(rig.retry(1, tcp(4001)[0]), (DONE, nobody()));
    let mut left = 4001 - 400 - 599 - 401;
    while left > 0 {
        let chunk = left.min(1000);
        assert_eq!(rig.op(0, tcp(1000)[1]).0, bytes(chunk));
        left -= chunk;
    }
    assert_eq!(rig.op(0, tcp(1000)[1]).0, BLOCK, "all bytes have arrived, and no more");
}

/// A window of 1000 received: 2 * (2 * 1000 + 16 * 100) = 7200, half of which is the new window.
#[test]
fn the_window_grows_with_what_is_received() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.op(1, growing(3000)[0]), (DONE, nobody()));
    assert_eq!(rig.ipc.socket_bytes(SocketId(8)), 1000);
    assert_eq!(rig.op(0, growing(1000)[1]), (bytes(1000), nobody()));
    assert_eq!(rig.ipc.socket_bytes(SocketId(8)), 2000, "all that waited has come");
    assert_eq!(rig.op(1, growing(3000)[0]), (DONE, nobody()));
    assert_eq!(rig.ipc.socket_bytes(SocketId(8)), 3600);
}

#[test]
fn a_stream_ends_behind_its_last_byte() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.op(1, tcp(1500)[0]).0, DONE);
    assert_eq!(rig.op(1, Op::Shutdown(SocketId(7))), (DONE, nobody()));
    assert_eq!(rig.op(0, tcp(1000)[1]).0, bytes(1000));
    assert_eq!(rig.op(0, tcp(1000)[1]).0, bytes(500));
    for _ in 0..2 {
        assert_eq!(rig.op(0, tcp(1000)[1]), (bytes(0), nobody()));
    }
    let back = Op::Send { socket: SocketId(6), bytes: 1 };
    assert_eq!(rig.op(0, back), (DONE, nobody()), "the other direction goes on");
}

#[test]
fn the_end_of_a_stream_wakes_its_receiver_and_its_pollers() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.op(0, tcp(1)[1]).0, BLOCK);
    assert_eq!(rig.op(2, Op::PollSocket(SocketId(6))).0, BLOCK);
    assert_eq!(rig.op(1, Op::Shutdown(SocketId(7))), (DONE, plain([2, 0])));
    assert_eq!(rig.retry(0, tcp(1)[1]), (bytes(0), nobody()));
    assert_eq!(rig.retry(2, Op::PollSocket(SocketId(6))), (DONE, nobody()));
}
