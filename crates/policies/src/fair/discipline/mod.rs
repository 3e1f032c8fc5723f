//! The order of one runqueue under CFS: who is where in virtual time, who runs next, and when the
//! running one has to go. Source: kernel/sched/fair.c, Linux 6.1.

mod buddies;
mod pick;
mod place;
mod preempt;
mod slice;

pub use preempt::wakeup_preempt_entity;
