//! `trace.dat`, version 6: what `trace-cmd record` writes, and `trace-cmd report`, KernelShark and LISA read.
//!
//! Source: the manual pages trace-cmd.dat.v6(5) of trace-cmd 3.1.6, and the files `events/header_page`,
//! `events/header_event` and `events/sched/*/format` of tracefs.

mod formats;
mod page;

use std::fmt::Write as _;
use std::io::{self, Read, Seek, SeekFrom, Write};

use self::formats::{ALL, Format};
use self::page::Page;
use crate::event::{Event, Sink, Thread, Threads, What};
use crate::text::prev_state_bits;

/// Bytes of a name in an event (`TASK_COMM_LEN`).
const COMM: usize = 16;

/// What a file begins with: the magic bytes, the version, little endian, longs of 8 bytes.
const MAGIC: &[u8] = b"\x17\x08\x44tracing6\0\x00\x08";

/// Pages lie in the spill with the slot of the next page of the same CPU behind them.
const SLOT: usize = page::SIZE + 8;

/// Writes a `trace.dat`.
///
/// The file has the pages of each CPU in a row, so they are kept in a `spill` until the end: one page of
/// each CPU is in memory, however long the schedule is.
#[derive(Debug)]
pub struct TraceDat<W, S> {
    target: W,
    spill: S,
    cpus: Vec<Cpu>,
    /// The first slot of the spill that belongs to nobody.
    free: u64,
    data: Vec<u8>,
}

/// The pages of one CPU.
#[derive(Clone, Debug)]
struct Cpu {
    page: Page,
    /// Where the first page goes,
    first: u64,
    /// and the one that is being filled.
    slot: u64,
    /// How many are in the spill.
    pages: u64,
}

impl<W: Write, S: Read + Write + Seek> TraceDat<W, S> {
    /// Writes to `target` what is told of a machine with so many CPUs; `spill` is empty, and worth nothing
    /// afterwards.
    pub fn new(target: W, spill: S, nr_cpus: usize) -> TraceDat<W, S> {
        let mut file = TraceDat { target, spill, cpus: Vec::new(), free: 0, data: Vec::new() };
        file.has_cpus(nr_cpus);
        file
    }

    fn has_cpus(&mut self, nr_cpus: usize) {
        while self.cpus.len() < nr_cpus {
            let slot = self.free;
            self.cpus.push(Cpu { page: Page::empty(), first: slot, slot, pages: 0 });
            self.free += 1;
        }
    }

    /// The page of `cpu` is full, or the last one.
    fn spill(&mut self, cpu: usize) -> io::Result<()> {
        let row = &mut self.cpus[cpu];
        let mut bytes = row.page.take();
        bytes.extend(self.free.to_le_bytes());
        self.spill.seek(SeekFrom::Start(row.slot * SLOT as u64))?;
        self.spill.write_all(&bytes)?;
        row.slot = self.free;
        row.pages += 1;
        self.free += 1;
        Ok(())
    }

    /// All before the pages.
    fn head(&self, threads: &Threads) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.extend(length32(page::SIZE));
        for (name, text) in
            [("header_page\0", formats::HEADER_PAGE), ("header_event\0", formats::HEADER_EVENT)]
        {
            head.extend(name.bytes());
            sized(&mut head, text);
        }
        // No events of ftrace's own; one system, and its events.
        head.extend(length32(0));
        head.extend(length32(1));
        head.extend(b"sched\0");
        head.extend(length32(ALL.len()));
        ALL.iter().for_each(|format| sized(&mut head, &format.text()));
        // Neither addresses of functions nor texts of trace_printk().
        head.extend(length32(0));
        head.extend(length32(0));
        sized(&mut head, &commands(threads));
        head.extend(length32(self.cpus.len()));
        // No options.
        head.extend(b"options  \0\0\0flyrecord\0");
        head
    }

    /// Where the pages of each CPU are in the file, and how many bytes they have.
    fn places(&self, head: usize) -> Vec<u8> {
        let mut places = Vec::with_capacity(16 * self.cpus.len());
        let mut offset = (head + 16 * self.cpus.len()).next_multiple_of(page::SIZE) as u64;
        for cpu in &self.cpus {
            let size = cpu.pages * page::SIZE as u64;
            places.extend(offset.to_le_bytes());
            places.extend(size.to_le_bytes());
            offset += size;
        }
        places
    }

    /// All pages of a CPU, from the spill.
    fn copy(&mut self, cpu: usize) -> io::Result<()> {
        let Cpu { first: mut slot, pages, .. } = self.cpus[cpu];
        let mut bytes = vec![0; SLOT];
        for _ in 0..pages {
            self.spill.seek(SeekFrom::Start(slot * SLOT as u64))?;
            self.spill.read_exact(&mut bytes)?;
            let (page, next) = bytes.split_at(page::SIZE);
            self.target.write_all(page)?;
            slot = u64::from_le_bytes(next.try_into().unwrap_or_default());
        }
        Ok(())
    }
}

impl<W: Write, S: Read + Write + Seek> Sink for TraceDat<W, S> {
    fn event(&mut self, threads: &Threads, event: &Event) -> io::Result<()> {
        let cpu = event.cpu as usize;
        self.has_cpus(cpu + 1);
        fill(&mut self.data, threads, event);
        if !self.cpus[cpu].page.has_room(event.time, self.data.len()) {
            self.spill(cpu)?;
        }
        self.cpus[cpu].page.push(event.time, &self.data);
        Ok(())
    }

    fn finish(&mut self, threads: &Threads, _: u64) -> io::Result<()> {
        for cpu in 0..self.cpus.len() {
            if !self.cpus[cpu].page.is_empty() {
                self.spill(cpu)?;
            }
        }
        let mut head = self.head(threads);
        head.extend(self.places(head.len()));
        head.resize(head.len().next_multiple_of(page::SIZE), 0);
        self.target.write_all(&head)?;
        for cpu in 0..self.cpus.len() {
            self.copy(cpu)?;
        }
        self.target.flush()
    }
}

/// The bytes of an event, as the formats have them.
fn fill(data: &mut Vec<u8>, threads: &Threads, event: &Event) {
    let format: &Format = match event.what {
        What::Switch { .. } => &formats::SWITCH,
        What::Waking { .. } => &formats::WAKING,
        What::Wakeup { .. } => &formats::WAKEUP_OLD,
        What::WakeupNew { .. } => &formats::WAKEUP_NEW,
        What::Migrate { .. } => &formats::MIGRATE,
        What::Fork { .. } => &formats::FORK,
        What::Exit { .. } => &formats::EXIT,
    };
    data.clear();
    data.extend(format.id.to_le_bytes());
    // No flags are known, and no depth of preemption.
    data.extend([0, 0]);
    data.extend(threads.get(event.current).pid.to_le_bytes());
    let name = |data: &mut Vec<u8>, thread: &Thread| {
        let mut comm = [0; COMM];
        let end = thread.comm.len().min(COMM - 1);
        comm[..end].copy_from_slice(&thread.comm.as_bytes()[..end]);
        data.extend(comm);
        data.extend(thread.pid.to_le_bytes());
    };
    let who = |data: &mut Vec<u8>, thread: &Thread| {
        name(data, thread);
        data.extend(thread.prio.to_le_bytes());
    };
    match event.what {
        What::Switch { prev, prev_state, next } => {
            who(data, threads.get(prev));
            data.extend(prev_state_bits(prev_state).to_le_bytes());
            who(data, threads.get(next));
        }
        What::Waking { wakee, target_cpu, .. }
        | What::Wakeup { wakee, target_cpu }
        | What::WakeupNew { wakee, target_cpu } => {
            who(data, threads.get(wakee));
            data.extend(target_cpu.to_le_bytes());
        }
        What::Migrate { task, orig_cpu, dest_cpu } => {
            who(data, threads.get(task));
            data.extend(orig_cpu.to_le_bytes());
            data.extend(dest_cpu.to_le_bytes());
        }
        What::Fork { parent, child } => {
            name(data, threads.get(parent));
            name(data, threads.get(child));
        }
        What::Exit { task } => who(data, threads.get(task)),
    }
}

/// The names of all threads but the idle tasks, as the file `saved_cmdlines` has them.
fn commands(threads: &Threads) -> String {
    let mut text = String::new();
    for thread in threads.all.iter().filter(|thread| thread.pid != 0) {
        // A string cannot fail to grow.
        let _ = writeln!(text, "{} {}", thread.pid, thread.comm);
    }
    text
}

/// A text behind its length in 8 bytes.
fn sized(head: &mut Vec<u8>, text: &str) {
    head.extend((text.len() as u64).to_le_bytes());
    head.extend(text.bytes());
}

/// A length in 4 bytes.
fn length32(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}
