//! When the slice timer of 7.3 expires, against the kernel's numbers.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use simsched_core::TaskId;
use simsched_policies::fair::Request;

use super::tree::fair;
use crate::common::{for_each_row, vectors_73};

const TASK: TaskId = TaskId(0);

/// No timer (-1) for a task that is beyond its deadline. Interrupts are not accounted in any row.
#[test]
fn vectors_7_3_hrtick_delay() {
    let mut fair = fair(1);
    vectors_73("hrtick_delay.csv", 600, |file| {
        for_each_row(file, |row| {
            row.expect("irq_util", 0);
            let (deadline, weight) = (row.get("deadline"), row.get("weight"));
            *fair.request_mut(TASK) = Request { deadline, weight, ..Request::default() };
            fair.entity_mut(TASK).vruntime = row.get("vruntime");
            let delay = fair.slice_left(TASK).map_or(-1, |left| left.0.cast_signed());
            row.expect("delay", delay);
        })
    });
}
