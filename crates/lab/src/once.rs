//! `Once`: what several runs come to that are one simulation, which is run once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Results of simulations by what tells them apart, such as their seeds.
///
/// Clones share them. A machine, a policy and its settings must not change between two uses.
#[derive(Debug)]
pub struct Once<K, V>(Arc<Mutex<BTreeMap<K, Slot<V>>>>);

/// A result, or that its simulation is yet to be run; whoever runs it holds the lock.
type Slot<V> = Arc<Mutex<Option<Arc<V>>>>;

impl<K: Ord, V> Once<K, V> {
    /// The result for `key`, made by `run` if it is not known. None if `run` has not come to its end.
    pub(crate) fn of<E>(
        &self,
        key: K,
        run: impl FnOnce() -> Result<Option<V>, E>,
    ) -> Result<Option<Arc<V>>, E> {
        let slot = {
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(key).or_default())
        };
        let mut result = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if result.is_none() {
            *result = run()?.map(Arc::new);
        }
        Ok(result.clone())
    }
}

impl<K, V> Clone for Once<K, V> {
    fn clone(&self) -> Self {
        Once(Arc::clone(&self.0))
    }
}

impl<K, V> Default for Once<K, V> {
    fn default() -> Self {
        Once(Arc::default())
    }
}
