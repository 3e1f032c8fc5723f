//! `Transfers`: how long a cache line takes from one core to another, by distance and home.

use simsched_topology::{CpuId, Distance, PackageId, Topology};

/// The transfers of a machine, one way, in nanoseconds.
///
/// Inside an LLC the home of a line does not matter. Between the LLCs of one socket it does where
/// the request goes through the home's memory controller: on AMD a line whose memory is in the other
/// socket costs as if its owner were there. Between sockets a line whose memory is at the requester
/// takes longer on Intel. Source: `[c2c_ns]` of the machine and what is said there.
#[derive(Clone, Debug)]
pub(crate) struct Transfers {
    by_distance: [u32; Distance::ALL.len()],
    /// To another LLC of the socket, when the line's home is another socket.
    home_remote: u32,
    /// To another socket, when the line's home is that socket.
    home_reader: u32,
}

impl Transfers {
    pub(crate) fn new(topology: &Topology) -> Transfers {
        let by_distance = Distance::ALL.map(|distance| topology.line_transfer_ns(distance));
        let cross = by_distance[Distance::CrossSocket.idx()];
        let known = topology.facts().c2c_ns.same_socket_home_remote.as_ref();
        let home_remote = known.map_or(by_distance[Distance::SameSocket.idx()], |fact| {
            u32::try_from(fact.rounded()).unwrap_or(u32::MAX)
        });
        let percent = u64::from(topology.costs().line_home_reader_pct.max(100));
        let home_reader = u64::from(cross) * percent / 100;
        let home_reader = u32::try_from(home_reader).unwrap_or(u32::MAX);
        Transfers { by_distance, home_remote, home_reader }
    }

    /// Nothing takes any time.
    pub(crate) fn free() -> Transfers {
        Transfers { by_distance: [0; Distance::ALL.len()], home_remote: 0, home_reader: 0 }
    }

    /// Whether no transfer takes any time.
    pub(crate) fn is_free(&self) -> bool {
        self.by_distance.iter().all(|ns| *ns == 0)
    }

    /// A modified line whose memory is in the package `home` goes from `from` to `to`; 0 on the same
    /// CPU.
    #[inline]
    pub(crate) fn ns(&self, topology: &Topology, from: CpuId, to: CpuId, home: PackageId) -> u32 {
        let distance = topology.distance_class(from, to);
        match distance {
            Distance::SameNode | Distance::SameSocket if topology.package_of(to) != home => {
                self.home_remote
            }
            Distance::CrossSocket if topology.package_of(to) == home => self.home_reader,
            _ => self.by_distance[distance.idx()],
        }
    }

    /// The same without a home: by distance only.
    #[inline]
    pub(crate) fn at(&self, distance: Distance) -> u32 {
        self.by_distance[distance.idx()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(machine: &str) -> (Topology, Transfers) {
        let topology = Topology::builtin(machine, None).unwrap();
        let transfers = Transfers::new(&topology);
        (topology, transfers)
    }

    /// Section 6 of the facts: EPYC 9654, 9454 (pairs of the socket where the line does not live).
    #[test]
    fn on_amd_two_llcs_of_a_socket_pay_the_other_socket_when_the_line_lives_there() {
        let (topology, transfers) = of("genoa");
        let ns = |to, home| transfers.ns(&topology, CpuId(0), CpuId(to), PackageId(home));
        assert_eq!([ns(1, 0), ns(1, 1)], [27, 27]);
        assert_eq!([ns(8, 0), ns(8, 1)], [100, 196]);
        assert_eq!(ns(96, 0), 192);
    }

    /// The same section: a remote owner costs 1.55 times as much when the line is homed at the reader.
    #[test]
    fn on_intel_a_line_from_the_other_socket_takes_longer_when_its_home_is_the_reader() {
        let (topology, transfers) = of("cascadelake");
        let other = topology.package_span(PackageId(1)).first().unwrap();
        let ns = |home| transfers.ns(&topology, CpuId(0), other, PackageId(home));
        assert_eq!([ns(0), ns(1)], [134, 201]);
    }
}
