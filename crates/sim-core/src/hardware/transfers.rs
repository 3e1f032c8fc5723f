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
    /// By whether the home is the package of who gets the line, then by [`Seat::parts`].
    by_parts: [[u32; PARTS]; 2],
    /// By CPU.
    seats: Box<[Seat; CPUS]>,
}

/// The most CPUs there are; an index that is masked with it needs no check.
const CPUS: usize = 1024;

/// The values of [`Seat::parts`], and more so that an index that is masked with it needs no check.
const PARTS: usize = 8;

/// Where a CPU sits: its package, node, LLC and core, 16 bits each, from the highest.
#[derive(Clone, Copy, Debug)]
struct Seat(u64);

impl Seat {
    fn of(topology: &Topology, cpu: CpuId) -> Seat {
        let parts = [
            topology.package_of(cpu).0,
            topology.node_of(cpu).0,
            topology.llc_of(cpu).0,
            topology.core_of(cpu).0,
        ];
        Seat(parts.iter().fold(0, |seat, part| seat << 16 | u64::from(*part)))
    }

    /// In how many of package, node, LLC and core the two agree before they differ. A core is within
    /// one LLC, and an LLC within one node and one package.
    #[inline(always)]
    fn parts(self, other: Seat) -> usize {
        (self.0 ^ other.0).leading_zeros() as usize / 16
    }

    #[inline(always)]
    fn is_in(self, package: PackageId) -> bool {
        self.0 >> 48 == u64::from(package.0)
    }
}

impl Transfers {
    pub(crate) fn new(topology: &Topology) -> Transfers {
        let by_distance = Distance::ALL.map(|distance| topology.line_transfer_ns(distance));
        let by = |distance: Distance| by_distance[distance.idx()];
        // To another LLC of the socket, when the line's home is another socket.
        let known = topology.facts().c2c_ns.same_socket_home_remote.as_ref();
        let home_remote = known.map_or(by(Distance::SameSocket), |fact| {
            u32::try_from(fact.rounded()).unwrap_or(u32::MAX)
        });
        // To another socket, when the line's home is that socket.
        let percent = u64::from(topology.costs().line_home_reader_pct.max(100));
        let home_reader = u64::from(by(Distance::CrossSocket)) * percent / 100;
        let home_reader = u32::try_from(home_reader).unwrap_or(u32::MAX);
        let (llc, core) = (by(Distance::SameLlc), by(Distance::SameCore));
        let elsewhere = [by(Distance::CrossSocket), home_remote, home_remote, llc, core];
        let here = [home_reader, by(Distance::SameSocket), by(Distance::SameNode), llc, core];
        let mut seats = Box::new([Seat(0); CPUS]);
        for cpu in topology.cpus().iter() {
            seats[cpu.idx()] = Seat::of(topology, cpu);
        }
        let padded = |costs: [u32; 5]| std::array::from_fn(|k| costs.get(k).copied().unwrap_or(0));
        Transfers { by_distance, by_parts: [padded(elsewhere), padded(here)], seats }
    }

    /// Nothing takes any time.
    pub(crate) fn free() -> Transfers {
        Transfers {
            by_distance: [0; Distance::ALL.len()],
            by_parts: [[0; PARTS]; 2],
            seats: Box::new([Seat(0); CPUS]),
        }
    }

    /// Whether no transfer takes any time.
    pub(crate) fn is_free(&self) -> bool {
        self.by_distance.iter().all(|ns| *ns == 0)
    }

    /// A modified line whose memory is in the package `home` goes from `from` to `to`; 0 on the same
    /// CPU.
    #[inline(always)]
    pub(crate) fn ns(&self, from: CpuId, to: CpuId, home: PackageId) -> u32 {
        if from == to {
            return self.by_distance[Distance::SameCpu.idx()];
        }
        let to = self.seats[to.idx() % CPUS];
        let parts = self.seats[from.idx() % CPUS].parts(to);
        self.by_parts[usize::from(to.is_in(home))][parts % PARTS]
    }

    /// The way of lines whose memory is in `home` to `to`.
    #[inline(always)]
    pub(crate) fn toward(&self, to: CpuId, home: PackageId) -> Toward<'_> {
        let seat = self.seats[to.idx() % CPUS];
        let by_parts = &self.by_parts[usize::from(seat.is_in(home))];
        Toward { to, seat, by_parts, seats: &self.seats }
    }

    /// The same without a home: by distance only.
    #[inline]
    pub(crate) fn at(&self, distance: Distance) -> u32 {
        self.by_distance[distance.idx()]
    }
}

/// The way of lines of one home to one CPU.
#[derive(Clone, Copy)]
pub(crate) struct Toward<'a> {
    to: CpuId,
    seat: Seat,
    by_parts: &'a [u32; PARTS],
    seats: &'a [Seat; CPUS],
}

impl Toward<'_> {
    /// A modified line comes from `from`, ns: 0 if it is there already.
    #[inline(always)]
    pub(crate) fn line(&self, from: CpuId) -> u32 {
        if from == self.to {
            return 0;
        }
        self.by_parts[self.seats[from.idx() % CPUS].parts(self.seat) % PARTS]
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
        let (_, transfers) = of("genoa");
        let ns = |to, home| transfers.ns(CpuId(0), CpuId(to), PackageId(home));
        assert_eq!([ns(1, 0), ns(1, 1)], [27, 27]);
        assert_eq!([ns(8, 0), ns(8, 1)], [100, 196]);
        assert_eq!(ns(96, 0), 192);
    }

    /// The same section: a remote owner costs 1.55 times as much when the line is homed at the reader.
    #[test]
    fn on_intel_a_line_from_the_other_socket_takes_longer_when_its_home_is_the_reader() {
        let (topology, transfers) = of("cascadelake");
        let other = topology.package_span(PackageId(1)).first().unwrap();
        let ns = |home| transfers.ns(CpuId(0), other, PackageId(home));
        assert_eq!([ns(0), ns(1)], [134, 201]);
    }

    /// On all machines, whatever their layout.
    #[test]
    fn two_seats_agree_in_as_many_parts_as_the_cpus_are_near() {
        for name in simsched_topology::builtin_names() {
            let text = simsched_topology::builtin_text(name).unwrap();
            for mode in simsched_topology::modes(text, name).unwrap() {
                let topology = Topology::builtin(name, Some(&mode.name)).unwrap();
                let (ours, theirs) = (topology.cpus().iter().step_by(5), topology.cpus());
                for (a, b) in ours.flat_map(|a| theirs.iter().map(move |b| (a, b))) {
                    let parts = Seat::of(&topology, a).parts(Seat::of(&topology, b));
                    let want = match topology.distance_class(a, b) {
                        Distance::CrossSocket => 0,
                        Distance::SameSocket => 1,
                        Distance::SameNode => 2,
                        Distance::SameLlc => 3,
                        Distance::SameCore | Distance::SameCpu => 4,
                    };
                    assert_eq!(parts, want, "{name} {}: {a} and {b}", mode.name);
                }
            }
        }
    }
}
