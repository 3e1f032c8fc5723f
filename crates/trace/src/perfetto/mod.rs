//! `PerfettoWriter`: a schedule as a Perfetto trace (`.pftrace`), for ui.perfetto.dev and its SQL.
//!
//! A trace is a list of packets. Events go into bundles by CPU, as Perfetto's own recorder puts them;
//! names and processes into process trees; counters into tracks. The numbers of the fields are those
//! of `protos/perfetto/trace/*.proto` of Perfetto.

mod events;
mod proto;

use std::io::{self, Write};

use self::proto::Message;
use crate::event::{Event, Sink, ThreadIx, Threads, What};

/// `Trace.packet`.
const PACKET: u32 = 1;

/// Fields of `TracePacket`.
mod packet {
    pub(super) const FTRACE_EVENTS: u32 = 1;
    pub(super) const PROCESS_TREE: u32 = 2;
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const SYSTEM_INFO: u32 = 45;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;
}

/// `TracePacket.SEQ_INCREMENTAL_STATE_CLEARED`: a sequence begins.
const SEQUENCE_BEGINS: u64 = 1;
/// `TrackEvent.TYPE_COUNTER`.
const TYPE_COUNTER: u64 = 4;
/// `TrackDescriptor.EXPLICIT`: tracks are shown by their `sibling_order_rank`.
const EXPLICIT: u64 = 3;
/// The sequence of the counters, whose packets are in the order of time.
const COUNTERS: u64 = 1;

/// A bundle is written when its events take so many bytes.
const BUNDLE_BYTES: usize = 4096;
/// All bundles are written when the first event in one of them is so many ns old: packets in the file
/// are out of order by no more than that.
const BUNDLE_NS: u64 = 100_000_000;

/// Writes a schedule as a Perfetto trace.
///
/// It keeps some kilobytes for each CPU and a bit for each thread, however long the schedule is.
#[derive(Debug)]
pub struct PerfettoWriter<W> {
    output: W,
    /// What is told of the kernel before all else; taken when that has been done.
    release: Option<String>,
    /// By CPU: the events of the bundle that is begun.
    bundles: Vec<Message>,
    /// When the first event of all begun bundles happened; none if there is none.
    since: Option<u64>,
    /// By thread: whether the trace knows its name and its process.
    known: Vec<bool>,
    /// The tracks of the counters that have come, by name and then by CPU: whether each is described.
    tracks: Vec<(&'static str, Vec<bool>)>,
    /// The packet that is being written.
    packet: Message,
}

impl<W: Write> PerfettoWriter<W> {
    /// A writer of a trace to `output`, which should have a buffer, of a kernel of this `release`, such
    /// as `6.1.0`; readers decode `prev_state` by it.
    pub fn new(output: W, release: &str) -> PerfettoWriter<W> {
        PerfettoWriter {
            output,
            release: Some(release.to_owned()),
            bundles: Vec::new(),
            since: None,
            known: Vec::new(),
            tracks: Vec::new(),
            packet: Message::default(),
        }
    }

    /// The output, for example after [`Sink::finish`].
    pub fn into_inner(self) -> W {
        self.output
    }

    /// Writes one packet.
    fn packet(&mut self, fields: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.packet.clear();
        self.packet.nested(PACKET, fields);
        self.output.write_all(self.packet.bytes())
    }

    /// Writes what comes before all else, once.
    fn begin(&mut self) -> io::Result<()> {
        let Some(release) = self.release.take() else { return Ok(()) };
        self.packet(|packet| {
            packet.nested(packet::SYSTEM_INFO, |system| {
                system.nested(1, |utsname| {
                    utsname.text(1, "Linux");
                    utsname.text(3, &release);
                });
            });
        })
    }

    fn write_bundle(&mut self, cpu: usize) -> io::Result<()> {
        let mut bundle = std::mem::take(&mut self.bundles[cpu]);
        if bundle.len() > 0 {
            self.packet(|packet| {
                packet.nested(packet::FTRACE_EVENTS, |fields| {
                    fields.uint(1, cpu as u64);
                    fields.append(&bundle);
                });
            })?;
        }
        bundle.clear();
        self.bundles[cpu] = bundle;
        Ok(())
    }

    fn write_all_bundles(&mut self) -> io::Result<()> {
        self.since = None;
        (0..self.bundles.len()).try_for_each(|cpu| self.write_bundle(cpu))
    }

    /// Tells the names and processes of those whom `event` names and the trace does not know yet.
    fn introduce(&mut self, threads: &Threads, event: &Event) -> io::Result<()> {
        let named = match event.what {
            What::Switch { prev, next, .. } => [prev, next],
            What::Waking { wakee, .. }
            | What::Wakeup { wakee, .. }
            | What::WakeupNew { wakee, .. } => [event.current, wakee],
            What::Migrate { task, .. } | What::Exit { task } => [event.current, task],
            // The child is introduced by the event itself.
            What::Fork { parent, child } => {
                self.meets(child);
                [event.current, parent]
            }
        };
        for ix in named {
            if self.meets(ix) {
                self.write_process_tree(threads, ix, event.time)?;
            }
        }
        Ok(())
    }

    /// Whether the trace did not know this thread until now.
    fn meets(&mut self, ix: ThreadIx) -> bool {
        let at = ix.0 as usize;
        if self.known.len() <= at {
            self.known.resize(at + 1, false);
        }
        !std::mem::replace(&mut self.known[at], true)
    }

    /// A thread that is older than the trace: its process, with the name of its first thread, and its
    /// own name. The idle tasks have one process and no name that depends on the CPU.
    fn write_process_tree(&mut self, threads: &Threads, ix: ThreadIx, at: u64) -> io::Result<()> {
        let thread = threads.get(ix);
        if thread.pid == 0 {
            return Ok(());
        }
        let leader = threads.all.iter().find(|other| other.pid == thread.tgid).unwrap_or(thread);
        self.packet(|packet| {
            packet.nested(packet::PROCESS_TREE, |tree| {
                tree.nested(1, |process| {
                    process.int(1, thread.tgid.into());
                    process.text(3, &leader.comm);
                });
                tree.nested(2, |entry| {
                    entry.int(1, thread.pid.into());
                    entry.text(2, &thread.comm);
                    entry.int(3, thread.tgid.into());
                });
            });
            packet.uint(packet::TIMESTAMP, at);
        })
    }

    /// The track of a counter of a CPU, which is described when it is new.
    fn track(&mut self, cpu: u32, name: &'static str) -> io::Result<u64> {
        let found = self.tracks.iter().position(|(known, _)| *known == name);
        let group = found.unwrap_or(self.tracks.len());
        let uuid = (group as u64 + 1) << 32;
        if found.is_none() {
            self.tracks.push((name, Vec::new()));
            let begins = if group == 0 { SEQUENCE_BEGINS } else { 0 };
            self.packet(|packet| {
                packet.uint(packet::TRUSTED_PACKET_SEQUENCE_ID, COUNTERS);
                packet.uint(packet::SEQUENCE_FLAGS, begins);
                packet.nested(packet::TRACK_DESCRIPTOR, |track| {
                    track.uint(1, uuid);
                    track.text(2, name);
                    track.uint(11, EXPLICIT);
                });
            })?;
        }
        let of_cpu = uuid + u64::from(cpu) + 1;
        let described = &mut self.tracks[group].1;
        if described.len() <= cpu as usize {
            described.resize(cpu as usize + 1, false);
        }
        if !std::mem::replace(&mut described[cpu as usize], true) {
            let title = format!("{name} of CPU {cpu}");
            self.packet(|packet| {
                packet.uint(packet::TRUSTED_PACKET_SEQUENCE_ID, COUNTERS);
                packet.nested(packet::TRACK_DESCRIPTOR, |track| {
                    track.uint(1, of_cpu);
                    track.text(2, &title);
                    track.uint(5, uuid);
                    track.nested(8, |_| {});
                    track.uint(12, cpu.into());
                });
            })?;
        }
        Ok(of_cpu)
    }
}

impl<W: Write> Sink for PerfettoWriter<W> {
    fn event(&mut self, threads: &Threads, event: &Event) -> io::Result<()> {
        self.begin()?;
        self.introduce(threads, event)?;
        if self.since.is_some_and(|since| event.time.saturating_sub(since) >= BUNDLE_NS) {
            self.write_all_bundles()?;
        }
        self.since.get_or_insert(event.time);
        let cpu = event.cpu as usize;
        if self.bundles.len() <= cpu {
            self.bundles.resize_with(cpu + 1, Message::default);
        }
        events::write(&mut self.bundles[cpu], threads, event);
        if self.bundles[cpu].len() >= BUNDLE_BYTES {
            self.write_bundle(cpu)?;
        }
        Ok(())
    }

    fn wants_counters(&self) -> bool {
        true
    }

    fn counter(&mut self, time: u64, cpu: u32, name: &'static str, value: u64) -> io::Result<()> {
        self.begin()?;
        let track = self.track(cpu, name)?;
        self.packet(|packet| {
            packet.uint(packet::TIMESTAMP, time);
            packet.uint(packet::TRUSTED_PACKET_SEQUENCE_ID, COUNTERS);
            packet.nested(packet::TRACK_EVENT, |event| {
                event.uint(9, TYPE_COUNTER);
                event.uint(11, track);
                event.uint(30, value);
            });
        })
    }

    fn finish(&mut self, _: &Threads, _: u64) -> io::Result<()> {
        self.begin()?;
        self.write_all_bundles()?;
        self.output.flush()
    }
}
