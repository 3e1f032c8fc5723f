//! `Messages`: who holds the lines of a socket, and what moving them to the next user costs.

use simsched_topology::{CpuId, Distance, OsCosts, PackageId, Topology};

use super::divisor::Divisor;
use super::transfers::Transfers;

/// Bytes of a cache line.
const LINE: u32 = 64;

/// Lines of a message's bytes that are read one after the other; what follows is a copy of many,
/// whose accesses do not wait for each other.
const FIRST_LINES: u32 = 2;

/// No CPU: nobody has used an object.
const NOBODY: CpuId = CpuId(u16::MAX);

/// Who used an object last.
#[derive(Clone, Copy, Debug)]
struct Holder {
    /// Whose core has the object itself and its lock.
    state: CpuId,
    /// Whose core has what was written last; somebody if `state` is.
    data: CpuId,
    /// Where its memory is: with who used it first.
    home: PackageId,
}

/// The sockets through which tasks send messages.
///
/// ```text
/// cost = lines * transfer(last user, this user, home) / overlap
/// ```
///
/// The state moves when another core used the socket last; a message, when another core wrote it.
/// Source: section 4 of the cost model, 8 to 12 lines for 100 bytes. Of a socket its lock, queue, wait
/// queue and accounts move, the sender's account, the buffer that the other side gave back; beside the
/// bytes comes the `sk_buff`.
#[derive(Clone, Debug)]
pub(crate) struct Messages {
    holders: Vec<Holder>,
    state_lines: u32,
    message_lines: u32,
    overlap_pct: u32,
    overlap: Divisor,
    /// The same for the many lines of a long message, within an LLC and beyond.
    copy_overlap_pct: [u32; 2],
}

impl Messages {
    /// `objects` ends of sockets that nobody has used.
    pub(crate) fn new(objects: usize, costs: &OsCosts) -> Messages {
        let unused = Holder { state: NOBODY, data: NOBODY, home: PackageId(0) };
        Messages {
            holders: vec![unused; objects],
            state_lines: costs.socket_state_lines,
            message_lines: costs.message_lines,
            overlap_pct: costs.message_overlap_pct.max(100),
            overlap: Divisor::new(costs.message_overlap_pct.max(100)),
            copy_overlap_pct: [costs.dirty_overlap_near_pct, costs.dirty_overlap_far_pct],
        }
    }

    /// `cpu` uses `object` to write, or to read `read` bytes: what the lines take to come, ns.
    #[inline(always)]
    pub(crate) fn used(
        &mut self,
        topology: &Topology,
        transfers: &Transfers,
        object: usize,
        cpu: CpuId,
        read: Option<u32>,
    ) -> u64 {
        let holder = &mut self.holders[object];
        let last = std::mem::replace(&mut holder.state, cpu);
        if last == NOBODY {
            (holder.data, holder.home) = (cpu, topology.package_of(cpu));
            return 0;
        }
        let home = holder.home;
        let line = |from: CpuId| if from == cpu { 0 } else { transfers.ns(from, cpu, home) };
        let from_last = line(last);
        let state = self.state_lines.saturating_mul(from_last);
        let Some(bytes) = read else {
            holder.data = cpu;
            return self.at_once(state);
        };
        let writer = holder.data;
        let from_writer = if writer == last { from_last } else { line(writer) };
        if from_writer == 0 {
            return self.at_once(state);
        }
        let all = bytes.div_ceil(LINE);
        let first = all.min(FIRST_LINES);
        let message = (self.message_lines + first).saturating_mul(from_writer);
        let mut ns = state.saturating_add(message);
        if all > first {
            let near = topology.distance_class(writer, cpu) <= Distance::SameLlc;
            ns = ns.saturating_add(self.copy((all - first).saturating_mul(from_writer), near));
        }
        self.at_once(ns)
    }

    /// What lines take to come that do not wait for each other, if one after the other they take `ns`.
    #[inline(always)]
    fn at_once(&self, ns: u32) -> u64 {
        self.overlap.divide(u64::from(ns) * 100)
    }

    /// The many lines of a long message, as if they overlapped like a few.
    #[cold]
    fn copy(&self, ns: u32, near: bool) -> u32 {
        let copied = self.copy_overlap_pct[usize::from(!near)].max(self.overlap_pct);
        let ns = u64::from(ns) * u64::from(self.overlap_pct) / u64::from(copied);
        u32::try_from(ns).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As counted in the lab's kernel for a request and its response over UDP on two cores: some twenty
    /// lines each way, of which eight to twelve go to the receiver.
    #[test]
    fn a_datagram_moves_twenty_lines_between_two_cores() {
        let topology = Topology::builtin("icelake", None).unwrap();
        let transfers = Transfers::new(&topology);
        let mut messages = Messages::new(1, topology.costs());
        let mut used = |cpu, read| {
            let ns = messages.used(&topology, &transfers, 0, CpuId(cpu), read);
            (ns * 125 / 100 + 25) / 51
        };
        used(0, None);
        used(1, Some(1));
        let (sent, received) = (used(0, None), used(1, Some(1)));
        assert!((18..=22).contains(&(sent + received)), "{sent} + {received}");
        assert!((8..=12).contains(&received), "{received}");
    }

    /// 1 MiB of 16,384 lines, two of them first: on Genoa at 27 ns and twice at once within an LLC,
    /// at 192 ns and three times at once between the sockets.
    #[test]
    fn the_lines_of_a_long_message_come_several_at_once() {
        let topology = Topology::builtin("genoa", None).unwrap();
        let transfers = Transfers::new(&topology);
        for (reader, line, at_once) in [(1, 27, 2), (96, 192, 3)] {
            let mut messages = Messages::new(1, topology.costs());
            let mut used = |cpu, read| messages.used(&topology, &transfers, 0, CpuId(cpu), read);
            used(0, None);
            let long = used(reader, Some(1 << 20));
            let want = 16_382 * line / at_once;
            assert!((want..want + want / 50).contains(&long), "{long} for {want}");
        }
    }

    #[test]
    fn a_batch_moves_the_socket_once_and_each_message() {
        let topology = Topology::builtin("icelake", None).unwrap();
        let transfers = Transfers::new(&topology);
        let mut messages = Messages::new(1, topology.costs());
        let mut used = |cpu, read| messages.used(&topology, &transfers, 0, CpuId(cpu), read);
        used(0, None);
        assert_eq!(used(0, None), 0);
        let lines = 51 * 100 / 125;
        let first = used(1, Some(100));
        let next = used(1, Some(100));
        assert!((lines * 4..lines * 4 + 4).contains(&next), "{next}: the bytes and the sk_buff");
        assert!((lines * 8..lines * 8 + 8).contains(&(first - next)), "{first}");
    }
}
