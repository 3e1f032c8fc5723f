//! Pipes: slots, merging, and whom a write or a read wakes.
//!
//! The capacities were also counted on a real machine (Linux 6.18, x86-64, a non-blocking writer).

use simsched_core::PipeId;
use simsched_core::ipc::IpcVersion::{self, V6_13, V6_14};

use crate::ipc::rig::{BLOCK, DONE, Rig, bytes, nobody, read, sync, write};

/// Writes of this size until one blocks: how many fit, and how many bytes are then in the pipe.
fn check_capacity(size: u32, fit: u32, in_pipe: u32) {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.fill(write(size)), fit, "{size} bytes");
    assert_eq!(rig.ipc.pipe_bytes(PipeId(0)), in_pipe, "{size} bytes");
}

/// Invariant 2: 40 messages of 100 bytes share a page (4000 of 4096 bytes), 16 pages hold 640.
#[test]
fn invariant_2_the_641st_message_of_100_bytes_blocks() {
    check_capacity(100, 640, 64_000);
}

#[test]
fn a_page_each_fills_sixteen_slots() {
    check_capacity(4096, 16, 65_536);
    check_capacity(2048, 32, 65_536);
    check_capacity(1, 65_536, 65_536);
    // Two do not fit into a page, so each has its own.
    check_capacity(2049, 16, 32_784);
}

/// 5000 = 4096 + 904. The first takes two slots, of 4096 and 904 bytes. The second merges its 904
/// into the last one, which then holds 1808, and takes one slot for its 4096. Behind a full page
/// nothing merges, so the third takes two again, and so on: 2, 3, 5, 6, 8, 9, 11, 12, 14 and 15
/// slots after ten. The eleventh puts 4096 bytes into the last slot and blocks with 904 left.
#[test]
fn only_the_part_beyond_whole_pages_is_merged() {
    check_capacity(5000, 10, 50_000 + 4096);
}

/// A write whose part does not fit completely behind the last slot's data takes a new slot for all
/// of it: 3000 + 1097 > 4096, but 3000 + 1096 = 4096.
#[test]
fn a_merge_is_complete_or_not_at_all() {
    for (second, slots_left) in [(1096, 15), (1097, 14)] {
        let mut rig = Rig::new(V6_13);
        assert_eq!(rig.op(1, write(3000)).0, DONE);
        assert_eq!(rig.op(1, write(second)).0, DONE);
        assert_eq!(rig.fill(write(4096)), slots_left);
    }
}

/// What was read of a page is not room again: a page of 40 messages of which 39 were read takes no
/// 41st.
#[test]
fn a_slot_is_released_only_when_it_is_wholly_read() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.fill(write(100)), 640);
    for _ in 0..39 {
        assert_eq!(rig.op(0, read(100)), (bytes(100), sync([15])));
        assert_eq!(rig.retry(15, write(100)), (BLOCK, nobody()));
    }
    assert_eq!(rig.op(0, read(100)), (bytes(100), sync([15])));
    assert_eq!(rig.retry(15, write(100)), (DONE, nobody()));
    assert_eq!(rig.fill(write(100)), 39, "the new slot takes 40 messages");
}

/// Wakeups of the writer while a full pipe's first slot is read, message by message.
fn check_writer_wakeups(version: IpcVersion, wakeups: usize) {
    let mut rig = Rig::new(version);
    assert_eq!(rig.fill(write(100)), 640);
    let mut woken = 0;
    for _ in 0..40 {
        let (verdict, wakes) = rig.op(0, read(100));
        assert_eq!(verdict, bytes(100));
        woken += wakes.len();
        if !wakes.is_empty() && woken < wakeups {
            assert_eq!(rig.retry(15, write(100)), (BLOCK, nobody()), "spurious");
        }
    }
    assert_eq!(woken, wakeups);
    assert_eq!(rig.retry(15, write(100)).0, DONE);
}

/// Invariant 4: up to 6.13 each of 40 reads wakes the writer, 39 of them for nothing; from 6.14 on
/// only the one that frees the slot.
#[test]
fn invariant_4_a_slot_of_40_messages_costs_39_spurious_wakeups_until_6_14() {
    check_writer_wakeups(V6_13, 40);
    check_writer_wakeups(V6_14, 1);
}

/// Invariant 3: one wakeup for a batch of writes into an empty pipe on which a reader sleeps.
#[test]
fn invariant_3_a_batch_after_an_empty_state_wakes_the_reader_once() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.op(0, read(100)), (BLOCK, nobody()));
    assert_eq!(rig.op(1, write(100)), (DONE, sync([0])));
    for _ in 0..100 {
        assert_eq!(rig.op(1, write(100)), (DONE, nobody()));
    }
    assert_eq!(rig.retry(0, read(100)), (bytes(100), nobody()));
    for _ in 0..100 {
        assert_eq!(rig.op(0, read(100)), (bytes(100), nobody()));
    }
    assert_eq!(rig.op(0, read(100)), (BLOCK, nobody()));
    assert_eq!(rig.op(1, write(100)), (DONE, sync([0])));
}

#[test]
fn one_write_wakes_one_reader_and_a_reader_that_leaves_data_wakes_the_next() {
    let mut rig = Rig::new(V6_13);
    for reader in [0, 1, 2] {
        assert_eq!(rig.op(reader, read(100)).0, BLOCK);
    }
    assert_eq!(rig.op(5, write(250)), (DONE, sync([0])));
    assert_eq!(rig.retry(0, read(100)), (bytes(100), sync([1])));
    assert_eq!(rig.retry(1, read(100)), (bytes(100), sync([2])));
    assert_eq!(rig.retry(2, read(100)), (bytes(50), nobody()), "a read returns what there is");
}

#[test]
fn a_reader_that_did_not_sleep_wakes_no_other() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.op(0, read(100)).0, BLOCK);
    assert_eq!(rig.op(5, write(200)), (DONE, sync([0])));
    assert_eq!(rig.op(1, read(100)), (bytes(100), nobody()));
    assert_eq!(rig.op(1, read(100)), (bytes(100), nobody()));
    assert_eq!(rig.retry(0, read(100)), (BLOCK, nobody()), "it comes too late");
}

#[test]
fn who_was_woken_for_nothing_queues_again_at_the_tail() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.fill(write(100)), 640);
    for writer in [1, 2] {
        assert_eq!(rig.op(writer, write(100)), (BLOCK, nobody()));
    }
    for writer in [15, 1, 2, 15, 1, 2] {
        assert_eq!(rig.op(0, read(100)), (bytes(100), sync([writer])));
        assert_eq!(rig.retry(writer, write(100)), (BLOCK, nobody()));
    }
}

#[test]
fn who_is_woken_has_left_the_queue() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.fill(write(100)), 640);
    assert_eq!(rig.op(1, write(100)), (BLOCK, nobody()));
    // Nobody runs in between: three reads wake the two sleepers, and then there is nobody left.
    assert_eq!(rig.op(0, read(100)).1, sync([15]));
    assert_eq!(rig.op(0, read(100)).1, sync([1]));
    assert_eq!(rig.op(0, read(100)).1, nobody());
}

#[test]
fn a_writer_that_slept_and_leaves_room_wakes_the_next_writer() {
    let mut rig = Rig::new(V6_14);
    assert_eq!(rig.fill(write(4096)), 16);
    for writer in [1, 2, 3] {
        assert_eq!(rig.op(writer, write(4096)).0, BLOCK);
    }
    // The read of three pages finds the pipe full once and wakes once; the writers pass it on.
    assert_eq!(rig.op(0, read(3 * 4096)), (bytes(3 * 4096), sync([15])));
    assert_eq!(rig.retry(15, write(4096)), (DONE, sync([1])));
    assert_eq!(rig.retry(1, write(4096)), (DONE, sync([2])));
    assert_eq!(rig.retry(2, write(4096)), (DONE, nobody()), "it fills the last slot");
    assert_eq!(rig.blocked_on(3), "pipe 0 to have room");
}

/// 70,000 bytes into an empty pipe: 16 pages are 65,536, and 4,464 stay outside. On an empty pipe
/// the write first takes new slots, and it merges nothing when it goes on after a sleep.
#[test]
fn a_write_that_does_not_fit_blocks_half_way_and_goes_on() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.op(0, read(100)).0, BLOCK);
    assert_eq!(rig.op(1, write(70_000)), (BLOCK, sync([0])), "the reader is woken at the block");
    assert_eq!(rig.ipc.pipe_bytes(PipeId(0)), 65_536);
    // The reader wakes the writer as the pipe was full, though no slot is free.
    assert_eq!(rig.retry(0, read(4000)), (bytes(4000), sync([1])));
    assert_eq!(rig.retry(1, write(70_000)), (BLOCK, nobody()));
    assert_eq!(rig.op(0, read(96)), (bytes(96), sync([1])));
    assert_eq!(rig.retry(1, write(70_000)), (BLOCK, nobody()), "one more page, 368 bytes left");
    assert_eq!(rig.ipc.pipe_bytes(PipeId(0)), 65_536);
    assert_eq!(rig.op(0, read(100_000)), (bytes(65_536), sync([1])));
    assert_eq!(rig.op(0, read(100)), (BLOCK, nobody()));
    assert_eq!(rig.retry(1, write(70_000)), (DONE, sync([0])), "the pipe was empty again");
    assert_eq!(rig.retry(0, read(1000)), (bytes(368), nobody()));
}

#[test]
fn nothing_to_write_or_to_read_is_done_at_once() {
    let mut rig = Rig::new(V6_13);
    assert_eq!(rig.op(0, read(0)), (bytes(0), nobody()));
    assert_eq!(rig.op(1, read(1)).0, BLOCK);
    assert_eq!(rig.op(0, write(0)), (DONE, nobody()));
}
