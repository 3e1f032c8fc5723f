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
mod numbers;
mod policy;
mod spec;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use simsched_core::World;

use self::ask::Ask;
pub use self::compare::{Comparison, Difference, Kind};
use self::follow::Followed;
pub use self::inside::{Inside, QueueNumbers, TaskNumbers};
pub use self::spec::ShadowSpec;
use crate::library::{Answer, Library, domain_sizes};

/// A policy, and the kernel's functions beside it.
pub struct Shadow<P> {
    inner: P,
    path: PathBuf,
    /// None before the policy is attached, and once nothing is compared any more.
    library: Option<Library>,
    followed: Option<Followed>,
    seen: Comparison,
    /// Where that is put when the policy is given back.
    kept: Option<Arc<Mutex<Vec<Comparison>>>>,
}

impl<P: Inside> Shadow<P> {
    /// `inner`, with the library in the file `path` beside it.
    #[must_use]
    pub fn new(inner: P, path: PathBuf) -> Shadow<P> {
        Shadow {
            inner,
            path,
            library: None,
            followed: None,
            seen: Comparison::default(),
            kept: None,
        }
    }

    /// This policy; when it is dropped, what it has compared is put at the end of a list.
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
        match self.library(world) {
            Ok(mut library) => {
                self.seen.release = library.class.release();
                self.library = Some(library);
                self.followed = Some(Followed::new(world.topology()));
            }
            Err(why) => self.seen.ended = Some((world.now(), why)),
        }
    }

    /// The library, if it has domains of the sizes that the policy has.
    fn library(&self, world: &World) -> Answer<Library> {
        let settings = self.inner.kernel_settings()?;
        let mut library = Library::new(&self.path, world, &settings)?;
        for cpu in world.topology().cpus().iter() {
            let mut ours = Vec::new();
            self.inner.domains(cpu, &mut |_, span, _| ours.push(span.len()));
            let kernel = domain_sizes(&mut library.class, cpu);
            if ours != kernel {
                return Err(format!(
                    "the domains of CPU {cpu} have {ours:?} CPUs, the kernel's {kernel:?}"
                ));
            }
        }
        Ok(library)
    }

    /// Asks the library, if it is asked still.
    fn ask(&mut self, world: &World, question: impl FnOnce(&mut Ask<'_, P>) -> Answer) {
        let (Some(library), Some(followed)) = (&mut self.library, &mut self.followed) else {
            return;
        };
        let mut ask = Ask { world, inner: &self.inner, library, followed, seen: &mut self.seen };
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
