//! The second half of the interface to a library: the level of the scheduling class.
//!
//! The rules are those of the module above. [`ClassLevel`] has a library for itself, since one library is used
//! either at this level or by whole calls.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_longlong, c_uint, c_ulong, c_ulonglong};
use std::path::Path;
use std::ptr;

use libloading::Library;

use super::{Loaded, RawEvent, RawMachine};
use crate::error::KernelError;

/// `struct simsched_kp_task_state`: what the kernel keeps of a task.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawTask {
    pub(crate) vruntime: c_longlong,
    pub(crate) deadline: c_longlong,
    pub(crate) runtime: c_ulonglong,
    pub(crate) util_avg: c_ulong,
    pub(crate) load_avg: c_ulong,
    pub(crate) runnable_avg: c_ulong,
    pub(crate) cpu: c_int,
    pub(crate) on_rq: c_int,
    pub(crate) delayed: c_int,
    pub(crate) wakee_flips: c_uint,
}

/// `struct simsched_kp_cpu_state`: what the kernel keeps of a CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawCpu {
    pub(crate) mean_vruntime: c_longlong,
    pub(crate) util_avg: c_ulong,
    pub(crate) load_avg: c_ulong,
    pub(crate) runnable_avg: c_ulong,
    pub(crate) h_load: c_ulong,
    pub(crate) avg_idle: c_ulonglong,
    pub(crate) nr_running: c_int,
    pub(crate) curr: c_int,
}

macro_rules! class_level {
    (
        numbers { $(fn $name:ident($($arg:ident: $ty:ty),*);)* }
        others { $(fn $other:ident = $symbol:literal($($other_ty:ty),*);)* }
    ) => {
        /// The functions of a library at the level of the class.
        struct ClassTable {
            $($name: unsafe extern "C" fn($($ty),*) -> c_int,)*
            $($other: unsafe extern "C" fn($($other_ty),*) -> c_int,)*
            knob_at: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_longlong,
        }

        impl ClassTable {
            fn of(library: &Library) -> Result<ClassTable, libloading::Error> {
                // SAFETY: the types are those of `simsched_kernel.h`.
                unsafe {
                    Ok(ClassTable {
                        $($name: *library.get(concat!("simsched_kp_", stringify!($name)).as_bytes())?,)*
                        $($other: *library.get($symbol.as_bytes())?,)*
                        knob_at: *library.get(b"simsched_k_knob_at")?,
                    })
                }
            }
        }

        impl ClassLevel {
            $(
                pub(crate) fn $name(&mut self, $($arg: $ty),*) -> c_int {
                    // SAFETY: a function of numbers, called under the rules of the module above.
                    unsafe { (self.table.$name)($($arg),*) }
                }
            )*
        }
    };
}

class_level! {
    numbers {
        fn clock(cpu: c_int, clock: c_ulonglong, clock_task: c_ulonglong, ticks: c_ulonglong);
        fn select(cpu: c_int, task: c_int, flags: c_int);
        fn migrate(cpu: c_int, task: c_int, to: c_int);
        fn enqueue(cpu: c_int, task: c_int, why: c_int, from: c_int);
        fn dequeue(cpu: c_int, task: c_int, why: c_int);
        fn pick(cpu: c_int, newidle: c_int);
        fn idle(cpu: c_int);
        fn stopper(cpu: c_int);
        fn age(cpu: c_int);
        fn weigh(cpu: c_int);
        fn dead(cpu: c_int, task: c_int);
        fn preempt(cpu: c_int, task: c_int, how: c_int);
        fn woken(cpu: c_int, task: c_int);
        fn tick(cpu: c_int);
        fn nice(cpu: c_int, task: c_int, nice: c_int);
        fn pending(cpu: c_int, pending: c_int);
        fn flag(cpu: c_int, level: c_int);
        fn on_cpu(task: c_int, on_cpu: c_int);
        fn exiting(task: c_int);
        fn count(cpu: c_int, by: c_int);
        fn leaving(cpu: c_int, by: c_int);
        fn flips(cpu: c_int, task: c_int, flips: c_uint, ticks: c_ulonglong);
        fn idle_state(cpu: c_int, exit_latency: c_int);
        fn idle_scan(cpu: c_int, nr: c_int);
        fn imbalance(cpu: c_int, level: c_int, imbalance: c_int);
        fn idle_since(cpu: c_int, clock: c_ulonglong);
        fn asleep(cpu: c_int, task: c_int);
        fn trigger(cpu: c_int);
        fn slices();
        fn slice(cpu: c_int);
        fn prefers(process: c_int);
        fn tick_stopped(cpu: c_int);
        fn up();
        fn random(cpu: c_int, number: c_uint);
        fn randoms(cpu: c_int);
    }
    others {
        fn suspend_where = "simsched_k_suspend_at"(c_uint, c_int);
        fn start_call = "simsched_k_start"(c_int, c_int, c_int, c_long, c_long);
        fn resume_call = "simsched_k_resume"(c_int);
        fn cpu_of_slot = "simsched_k_slot_cpu"(c_int);
        fn look_of = "simsched_kp_look"(c_int, *mut c_ulong, c_int);
        fn looked_at = "simsched_kp_looked"(*mut *const c_int, *mut c_int, *mut c_int);
        fn span_of = "simsched_kp_span"(c_int, c_int, *mut c_ulong, c_int);
        fn yields = "simsched_kp_yield"(c_int);
        fn mask_of = "simsched_kp_affinity"(c_int, *const c_ulong, c_int);
        fn state_of_task = "simsched_kp_task"(c_int, *mut RawTask);
        fn state_of_cpu = "simsched_kp_cpu"(c_int, *mut RawCpu);
        fn feature_at = "simsched_k_feature_at"(c_int, *mut *const c_char);
        fn set_feature = "simsched_k_feature"(*const c_char);
        fn set_knob = "simsched_k_knob"(c_int, c_uint);
        fn domain_of = "simsched_k_domain"(c_int, c_int, *mut *const c_char, *mut u32, *mut c_int);
    }
}

/// A copy of a library of its own, which is asked at the level of the class.
pub(crate) struct ClassLevel {
    table: ClassTable,
    /// Life, tasks and errors.
    whole: Loaded,
    events: Vec<RawEvent>,
}

impl ClassLevel {
    /// Loads a private copy of the library in this file.
    ///
    /// # Errors
    /// When it cannot be read, is no library, or speaks another version of the interface.
    pub(crate) fn open(path: &Path) -> Result<ClassLevel, KernelError> {
        let whole = Loaded::open(path)?;
        let table = ClassTable::of(&whole._library).map_err(|_| {
            let what = "found a library without all functions of the interface: build it again";
            KernelError::library(path, what.to_owned())
        })?;
        Ok(ClassLevel { table, whole, events: Vec::new() })
    }

    /// Makes the machine; 0, or a negative number of an error.
    pub(crate) fn create(&mut self, machine: &RawMachine<'_>, seed: u64) -> i32 {
        self.whole.create(machine, seed)
    }

    /// The release of the tree.
    pub(crate) fn release(&mut self) -> String {
        self.whole.release()
    }

    /// What it was built of, by name: its release, and hashes of the sources, the configuration and the shim.
    pub(crate) fn built_of(&mut self) -> Vec<(String, String)> {
        self.whole.built_of()
    }

    /// The current task of `cpu` does its task work; how much there was.
    pub(crate) fn work(&mut self, cpu: c_int) -> c_int {
        self.whole.work(cpu)
    }

    /// Ticks per second.
    pub(crate) fn hz(&mut self) -> c_int {
        self.whole.hz()
    }

    /// The time and the jiffies that clock reads of the kernel see from now on.
    pub(crate) fn time(&mut self, now: u64, ticks: u64) -> c_int {
        self.whole.time(now, ticks)
    }

    /// A process.
    pub(crate) fn proc_new(&mut self) -> c_int {
        self.whole.proc_new()
    }

    /// A child of the task that runs on `cpu`, in a group (0 is the root), with a policy (by its number in
    /// `<linux/sched.h>`).
    pub(crate) fn fork(
        &mut self,
        cpu: c_int,
        process: c_int,
        nice: c_int,
        group: c_int,
        policy: c_int,
    ) -> c_int {
        self.whole.fork(cpu, process, nice, group, policy)
    }

    /// A group below another one.
    pub(crate) fn group_new(&mut self, parent: c_int) -> c_int {
        self.whole.group_new(parent)
    }

    /// The running task of `cpu`.
    pub(crate) fn curr(&mut self, cpu: c_int) -> c_int {
        self.whole.curr(cpu)
    }

    /// What went wrong since this was last asked, as the kernel says it; empty if nothing did.
    pub(crate) fn take_error(&mut self) -> String {
        self.whole.take_error()
    }

    /// Forgets what the kernel has asked of the rest of the machine, what it has looked at and counted.
    pub(crate) fn forget_events(&mut self) {
        self.whole.take_events(&mut self.events);
    }

    /// What the kernel has asked of the rest of the machine since this was last called or forgotten.
    pub(crate) fn take_events(&mut self) -> &[RawEvent] {
        self.whole.take_events(&mut self.events);
        &self.events
    }

    /// Whether the current task of `cpu` is to be rescheduled: 0 no, 1 lazily, 2 now.
    pub(crate) fn resched(&mut self, cpu: c_int) -> c_int {
        self.whole.resched(cpu)
    }

    /// `cpu` makes the calls that it was asked for.
    pub(crate) fn calls(&mut self, cpu: c_int) -> c_int {
        self.whole.calls(cpu)
    }

    /// Where a call that is started is suspended (`SIMSCHED_K_AT_*`).
    pub(crate) fn suspend_at(&mut self, places: c_uint) -> c_int {
        // SAFETY: a function of numbers, called under the rules of the module above.
        unsafe { (self.table.suspend_where)(places, 0) }
    }

    /// Starts a call of `cpu` that may be suspended: where it waits, 0 if it is over, negative if it failed.
    pub(crate) fn start(&mut self, slot: c_int, what: c_int, cpu: c_int) -> c_int {
        // SAFETY: a function of numbers, called under the rules of the module above.
        unsafe { (self.table.start_call)(slot, what, cpu, 0, 0) }
    }

    /// Goes on with a call, as [`ClassLevel::start`] does.
    pub(crate) fn resume(&mut self, slot: c_int) -> c_int {
        // SAFETY: as above.
        unsafe { (self.table.resume_call)(slot) }
    }

    /// Whose runqueue the suspended call waits for.
    pub(crate) fn slot_cpu(&mut self, slot: c_int) -> c_int {
        // SAFETY: as above; the slot is one that was started.
        unsafe { (self.table.cpu_of_slot)(slot) }
    }

    /// How many groups the suspended pass is about to sum up, and the CPUs in them; 0 if it reads one runqueue only.
    pub(crate) fn look(&mut self, slot: c_int, mask: &mut [u64]) -> c_int {
        let words = c_int::try_from(mask.len()).expect("few CPUs");
        // SAFETY: `unsigned long` has 64 bits where this is built, and there are as many words as is said.
        unsafe { (self.table.look_of)(slot, mask.as_mut_ptr().cast(), words) }
    }

    /// The CPUs at which the last choice of a CPU, or scan of cache-aware scheduling, has looked, how many groups it has summed up, and whether it has
    /// compared the waker's CPU with the previous one.
    pub(crate) fn looked(&mut self) -> (&[c_int], c_int, bool) {
        let (mut first, mut groups, mut affine) = (ptr::null(), 0, 0);
        // SAFETY: the library points at as many numbers as it says, which change with its next call, and that takes
        // `&mut self`.
        let cpus = unsafe {
            let count = (self.table.looked_at)(&raw mut first, &raw mut groups, &raw mut affine);
            match usize::try_from(count) {
                Ok(count @ 1..) if !first.is_null() => std::slice::from_raw_parts(first, count),
                _ => &[],
            }
        };
        (cpus, groups, affine != 0)
    }

    /// The CPUs of the domain of this level above `cpu`, and its name; none past the last.
    pub(crate) fn span(&mut self, cpu: c_int, level: c_int, mask: &mut [u64]) -> Option<String> {
        let words = c_int::try_from(mask.len()).expect("few CPUs");
        let (mut name, mut flags, mut groups) = (ptr::null(), 0, 0);
        // SAFETY: all live as long as the calls, there are as many words as is said, and the name is copied before the
        // next call.
        unsafe {
            let found = (self.table.span_of)(cpu, level, mask.as_mut_ptr().cast(), words);
            let size =
                (self.table.domain_of)(cpu, level, &raw mut name, &raw mut flags, &raw mut groups);
            (found == 0 && size > 0 && !name.is_null())
                .then(|| super::bounded(&CStr::from_ptr(name).to_string_lossy()))
        }
    }

    /// Switches a feature: `NAME` or `NO_NAME`.
    pub(crate) fn feature(&mut self, name: &str) -> c_int {
        let Ok(name) = CString::new(name) else { return -1 };
        // SAFETY: a text that ends and lives as long as the call.
        unsafe { (self.table.set_feature)(name.as_ptr()) }
    }

    /// The features of the scheduler, and which of them are on.
    pub(crate) fn features(&mut self) -> Vec<(String, bool)> {
        let mut name = ptr::null();
        let mut feature = |at| {
            // SAFETY: the name is a constant text, written where there is such a feature.
            unsafe {
                let on = (self.table.feature_at)(at, &raw mut name);
                (on >= 0).then(|| (super::text(name), on != 0))
            }
        };
        (0..).map_while(&mut feature).collect()
    }

    /// The numbers that the files of `/sys/kernel/debug/sched` set, in the order of their indices: name and value.
    pub(crate) fn knobs(&mut self) -> Vec<(String, u32)> {
        let mut name = ptr::null();
        let mut knob = |at| {
            // SAFETY: the name is a constant text, written where there is such a number.
            unsafe {
                let value = (self.table.knob_at)(at, &raw mut name);
                u32::try_from(value).ok().map(|value| (super::text(name), value))
            }
        };
        (0..).map_while(&mut knob).collect()
    }

    /// Sets the number of this name; false if the kernel has none.
    pub(crate) fn knob(&mut self, name: &str, value: u32) -> bool {
        let at = self.knobs().iter().position(|(known, _)| known == name);
        let at = at.and_then(|at| c_int::try_from(at).ok());
        // SAFETY: a function of numbers, called under the rules of the module above.
        at.is_some_and(|at| unsafe { (self.table.set_knob)(at, value) == 0 })
    }

    /// The running task of `cpu` lets others run first.
    pub(crate) fn yield_task(&mut self, cpu: c_int) -> c_int {
        // SAFETY: a function of numbers, called under the rules of the module above.
        unsafe { (self.table.yields)(cpu) }
    }

    /// Tells the CPUs on which a task may run, 64 of them in each word.
    pub(crate) fn affinity(&mut self, task: c_int, mask: &[u64]) -> c_int {
        let words = c_int::try_from(mask.len()).expect("few CPUs");
        // SAFETY: `unsigned long` has 64 bits where this is built, and there are as many words as is said.
        unsafe { (self.table.mask_of)(task, mask.as_ptr().cast(), words) }
    }

    /// What the kernel keeps of a task; none if there is no such task.
    pub(crate) fn task(&mut self, task: c_int) -> Option<RawTask> {
        let mut state = RawTask::default();
        // SAFETY: the structure is that of `simsched_kernel.h`, and lives as long as the call.
        let found = unsafe { (self.table.state_of_task)(task, &raw mut state) };
        (found == 0).then_some(state)
    }

    /// What the kernel keeps of a CPU.
    pub(crate) fn cpu(&mut self, cpu: c_int) -> RawCpu {
        let mut state = RawCpu::default();
        // SAFETY: as above; the caller names a CPU of the machine.
        unsafe { (self.table.state_of_cpu)(cpu, &raw mut state) };
        state
    }

    /// How many CPUs the domain of this level above `cpu` has; 0 past the last.
    pub(crate) fn domain(&mut self, cpu: c_int, level: c_int) -> c_int {
        let (mut name, mut flags, mut groups) = (ptr::null(), 0, 0);
        // SAFETY: all three live as long as the call, and are not read.
        unsafe {
            (self.table.domain_of)(cpu, level, &raw mut name, &raw mut flags, &raw mut groups)
        }
    }
}
