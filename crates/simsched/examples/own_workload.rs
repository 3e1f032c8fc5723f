//! A workload of one's own: clients that think, servers that answer, and the latency between.
#![expect(clippy::print_stdout, reason = "an example prints")]

use simsched::prelude::*;
use simsched::workloads::{Builder, Dist, Programs, WorkloadError};

const REQUESTS: u32 = 200;

/// `clients` with a server process each: a request of 64 bytes, some 20 us of work, an answer of 4 KiB.
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

/// The latency of requests under `policy` on average, in us.
fn latency(policy: &str) -> Result<f64, Error> {
    let load = workload::own("16 clients", |_, seed| clients_and_servers(16, seed));
    let runs = Simulation::on("milan-7543")?.policy(policy)?.workload(load)?.run()?;
    let [mean, p99] = [
        runs.metric(&"request_latency:mean".parse()?)?,
        runs.metric(&"request_latency:p99".parse()?)?,
    ];
    println!("{policy}: requests take {:.1} us, 99 % at most {:.1}", mean.mean, p99.mean);
    Ok(mean.mean)
}

fn main() -> Result<(), Error> {
    ["cfs", "eevdf"].into_iter().try_for_each(|policy| latency(policy).map(drop))
}

/// A request takes 20 us of work on average, and no answer comes sooner.
#[test]
fn a_request_takes_as_long_as_its_work() {
    assert!(latency("cfs").unwrap() > 20.0);
}
