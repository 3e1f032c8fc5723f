//! What is known of the hardware beside its shape: latencies, transfers, bandwidth, clocks, caches.
//!
//! Typed tables, one field for each number that a machine file may hold; a number that nobody has
//! measured or estimated is `None`. The unit stands in the field's doc.

use crate::error::TopologyError;
use crate::fact::Fact;
use crate::spec::reader::Table;

macro_rules! facts {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: Option<Fact>,)*
        }

        impl $name {
            /// The keys of this table in a machine file.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($field)),*];

            /// The numbers that are known, with their keys.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Fact)> {
                [$((stringify!($field), self.$field.as_ref())),*]
                    .into_iter()
                    .filter_map(|(name, fact)| Some((name, fact?)))
            }

            pub(crate) fn read(table: Option<&Table<'_>>) -> Result<Self, TopologyError> {
                let Some(table) = table else { return Ok(Self::default()) };
                table.only(Self::NAMES)?;
                Ok(Self { $($field: table.get(stringify!($field)).map(|i| i.fact()).transpose()?,)* })
            }
        }
    };
}

facts! {
    /// `[frequency_ghz]`: core clocks.
    Frequency {
        /// The guaranteed clock.
        base,
        /// The highest clock with one or two cores busy.
        max_1core,
        /// The clock with all cores busy.
        allcore,
    }
}

facts! {
    /// `[cache_kib]`: sizes of the caches.
    Cache {
        /// First-level data cache of a core.
        l1d,
        /// First-level instruction cache of a core.
        l1i,
        /// Second-level cache of a core.
        l2,
        /// The whole L3 that hardware shares, before any cut at a NUMA node.
        l3,
    }
}

facts! {
    /// `[latency_ns]`: load-to-use latency of dependent loads.
    Latency {
        /// First-level cache.
        l1,
        /// Second-level cache.
        l2,
        /// Third-level cache.
        l3,
        /// Memory of the same node.
        dram_local,
        /// Memory of another socket.
        dram_remote,
        /// Memory of another quadrant of the socket in NPS4.
        dram_nps4_other_quadrant,
    }
}

facts! {
    /// `[c2c_ns]`: moving a modified cache line from one CPU to another, one way.
    CacheToCache {
        /// To the SMT sibling.
        smt,
        /// Behind the same LLC.
        same_llc,
        /// Power10: to the other small core of the same SMT8 core.
        same_core_other_half,
        /// To another LLC of the same quadrant.
        same_socket_same_quadrant,
        /// To another LLC of the same socket.
        same_socket,
        /// To another LLC of the same socket, when the line's home is the other socket.
        same_socket_home_remote,
        /// To the other socket.
        cross_socket,
        /// To the other socket, worst pair.
        cross_socket_worst,
        /// Memory Latency Checker, hit modified, same socket.
        mlc_hitm_same_socket,
        /// Memory Latency Checker, hit modified, other socket.
        mlc_hitm_cross_socket,
        /// The same, line homed at the writer.
        mlc_hitm_cross_home_writer,
        /// The same, line homed at the reader.
        mlc_hitm_cross_home_reader,
    }
}

facts! {
    /// `[bandwidth_gbs]`: 10^9 bytes a second, unless the field says otherwise.
    Bandwidth {
        /// Theoretical, all channels of a socket.
        peak_per_socket,
        /// Theoretical, all channels of a chip.
        peak_per_chip,
        /// Reading, all cores of a socket.
        read_per_socket,
        /// STREAM triad, all cores of a socket.
        triad_per_socket,
        /// STREAM triad of one node with two memory channels.
        triad_two_channel_node,
        /// STREAM triad with one thread behind each LLC, per thread.
        triad_one_thread_per_llc,
        /// Reading, one core.
        single_core_read,
        /// Reading and writing back, one core.
        single_core_rmw,
        /// Reading the other socket's memory, one core.
        single_core_read_remote,
        /// Reading the other socket's memory, all cores.
        cross_socket_read,
        /// Reading, all cores of one SNC4 node.
        per_snc4_node_read,
        /// Reading memory, all cores behind one LLC.
        per_llc_read,
        /// The same by the width of the link.
        per_llc_read_theoretical,
        /// Writing over reading through one LLC's link, a ratio.
        per_llc_write_ratio,
        /// Reading the L3, one core.
        l3_single_core_read,
        /// Reading the L3, all cores behind it.
        l3_per_llc_read,
        /// Memory channels per socket, a count.
        channels,
        /// Memory transfers in 10^6 a second.
        mts,
    }
}

/// `[smt]`: how fast the threads of one core are together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Smt {
    /// The speed of a thread while its one sibling is busy, 1 being alone.
    pub sibling_busy: Option<Fact>,
    /// Throughput of a core with this many busy threads, 1 being one thread; in increasing order.
    pub throughput: Vec<(usize, Fact)>,
}

impl Smt {
    /// The speed of each thread in thousandths while `busy` threads of the core run.
    ///
    /// With a throughput table it is the throughput, interpolated on a line, shared equally.
    /// Without any number the threads do not disturb each other.
    #[must_use]
    pub fn rate_milli(&self, busy: usize) -> u64 {
        if busy <= 1 {
            return 1000;
        }
        match &self.sibling_busy {
            Some(fact) => fact.milli,
            None => self.throughput_milli(busy) / busy as u64,
        }
    }

    fn throughput_milli(&self, busy: usize) -> u64 {
        let above = self.throughput.iter().position(|(threads, _)| *threads >= busy);
        match above {
            Some(i) if self.throughput[i].0 == busy || i == 0 => self.throughput[i].1.milli,
            Some(i) => {
                let ((x0, y0), (x1, y1)) = (&self.throughput[i - 1], &self.throughput[i]);
                y0.milli + (y1.milli - y0.milli) * (busy - x0) as u64 / (x1 - x0) as u64
            }
            None => self.throughput.last().map_or(busy as u64 * 1000, |(_, fact)| fact.milli),
        }
    }
}

/// An idle state with the ranges of its numbers; see [`crate::IdleState`] for the values in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleFacts {
    /// The name that cpuidle shows.
    pub name: String,
    /// Advertised exit latency in microseconds.
    pub exit_us: Fact,
    /// Measured exit latency in microseconds.
    pub measured_exit_us: Option<Fact>,
    /// Target residency in microseconds.
    pub residency_us: Fact,
    /// Whether the machine uses it; false for states known but not offered in this setting.
    pub enabled: bool,
}

/// Everything known of a machine's hardware beside its shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Who makes it.
    pub vendor: String,
    /// The microarchitecture.
    pub uarch: String,
    /// The model.
    pub model: String,
    /// Bytes of a cache line.
    pub line_bytes: usize,
    /// KiB of a memory page.
    pub page_kib: usize,
    /// Core clocks.
    pub frequency_ghz: Frequency,
    /// Cache sizes.
    pub cache_kib: Cache,
    /// Load latencies.
    pub latency_ns: Latency,
    /// The average memory latency when the firmware interleaves all memory, in nanoseconds.
    pub dram_average_ns: Option<Fact>,
    /// Cache-line transfers.
    pub c2c_ns: CacheToCache,
    /// Bandwidths.
    pub bandwidth_gbs: Bandwidth,
    /// Simultaneous multithreading.
    pub smt: Smt,
    /// All idle states known, in use or not.
    pub idle: Vec<IdleFacts>,
}
