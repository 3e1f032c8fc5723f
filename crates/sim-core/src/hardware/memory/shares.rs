//! `Shares`: who gets how much of what all want, by max-min fairness (progressive filling).

use simsched_topology::WEIGHT_ONE;

/// How much of a resource each byte of a flow takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    /// Row of the table of resources.
    pub(super) resource: u32,
    /// In units of [`WEIGHT_ONE`], not 0.
    pub(super) weight: u64,
}

/// One that wants as much as it can get.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    /// What it takes, each resource once.
    pub(super) uses: Vec<Use>,
    /// What it gets, in kB/s, at least 1.
    pub(super) rate: u64,
}

impl Flow {
    /// Takes `weight` of a resource more.
    pub(super) fn take(&mut self, resource: u32, weight: u64) {
        if weight == 0 {
            return;
        }
        match self.uses.iter_mut().find(|used| used.resource == resource) {
            Some(used) => used.weight += weight,
            None => self.uses.push(Use { resource, weight }),
        }
    }
}

/// Resources with a cap each, and how much of them is taken.
///
/// All flows start at nothing and rise together, by the same kB/s, until a resource is full. The flows
/// that use it stay where they are, and the others go on. So no flow could have more without taking it
/// from one that has no more than itself. Source: Bertsekas and Gallager, "Data Networks", section
/// 6.5.2.
///
/// Rates are whole kB/s: a step is what the fullest resource has left, divided by what its flows take
/// together, rounded down. A resource is full when it has less left than one kB/s for each. The rates
/// depend on the set of flows and not on the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    /// In kB/s.
    caps: Vec<u64>,
    /// What is left of each, in kB/s times [`WEIGHT_ONE`].
    left: Vec<u64>,
    /// What the flows that still rise take of each with one kB/s.
    load: Vec<u64>,
    /// What all flows take of each with one kB/s.
    demand: Vec<u64>,
    /// Rows of the flows that still rise.
    open: Vec<u32>,
}

impl Shares {
    /// These caps, in kB/s, and room for so many flows.
    pub(super) fn new(caps: Vec<u64>, flows: usize) -> Shares {
        let none = vec![0; caps.len()];
        let left = caps.iter().map(|cap| cap * WEIGHT_ONE).collect();
        let open = Vec::with_capacity(flows);
        Shares { left, load: none.clone(), demand: none, open, caps }
    }

    /// How much is used of a resource, in 1024ths of its cap.
    pub(super) fn used_1024(&self, resource: u32) -> u64 {
        let all = self.caps[resource as usize] * WEIGHT_ONE;
        (all - self.left[resource as usize]) / (all / 1024).max(1)
    }

    /// How many flows use a resource, in units of [`WEIGHT_ONE`] of their bytes.
    pub(super) fn demand(&self, resource: u32) -> u64 {
        self.demand[resource as usize]
    }

    /// The cap of a resource, in kB/s.
    pub(super) fn cap(&self, resource: u32) -> u64 {
        self.caps[resource as usize]
    }

    /// Sets the rates of those of `flows` whose rows `active` lists.
    pub(super) fn fill(&mut self, flows: &mut [Flow], active: &[u32]) {
        self.load.fill(0);
        for (left, cap) in self.left.iter_mut().zip(&self.caps) {
            *left = cap * WEIGHT_ONE;
        }
        for &row in active {
            for used in &flows[row as usize].uses {
                self.load[used.resource as usize] += used.weight;
            }
        }
        self.demand.copy_from_slice(&self.load);
        self.open.clear();
        self.open.extend_from_slice(active);
        let mut level = 0;
        while !self.open.is_empty() {
            let step = self.rise();
            level += step;
            self.stop(flows, level);
        }
    }

    /// All that rise rise until a resource is full: by how much.
    fn rise(&mut self) -> u64 {
        let busy = || self.left.iter().zip(&self.load).filter(|(_, load)| **load > 0);
        let step = busy().map(|(left, load)| left / load).min().unwrap_or(u64::MAX);
        for (left, load) in self.left.iter_mut().zip(&self.load) {
            *left -= step * load;
        }
        step
    }

    /// Who uses a full resource has come to its rate, and so has who uses nothing.
    fn stop(&mut self, flows: &mut [Flow], level: u64) {
        let (left, load) = (&self.left, &self.load);
        let full = |used: &Use| left[used.resource as usize] < load[used.resource as usize];
        let mut stopped = 0;
        for at in 0..self.open.len() {
            let row = self.open[at];
            let flow = &mut flows[row as usize];
            if flow.uses.is_empty() || flow.uses.iter().any(full) {
                flow.rate = level.max(1);
                stopped += 1;
            } else {
                self.open[at - stopped] = row;
            }
        }
        self.open.truncate(self.open.len() - stopped);
        self.load.fill(0);
        for &row in &self.open {
            for used in &flows[row as usize].uses {
                self.load[used.resource as usize] += used.weight;
            }
        }
    }
}

#[cfg(test)]
mod tests;
