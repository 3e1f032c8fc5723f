//! The test that ends a build: whether a new library spreads tasks as every fair scheduler does.

use std::path::Path;

use crate::error::KernelError;
use crate::host::{Host, Shape};

/// Two nodes of two LLCs of two cores of two threads.
const SHAPE: Shape = Shape { cpus: 16, smt: 2, per_llc: 4, nodes: 2 };

/// A machine that was just made is not one that has run: a CPU that was never idle gets no fork. So each CPU has a
/// task for a while, and then the machine rests until that is forgotten.
const BUSY: u64 = 200_000_000;
const REST: u64 = 2_000_000_000;
/// What a fork takes.
const FORK: u64 = 140_000;
/// How long the tasks run.
const RUN: u64 = 800_000_000;

/// 16 tasks that compute on 16 CPUs: each has a CPU of its own, four in each LLC, and all of their time; nothing is
/// said, and no function called that nobody has; and another copy comes to the same.
///
/// # Errors
/// When it is not so, or the file is no library.
pub(crate) fn test(library: &Path) -> Result<(), KernelError> {
    let (first, second) = (spread(library)?, spread(library)?);
    if first != second {
        let what = format!("found {second:?} in a second copy, expected {first:?} as in the first");
        return Err(KernelError::library(library, what));
    }
    Ok(())
}

/// The CPUs of the tasks, how long each has run, and the switches.
fn spread(library: &Path) -> Result<(Vec<usize>, Vec<u64>, u64), KernelError> {
    let mut host = Host::new(library, SHAPE, 1)?;
    warm(&mut host)?;
    let parent = host.fork(0, None)?;
    let mut hogs = Vec::new();
    for _ in 0..SHAPE.cpus {
        if !host.run_until_current(parent)? {
            return Err(host.failed("found a task that waited a second for a CPU".to_owned()));
        }
        let cpu = host.cpu_of(parent);
        hogs.push(host.fork(cpu, None)?);
        host.run(host.now() + FORK)?;
    }
    if host.run_until_current(parent)? {
        host.end(parent)?;
    }
    let before: Vec<u64> = hogs.iter().map(|hog| host.runtime(*hog)).collect();
    host.run(host.now() + RUN)?;
    let cpus: Vec<usize> = hogs.iter().map(|hog| host.cpu_of(*hog)).collect();
    let ran = hogs.iter().zip(before).map(|(hog, before)| host.runtime(*hog) - before).collect();
    let llcs = (0..SHAPE.cpus / SHAPE.per_llc)
        .map(|llc| cpus.iter().filter(|cpu| *cpu / SHAPE.per_llc == llc).count());
    let llcs: Vec<usize> = llcs.collect();
    if llcs.iter().any(|tasks| *tasks != SHAPE.per_llc) {
        let what =
            format!("found {llcs:?} of 16 computing tasks in four LLCs, expected four in each");
        return Err(host.failed(what));
    }
    if let Some(stub) = host.stubs().into_iter().find(|stub| stub.calls > 0 && !stub.is_listed) {
        let what = format!("found a call of {}, which nobody has, expected none", stub.name);
        return Err(host.failed(what));
    }
    Ok((cpus, ran, host.switches))
}

fn warm(host: &mut Host) -> Result<(), KernelError> {
    let mut tasks = Vec::new();
    for cpu in 0..SHAPE.cpus {
        tasks.push(host.fork(cpu, Some(cpu))?);
    }
    host.run(BUSY)?;
    for task in tasks {
        host.end(task)?;
    }
    host.run(REST)
}
