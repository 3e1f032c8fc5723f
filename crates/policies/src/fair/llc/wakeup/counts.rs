//! What has happened, for `policy_metrics`.

/// How often what has happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Scans that were done, and those after which a process preferred another LLC than before.
    pub(super) scans: u64,
    pub(super) elections: u64,
    /// Wakeups of processes that preferred no LLC,
    pub(super) free: u64,
    /// of wakees that had been behind the preferred one,
    pub(super) at_home: u64,
    /// and of those that were not sent there since it was over-aggregated.
    pub(super) inhibited: u64,
    /// Wakees that were sent to another LLC than the one that they came from,
    pub(super) sent: u64,
    /// were queued there,
    pub(super) landed: u64,
    /// and searched on where they had been, since it had no idle CPU.
    pub(super) retried: u64,
    /// Wakees that were sent to an LLC that was over its limits at this moment, unknown to the guard;
    stale: u64,
    /// the greatest number of these in a row, by LLC while it is under way.
    stale_burst_max: u64,
    bursts: Vec<u64>,
    /// By LLC: whether it had room when it was last refreshed.
    is_closed: Vec<bool>,
    refreshes: u64,
    /// Refreshes after which an LLC has room that had none, and the other way round.
    opened: u64,
    closed: u64,
}

impl Counts {
    /// A wakee that was asked for is sent to `llc`, which really has room at this moment, or has none.
    pub(super) fn admitted(&mut self, llc: usize, has_room: bool) {
        self.fit(llc);
        if has_room {
            self.bursts[llc] = 0;
            return;
        }
        self.stale += 1;
        self.bursts[llc] += 1;
        self.stale_burst_max = self.stale_burst_max.max(self.bursts[llc]);
    }

    /// What is known of `llc` is new.
    pub(super) fn refreshed(&mut self, llc: usize, has_room: bool) {
        self.fit(llc);
        let was_closed = std::mem::replace(&mut self.is_closed[llc], !has_room);
        self.refreshes += 1;
        self.opened += u64::from(was_closed && has_room);
        self.closed += u64::from(!was_closed && !has_room);
    }

    fn fit(&mut self, llc: usize) {
        if self.bursts.len() <= llc {
            self.bursts.resize(llc + 1, 0);
            self.is_closed.resize(llc + 1, false);
        }
    }

    /// All of them, by name.
    pub(super) fn emit(&self, emit: &mut dyn FnMut(&'static str, u64)) {
        emit("cas_scans", self.scans);
        emit("cas_elections", self.elections);
        emit("cas_wakeups_free", self.free);
        emit("cas_wakeups_at_home", self.at_home);
        emit("cas_inhibited", self.inhibited);
        emit("cas_redirected", self.sent);
        emit("cas_redirected_landed", self.landed);
        emit("cas_retried", self.retried);
        emit("cas_stale", self.stale);
        emit("cas_stale_burst_max", self.stale_burst_max);
        emit("cas_refreshes", self.refreshes);
        emit("cas_opened", self.opened);
        emit("cas_closed", self.closed);
    }
}
