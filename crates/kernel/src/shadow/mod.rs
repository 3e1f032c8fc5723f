//! The shadow of a policy: the kernel's own functions, which are asked the same at each call of one simulation.
//!
//! [`Shadow`] is a policy around another one. The policy inside answers, and only its answers count; a library that was
//! built from a kernel tree is asked the same question in the same state, and the answers are compared
//! ([`Comparison`]). The run is that of the policy inside, event by event.
//!
//! The passes of the load balancer are the policy's alone: the library follows them, and what they leave behind for the
//! search for an idle CPU (`SIS_UTIL`) is set there. Task groups are followed as the policy nests them; a task of
//! another policy than `SCHED_NORMAL` ends the comparison.

mod ask;
mod balancer;
mod compare;
mod follow;
mod inside;
mod library;
mod machine;
mod numbers;
mod policy;
mod spec;
mod tell;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use simsched_core::World;

use self::ask::Ask;
pub use self::compare::{Comparison, Difference, Kind};
pub use self::inside::{Inside, QueueNumbers, TaskNumbers};
use self::library::{Answer, Library};
pub use self::spec::ShadowSpec;

/// A policy, and the kernel's functions beside it.
pub struct Shadow<P> {
    inner: P,
    path: PathBuf,
    /// None before the policy is attached, and once nothing is compared any more.
    library: Option<Library>,
    seen: Comparison,
    /// Where that is put when the policy is given back.
    kept: Option<Arc<Mutex<Vec<Comparison>>>>,
}

impl<P: Inside> Shadow<P> {
    /// `inner`, with the library in the file `path` beside it.
    #[must_use]
    pub fn new(inner: P, path: PathBuf) -> Shadow<P> {
        Shadow { inner, path, library: None, seen: Comparison::default(), kept: None }
    }

    /// The same policy, which puts what it has compared at the end of a list when it is dropped.
    fn kept_in(mut self, list: Arc<Mutex<Vec<Comparison>>>) -> Shadow<P> {
        self.kept = Some(list);
        self
    }

    /// The policy that answers.
    #[must_use]
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// What was compared so far.
    #[must_use]
    pub fn comparison(&self) -> &Comparison {
        &self.seen
    }

    fn begin(&mut self, world: &World) {
        match Library::new(&self.path, world, &self.inner) {
            Ok(mut library) => {
                self.seen.release = library.class.release();
                self.library = Some(library);
            }
            Err(why) => self.seen.ended = Some((world.now(), why)),
        }
    }

    /// Asks the library, if it is asked still.
    fn ask(&mut self, world: &World, question: impl FnOnce(&mut Ask<'_, P>) -> Answer) {
        let Some(library) = &mut self.library else { return };
        let mut ask = Ask { world, inner: &self.inner, library, seen: &mut self.seen };
        let asked = question(&mut ask);
        // What the kernel says is the cause of what a function returns.
        if let Err(why) = library.fault().and(asked) {
            self.seen.ended = Some((world.now(), why));
            self.library = None;
        }
    }
}

impl<P> Drop for Shadow<P> {
    fn drop(&mut self) {
        if let Some(mut kept) = self.kept.as_ref().and_then(|kept| kept.lock().ok()) {
            kept.push(std::mem::take(&mut self.seen));
        }
    }
}
