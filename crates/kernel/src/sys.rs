//! The border to a library: the only `unsafe` of this crate.
//!
//! Its rules:
//! - A [`Loaded`] is the only way to a library. It has a private copy of the file in memory, so its variables are its
//!   own, and two of them share nothing.
//! - All calls take `&mut self`: one at a time, and none while another one runs. A library starts no thread, keeps no
//!   thread's variables and calls nothing back, so a `Loaded` may go from one thread to another.
//! - Functions of numbers are called as they are declared in `shim/simsched_kernel.h`. Pointers that are handed in
//!   live as long as the call; what a library points at is copied before the next call.
//! - A function is called only if the file has all of them and the version of the interface is ours. That a file
//!   which says so keeps to it, nobody can test: a library is a program, and loading one trusts it as running one
//!   does.

#![expect(unsafe_code, reason = "a library of C is called here, and nowhere else")]

mod class;

use std::ffi::{CStr, c_char, c_int, c_ulong, c_ulonglong};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::ptr;

use libloading::Library;

pub(crate) use self::class::ClassLevel;

use crate::error::KernelError;

/// The version of the interface that this crate speaks.
pub(crate) const ABI: i32 = 8;

/// A library is a million bytes.
const MOST_BYTES: u64 = 64 << 20;

/// A machine, as the library is told it. One entry for each CPU in `core`, `llc` and `node`; `distance` is
/// `nodes * nodes`, 10 on the diagonal.
#[derive(Clone, Debug)]
pub(crate) struct RawMachine<'a> {
    pub(crate) nodes: usize,
    /// Threads of a core.
    pub(crate) smt: usize,
    /// The distance above which nodes are far; 0 is the usual one.
    pub(crate) reclaim: u32,
    /// Nodes are parts of packages, of which there is no level of domains then.
    pub(crate) parts: bool,
    pub(crate) core: &'a [c_int],
    pub(crate) llc: &'a [c_int],
    pub(crate) node: &'a [c_int],
    pub(crate) distance: &'a [c_int],
}

/// `struct simsched_k_machine`.
#[repr(C)]
struct CMachine {
    cpus: c_int,
    nodes: c_int,
    smt: c_int,
    reclaim: c_int,
    parts: c_int,
    core: *const c_int,
    cluster: *const c_int,
    llc: *const c_int,
    node: *const c_int,
    distance: *const c_int,
}

/// `struct simsched_k_event`: what the kernel has asked of the rest of the machine.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawEvent {
    pub(crate) kind: c_int,
    pub(crate) cpu: c_int,
    pub(crate) task: c_int,
    pub(crate) arg: c_int,
    pub(crate) when: c_ulonglong,
}

/// A function of the kernel that nobody has, and how often it was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stub {
    /// Its name.
    pub name: String,
    /// How often it was called.
    pub calls: u64,
    /// It may be called: 0 is the right answer.
    pub is_listed: bool,
}

macro_rules! interface {
    (
        numbers { $(fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)* }
        others { $(fn $other:ident($($other_ty:ty),*) $(-> $other_ret:ty)?;)* }
    ) => {
        /// The functions of a library.
        struct Table {
            $($name: unsafe extern "C" fn($($ty),*) -> $ret,)*
            $($other: unsafe extern "C" fn($($other_ty),*) $(-> $other_ret)?,)*
        }

        impl Table {
            fn of(library: &Library) -> Result<Table, libloading::Error> {
                // SAFETY: the types are those of `simsched_kernel.h`.
                unsafe {
                    Ok(Table {
                        $($name: *library.get(concat!("simsched_k_", stringify!($name)).as_bytes())?,)*
                        $($other: *library.get(concat!("simsched_k_", stringify!($other)).as_bytes())?,)*
                    })
                }
            }
        }

        impl Loaded {
            $(
                pub(crate) fn $name(&mut self, $($arg: $ty),*) -> $ret {
                    // SAFETY: a function of numbers, called under the rules above.
                    unsafe { (self.table.$name)($($arg),*) }
                }
            )*
        }
    };
}

interface! {
    numbers {
        fn abi() -> c_int;
        fn hz() -> c_int;
        fn time(now: c_ulonglong, ticks: c_ulonglong) -> c_int;
        fn proc_new() -> c_int;
        fn fork(cpu: c_int, process: c_int, nice: c_int, group: c_int, policy: c_int) -> c_int;
        fn group_new(parent: c_int) -> c_int;
        fn wake_new(cpu: c_int, task: c_int) -> c_int;
        fn schedule(cpu: c_int, how: c_int) -> c_int;
        fn tick(cpu: c_int) -> c_int;
        fn softirq(cpu: c_int) -> c_int;
        fn calls(cpu: c_int) -> c_int;
        fn work(cpu: c_int) -> c_int;
        fn stop(cpu: c_int) -> c_int;
        fn timer(cpu: c_int, timer: c_int) -> c_int;
        fn idle_enter(cpu: c_int, polls: c_int, tickless: c_int) -> c_int;
        fn idle_exit(cpu: c_int) -> c_int;
        fn resched(cpu: c_int) -> c_int;
        fn curr(cpu: c_int) -> c_int;
        fn task_cpu(task: c_int) -> c_int;
        fn runtime(task: c_int) -> c_ulonglong;
    }
    others {
        fn create(*const CMachine, c_ulonglong) -> c_int;
        fn release() -> *const c_char;
        fn built_of(c_int, *mut *const c_char) -> *const c_char;
        fn error() -> *const c_char;
        fn error_clear();
        fn events(*mut *const RawEvent) -> c_int;
        fn reset();
        fn destroy();
        fn affinity(c_int, c_int, *const c_ulong, c_int) -> c_int;
        fn stubs(c_int, *mut *const c_char, *mut c_ulonglong, *mut c_int) -> c_int;
    }
}

/// A copy of a library of its own.
pub(crate) struct Loaded {
    table: Table,
    /// Unmapped last.
    _library: Library,
}

impl Loaded {
    /// Loads a private copy of the library in this file.
    ///
    /// # Errors
    /// When it cannot be read, is no library, or speaks another version of the interface.
    pub(crate) fn open(path: &Path) -> Result<Loaded, KernelError> {
        let found = fs::metadata(path).map_err(|error| KernelError::file(path, error))?;
        if !found.is_file() || found.len() > MOST_BYTES {
            let what = "found no plain file of at most 64 MiB, expected a library of `simsched kernel build`";
            return Err(KernelError::library(path, what.to_owned()));
        }
        let bytes = fs::read(path).map_err(|error| KernelError::file(path, error))?;
        let copied = || {
            let mut copy = tempfile::NamedTempFile::new()?;
            copy.write_all(&bytes)?;
            Ok(copy)
        };
        let copy = copied().map_err(|error| KernelError::file(&std::env::temp_dir(), error))?;
        let at = format!("{}: ", copy.path().display());
        let wrong = |error: libloading::Error| {
            let found = bounded(&error.to_string().replace(&at, ""));
            let what = format!("found {found}, expected a library of `simsched kernel build`");
            KernelError::library(path, what)
        };
        // SAFETY: see the last rule; the file loses its name with `copy`, and stays as long as it is mapped.
        let library = unsafe { Library::new(copy.path()) }.map_err(wrong)?;
        let table = Table::of(&library).map_err(wrong)?;
        let mut loaded = Loaded { table, _library: library };
        match loaded.abi() {
            ABI => Ok(loaded),
            abi => {
                let what =
                    format!("found version {abi} of the interface, expected {ABI}: build it again");
                Err(KernelError::library(path, what))
            }
        }
    }

    /// Makes the machine; 0, or a negative number of an error.
    pub(crate) fn create(&mut self, machine: &RawMachine<'_>, seed: u64) -> i32 {
        let cpus = machine.core.len();
        assert!(
            machine.llc.len() == cpus
                && machine.node.len() == cpus
                && machine.distance.len() == machine.nodes * machine.nodes,
            "one entry for each CPU, one for each pair of nodes"
        );
        let number = |n: usize| c_int::try_from(n).unwrap_or(c_int::MAX);
        let machine = CMachine {
            cpus: number(cpus),
            nodes: number(machine.nodes),
            smt: number(machine.smt),
            reclaim: c_int::try_from(machine.reclaim).unwrap_or(c_int::MAX),
            parts: c_int::from(machine.parts),
            core: machine.core.as_ptr(),
            cluster: ptr::null(),
            llc: machine.llc.as_ptr(),
            node: machine.node.as_ptr(),
            distance: machine.distance.as_ptr(),
        };
        // SAFETY: the lengths of the slices were tested, and they live as long as the call.
        unsafe { (self.table.create)(&raw const machine, seed) }
    }

    /// The release of the tree.
    pub(crate) fn release(&mut self) -> String {
        // SAFETY: a constant text.
        unsafe { text((self.table.release)()) }
    }

    /// What it was built of, by name: its release, and hashes of the sources, the configuration and the shim.
    pub(crate) fn built_of(&mut self) -> Vec<(String, String)> {
        let one = |index: c_int| {
            let mut name = ptr::null();
            // SAFETY: constant texts; the name is written before anything but null is returned.
            unsafe {
                let found = (self.table.built_of)(index, &raw mut name);
                (!found.is_null()).then(|| (text(name), text(found)))
            }
        };
        (0..).map_while(one).collect()
    }

    /// What went wrong since this was last asked, as the kernel says it; empty if nothing did.
    pub(crate) fn take_error(&mut self) -> String {
        // SAFETY: the text is copied before it is cleared.
        unsafe {
            let said = text((self.table.error)());
            (self.table.error_clear)();
            said
        }
    }

    /// Takes what the kernel has asked for since this was last called.
    pub(crate) fn take_events(&mut self, events: &mut Vec<RawEvent>) {
        events.clear();
        let mut first = ptr::null();
        // SAFETY: the library points at as many events as it says, until the reset.
        unsafe {
            let count = (self.table.events)(&raw mut first);
            if let (false, Ok(count @ 1..)) = (first.is_null(), usize::try_from(count)) {
                events.extend_from_slice(std::slice::from_raw_parts(first, count));
            }
            (self.table.reset)();
        }
    }

    /// Confines a task to CPUs, 64 of them in each word.
    pub(crate) fn affinity(&mut self, cpu: c_int, task: c_int, mask: &[u64]) -> i32 {
        let words = c_int::try_from(mask.len()).expect("few CPUs");
        // SAFETY: `unsigned long` has 64 bits where this is built, and there are as many words as is said.
        unsafe { (self.table.affinity)(cpu, task, mask.as_ptr().cast(), words) }
    }

    /// The functions that nobody has.
    pub(crate) fn stubs(&mut self) -> Vec<Stub> {
        let one = |index: c_int| {
            let (mut name, mut calls, mut listed) = (ptr::null(), 0, 0);
            // SAFETY: all three are written before anything but 0 is returned.
            unsafe {
                let found =
                    (self.table.stubs)(index, &raw mut name, &raw mut calls, &raw mut listed);
                (found != 0).then(|| Stub { name: text(name), calls, is_listed: listed != 0 })
            }
        };
        (0..).map_while(one).collect()
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: gives back the memory of the machine; nothing is called behind it.
        unsafe { (self.table.destroy)() }
    }
}

/// # Safety
/// `at` is null, or points at a text that ends and does not change meanwhile.
unsafe fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: the caller's.
    bounded(&unsafe { CStr::from_ptr(at) }.to_string_lossy())
}

/// The first 2,000 characters.
fn bounded(text: &str) -> String {
    text.trim_end().chars().take(2000).collect()
}
