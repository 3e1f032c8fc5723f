//! `Order`: what happened, in the order of time.

use simsched_trace::Event;

/// One thing for the sinks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// A tracepoint.
    Event(Event),
    /// A counter has another value from now on.
    Counter { time: u64, cpu: u32, name: &'static str, value: u64 },
}

impl Item {
    fn time(&self) -> u64 {
        match self {
            Item::Event(event) => event.time,
            Item::Counter { time, .. } => *time,
        }
    }
}

/// Puts things in the order of time where CPUs take turns of a quantum, and tell what they did in it one
/// CPU after the other: time goes back by less than a quantum.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// In ns; none where all is told in order.
    quantum: Option<u64>,
    /// Nothing that is older is to come.
    settled: u64,
    waiting: Vec<Item>,
}

impl Order {
    /// Of a machine whose CPUs take turns of so many ns; 0 is one where they do not.
    pub(super) fn new(quantum: u64) -> Order {
        Order { quantum: (quantum > 1).then_some(quantum), ..Order::default() }
    }

    /// Takes `item`, at `now` of simulated time, and gives all that are in order now to `told`.
    pub(super) fn put(&mut self, now: u64, item: Item, mut told: impl FnMut(&Item)) {
        let Some(quantum) = self.quantum else { return told(&item) };
        let passed = now.saturating_sub(quantum);
        // Sorts once a quantum, not for each item.
        if passed >= self.settled + quantum {
            self.settled = passed;
            // The clock of the items may be ahead of simulated time.
            let ahead = item.time() - now;
            self.waiting.sort_by_key(Item::time);
            let settled = self.waiting.partition_point(|item| item.time() <= passed + ahead);
            self.waiting.drain(..settled).for_each(|item| told(&item));
        }
        self.waiting.push(item);
    }

    /// Nothing more is to come.
    pub(super) fn rest(&mut self, mut told: impl FnMut(&Item)) {
        self.waiting.sort_by_key(Item::time);
        self.waiting.drain(..).for_each(|item| told(&item));
    }
}
