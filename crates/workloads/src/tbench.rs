//! tbench: pairs of a client and a server process that exchange what a file server and its clients
//! exchange, over TCP on loopback, without the files.
//!
//! Source: dbench 4.0: `sockio.c` and `tbench_srv.c` for what the two sides do, `dbench.c` for the
//! start, the warm-up and the text, and its load file `client.txt` for the exchanges ([`load`]).
//!
//! `tbench_srv` runs from the start and forks a process for each connection; `tbench` forks the
//! clients, waits until all are connected, lets them go, and tells them when the time is over.
//! What differs: the clients wait at a barrier where the real ones stop themselves by a signal.

pub mod load;
mod text;

use simsched_core::{BarrierId, FutexId, MarkId, Nanos, Seed, SocketId};

pub(crate) use text::Run;
pub use text::{NAME, OPTIONS, parse};

use crate::builder::{Builder, ProgramId};
use crate::error::WorkloadError;
use crate::loopback;
use crate::program::{ClockId, Operand, Programs, When};
use load::Exchange;

/// The options of tbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tbench {
    /// How many clients there are.
    pub clients: u32,
    /// For how long they are measured (`-t`).
    pub length: Nanos,
    /// For how long they run before (`--warmup`); a fifth of the other if it is not said.
    pub warmup: Option<Nanos>,
}

/// The measured time begins.
pub const START: MarkId = MarkId(0);
/// The measured time is over.
pub const STOP: MarkId = MarkId(1);
/// A client sends a request, within the measured time.
pub const REQUEST: MarkId = MarkId(2);
/// A client has its reply, within the measured time.
pub const REPLY: MarkId = MarkId(3);
/// A server has answered.
pub const SERVED: MarkId = MarkId(4);
/// A client has the reply of the first kind of exchange; those of the other kinds follow.
pub const FIRST_KIND: MarkId = MarkId(5);

/// The bytes at the head of each message that tell its length.
const HEAD: u32 = 4;

/// The exchange with which a connection begins.
const HELLO: Exchange = Exchange { weight: 0, request: 8, reply: 8, data: 0 };

/// The most clients of a run.
const MAX_CLIENTS: u32 = 1 << 16;

/// Where `tbench_srv` waits for connections; clients use the other end.
const LISTENER: SocketId = SocketId(0);

/// The client's end of the first connection.
const FIRST: u32 = 2;

/// What all programs of a run name.
#[derive(Clone, Copy, Debug)]
struct Shared {
    all_ready: BarrierId,
    /// 1 while the exchanges count.
    counting: FutexId,
    /// 1 when the time is over.
    over: FutexId,
}

impl Tbench {
    fn check(&self) -> Result<(), WorkloadError> {
        let (what, limit) = ("clients", u64::from(MAX_CLIENTS));
        match u64::from(self.clients) {
            count if count > limit => Err(WorkloadError::TooMany { what, count, limit }),
            _ => Ok(()),
        }
    }

    /// For how long the clients run before they are measured.
    #[must_use]
    pub fn warmup(&self) -> Nanos {
        self.warmup.unwrap_or(Nanos(self.length.get() / 5))
    }

    /// The programs of all tasks: task 0 is `tbench_srv`, task 1 `tbench`, then come the clients and
    /// the servers.
    ///
    /// # Errors
    /// When there are more clients than a run can hold, or none.
    pub fn build(&self, seed: Seed) -> Result<Programs, WorkloadError> {
        self.check()?;
        let mut b = Builder::new();
        let kinds = load::EXCHANGES.iter().map(|_| "kind");
        for name in ["start", "stop", "request", "reply", "served"].into_iter().chain(kinds) {
            b.mark(name);
        }
        b.span(REQUEST, REPLY);
        b.sockets(1 + self.clients, loopback::tcp());
        let shared = Shared {
            all_ready: b.barrier(self.clients + 1),
            counting: b.futexes(1),
            over: b.futexes(1),
        };
        let cycle = load::cycle();
        let listener = b.program("listener", |p| {
            let children = Operand::fixed(2 + self.clients);
            p.repeat(self.clients, |p, nth| {
                p.recv_full(LISTENER, 1);
                p.spawn(children.plus(nth));
            });
            p.repeat(self.clients, |p, _| p.wait_any());
        });
        let main = self.main(&mut b, shared);
        let (client, server) = (client(&mut b, shared, &cycle), server(&mut b, &cycle));
        for (name, program) in [("tbench_srv", listener), (NAME, main)] {
            let proc = b.process(name);
            b.start(name, proc, program, [0, 0]);
        }
        for (name, program, end) in [(NAME, client, 0), ("tbench_srv", server, 1)] {
            for nth in 0..self.clients {
                let proc = b.process(name);
                b.thread(name, proc, program, [FIRST + 2 * nth + end, 0]);
            }
        }
        b.build(seed)
    }

    fn main(&self, b: &mut Builder, shared: Shared) -> ProgramId {
        let begun: ClockId = b.clock();
        let warm = self.warmup();
        b.program("main", |p| {
            p.repeat(self.clients, |p, nth| p.spawn(Operand::fixed(2).plus(nth)));
            p.barrier(shared.all_ready);
            p.clock(begun);
            if warm > Nanos::ZERO {
                p.sleep_until(When::after(begun, warm));
            }
            p.futex_set(shared.counting, 1);
            p.mark(START);
            p.sleep_until(When::after(begun, Nanos(warm.get() + self.length.get())));
            p.futex_set(shared.counting, 0);
            p.mark(STOP);
            p.futex_set(shared.over, 1);
            p.repeat(self.clients, |p, _| p.wait_any());
        })
    }
}

/// Its argument is its end of the connection.
fn client(b: &mut Builder, shared: Shared, cycle: &[usize]) -> ProgramId {
    let socket = Operand::arg(0);
    b.program("client", |p| {
        p.send(SocketId(LISTENER.0 + 1), 1);
        p.send(socket, HELLO.request);
        p.recv_full(socket, HEAD);
        p.recv_full(socket, HELLO.reply - HEAD);
        p.barrier(shared.all_ready);
        p.forever(|p| {
            for &kind in cycle {
                let Exchange { request, reply, .. } = load::EXCHANGES[kind];
                p.leave_unless(shared.over, 0);
                p.when_futex(shared.counting, 1, |p| p.mark(REQUEST));
                p.send(socket, request);
                p.recv_full(socket, HEAD);
                p.recv_full(socket, reply - HEAD);
                p.when_futex(shared.counting, 1, |p| {
                    p.mark(REPLY);
                    p.mark(Operand::fixed(kind_mark(kind).0));
                });
            }
        });
        p.shutdown(socket);
    })
}

/// Its argument is its end of the connection. It answers until the stream ends.
fn server(b: &mut Builder, cycle: &[usize]) -> ProgramId {
    let socket = Operand::arg(0);
    b.program("server", |p| {
        p.recv_full(socket, HEAD);
        p.recv_full(socket, HELLO.request - HEAD);
        p.send(socket, HELLO.reply);
        p.forever(|p| {
            for &kind in cycle {
                let Exchange { request, reply, .. } = load::EXCHANGES[kind];
                p.recv_full(socket, HEAD);
                p.leave_at_end();
                p.recv_full(socket, request - HEAD);
                p.send(socket, reply);
                p.mark(SERVED);
            }
        });
    })
}

/// The mark of a kind of exchange.
fn kind_mark(kind: usize) -> MarkId {
    MarkId::new(FIRST_KIND.idx() + kind)
}
