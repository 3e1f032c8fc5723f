//! `Messages`: who holds the lines of a socket, and what moving them to the next user costs.

use simsched_topology::{CpuId, OsCosts, PackageId, Topology};

use super::overlap::Overlap;
use super::transfers::Transfers;

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
    overlap: Overlap,
}

impl Messages {
    /// `objects` ends of sockets that nobody has used.
    pub(crate) fn new(objects: usize, costs: &OsCosts) -> Messages {
        let unused = Holder { state: NOBODY, data: NOBODY, home: PackageId(0) };
        Messages {
            holders: vec![unused; objects],
            state_lines: costs.socket_state_lines,
            message_lines: costs.message_lines,
            overlap: Overlap::new(costs),
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
        let state = self.state_lines.saturating_mul(line(last));
        let Some(bytes) = read else {
            holder.data = cpu;
            return self.overlap.at_once(state);
        };
        let writer = holder.data;
        let lines = (self.message_lines, bytes);
        let message = self.overlap.message(topology, [writer, cpu], lines, line(writer));
        self.overlap.at_once(state.saturating_add(message))
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
