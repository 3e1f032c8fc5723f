//! When the slice timer of 7.3 expires, against the kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use simsched_core::{Nanos, TaskId};
use simsched_policies::fair::Request;
use simsched_topology::CpuId;

use super::tree::fair;
use crate::common::{for_each_row, vectors_73};

const CPU: CpuId = CpuId(0);
const TASK: TaskId = TaskId(0);

/// No timer (-1) for a task that is beyond its deadline. In the rows of this project interrupts take no time.
#[test]
fn vectors_7_3_hrtick_delay() {
    let mut fair = fair(1);
    vectors_73("hrtick_delay.csv", 600, |file| {
        for_each_row(file, |row| {
            fair.set_irq_util(CPU, row.get("irq_util"));
            let (deadline, weight) = (row.get("deadline"), row.get("weight"));
            *fair.request_mut(TASK) = Request { deadline, weight, ..Request::default() };
            fair.entity_mut(TASK).vruntime = row.get("vruntime");
            let delay = fair.slice_left(CPU, TASK).map_or(-1, |left| left.0.cast_signed());
            row.expect("delay", delay);
        })
    });
}

/// A slice of 2.8 ms on a CPU of whose time interrupts take a part, by the formula at the head of `hrtick_delay.csv`:
/// times 1024 * 1024 / (1024 - irq), over 1024, each cut.
#[test]
fn a_slice_is_longer_where_interrupts_take_time() {
    let mut fair = fair(1);
    let (deadline, weight) = (2_800_000, 1 << 20);
    *fair.request_mut(TASK) = Request { deadline, weight, ..Request::default() };
    for (util, delay) in [
        (0, 2_800_000),
        (1, 2_802_734),
        (100, 3_100_781),
        (512, 5_600_000),
        (1023, 2_867_200_000),
        (1024, 2_800_000),
    ] {
        fair.set_irq_util(CPU, util);
        assert_eq!(fair.slice_left(CPU, TASK), Some(Nanos(delay)), "{util} of 1024");
    }
}
