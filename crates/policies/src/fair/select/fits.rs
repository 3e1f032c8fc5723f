//! Whether a CPU has room for a wakee, for `util_fits_capacity` and `select_bias_prev`.

use simsched_core::TaskId;
use simsched_topology::CpuId;

use crate::fair::Fair;
use crate::fair::entity::EntityId;

/// What a wakee is expected to need, where that is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Its estimated utilization.
    util_est: u64,
    /// A CPU that has it is as good as an idle one.
    pub(super) instead_of_idle: bool,
}

impl Fair {
    /// What `task` needs, brought to the time of its previous queue; `None` if no feature asks, or
    /// nothing is estimated. Source: `task_util_est()` after `sync_entity_load_avg()`.
    #[inline]
    pub(super) fn room(&mut self, task: TaskId) -> Option<Room> {
        let features = &self.all.features;
        if !(features.util_fits_capacity || features.select_bias_prev) || !features.util_est {
            return None;
        }
        Some(self.room_for(task, features.util_fits_capacity))
    }

    #[cold]
    fn room_for(&mut self, task: TaskId, instead_of_idle: bool) -> Room {
        let se = EntityId::of(task);
        self.sync_entity_load_avg(se);
        let entity = self.all.entity(se);
        let util_est = entity.avg.util_avg.max(u64::from(entity.util_est.value()));
        Room { util_est, instead_of_idle }
    }

    /// Whether the runnable tasks of `cpu` and the wakee fit it together, by estimated utilization;
    /// tasks of other classes do not count, sleeping ones neither.
    #[inline]
    pub(super) fn fits(&self, room: Room, cpu: CpuId) -> bool {
        let util = u64::from(self.all.root(cpu).util_est_enqueued) + room.util_est;
        let capacity = u64::from(self.all.capacity(cpu));
        self.all.features.fits_capacity.fits(util, capacity, self.capacity_of(cpu))
    }
}
