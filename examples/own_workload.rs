//! A workload of one's own: clients that think, a server that answers, and the latency between.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;

use simsched_core::observe::Stats;
use simsched_core::{Config, Nanos, Seed, SimTime, Simulator, Workload};
use simsched_policies::catalog::build;
use simsched_topology::Topology;
use simsched_workloads::{Builder, Dist, Programs, WorkloadError};

/// How often each client asks.
const REQUESTS: u32 = 200;

/// `clients` of one server process each: a request of 64 bytes, some 20 us of work, an answer of 4 KiB.
fn clients_and_servers(clients: u32, seed: Seed) -> Result<Programs, WorkloadError> {
    let mut b = Builder::new();
    let (asked, answered) = (b.mark("asked"), b.mark("answered"));
    b.span(asked, answered);
    for client in 0..clients {
        let proc = b.process("server");
        let (request, answer) = (b.pipes(1), b.pipes(1));
        let server = b.program("server", |p| {
            p.repeat(REQUESTS, |p, _| {
                p.read_full(request, 64);
                p.run(Dist::Exponential(Nanos::from_micros(20)));
                p.write(answer, 4096);
            });
        });
        let program = b.program("client", |p| {
            p.repeat(REQUESTS, |p, _| {
                p.sleep(Dist::Exponential(Nanos::from_micros(100)));
                p.mark(asked);
                p.write(request, 64);
                p.read_full(answer, 4096);
                p.mark(answered);
            });
        });
        b.start(&format!("server {client}"), proc, server, [0, 0]);
        b.start(&format!("client {client}"), proc, program, [0, 0]);
    }
    b.build(seed)
}

/// The latency of requests under `policy`.
fn latency(policy: &str) -> Result<Stats, Box<dyn std::error::Error>> {
    let machine = Arc::new(Topology::builtin("milan-7543", None)?);
    let load = clients_and_servers(16, Seed(1))?;
    let setup = load.setup();
    let stats = Stats::new(&machine, setup.tasks.len(), setup.marks.len()).with_spans(&setup.spans);
    let mut run = Simulator::new(machine, build(policy, &[])?, load, stats, Config::default())?;
    run.run_until(SimTime::NEVER)?;
    Ok(run.into_parts().3)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for policy in ["cfs", "eevdf"] {
        let stats = latency(policy)?;
        let [p50, p99] = [50, 99].map(|part| stats.spans()[0].lengths().quantile(part, 100).get());
        println!("{policy}: requests p50 {p50} ns, p99 {p99} ns");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_answered_and_measured() {
        for policy in ["cfs", "eevdf", "fifo"] {
            let stats = latency(policy).unwrap();
            assert_eq!(stats.spans()[0].lengths().count(), 16 * u64::from(REQUESTS), "{policy}");
        }
    }

    /// Both sides work 20 us on average for each request, and nobody can be quicker.
    #[test]
    fn a_request_takes_as_long_as_its_work() {
        let stats = latency("cfs").unwrap();
        assert!(stats.spans()[0].lengths().mean() > Nanos::from_micros(20));
    }
}
