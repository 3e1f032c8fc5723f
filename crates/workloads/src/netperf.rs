//! netperf: pairs of a client and a server process that send to each other over loopback.
//!
//! Source: netperf 2.7, `src/nettest_bsd.c`: what the client and the server of each test do, in
//! which order they talk over their control connection, and what they print.
//!
//! `netserver` runs from the start and forks a process for each connection; a shell starts the
//! clients, one after the other; each begins as soon as its server has answered, so the first pairs
//! find an idle machine. What differs: the server of `UDP_RR` ends with a last datagram, where the
//! real one has an alarm four seconds later.

mod text;

use simsched_core::{MarkId, Nanos, Seed, SocketId, SocketSpec};

pub(crate) use text::Run;
pub use text::{NAME, OPTIONS, parse};

use crate::builder::{Builder, ProgramId};
use crate::error::WorkloadError;
use crate::loopback;
use crate::program::{ClockId, Operand, Programs, When};

/// What is sent (`-t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Messages in one direction, as fast as they go.
    TcpStream,
    /// A byte there and a byte back, over TCP.
    TcpRr,
    /// The same over UDP.
    UdpRr,
}

/// The options of netperf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Netperf {
    /// What is sent (`-t`).
    pub test: Test,
    /// How many clients, each with a server, run at once (`-n`).
    pub pairs: u32,
    /// For how long (`-l`).
    pub length: Nanos,
}

impl Default for Netperf {
    fn default() -> Netperf {
        Netperf { test: Test::TcpStream, pairs: 1, length: Nanos(10_000_000_000) }
    }
}

/// A client begins.
pub const START: MarkId = MarkId(0);
/// A client is done.
pub const STOP: MarkId = MarkId(1);
/// A client sends a request.
pub const REQUEST: MarkId = MarkId(2);
/// A client has its response, or has sent a message of a stream.
pub const DONE: MarkId = MarkId(3);
/// A server has answered a request, or has received something of a stream.
pub const SERVED: MarkId = MarkId(4);

/// The size of a message of `TCP_STREAM`: the send buffer that a new socket tells.
pub const STREAM_BYTES: u32 = loopback::TCP_WMEM;

/// How much a server of `TCP_STREAM` receives at once: the receive buffer that a new socket tells.
pub const RECV_BYTES: u32 = loopback::TCP_RCVBUF;

/// A request or a response of `TCP_RR` and `UDP_RR` (`-r 1,1`).
const RR_BYTES: u32 = 1;

/// A message of the control connection: two words and 162 more.
const CONTROL_BYTES: u32 = 4 * (2 + 162);

/// What stands for the packet that opens a connection.
const CONNECT_BYTES: u32 = 1;

/// The most pairs of a run.
const MAX_PAIRS: u32 = 1 << 16;

impl Netperf {
    fn check(&self) -> Result<(), WorkloadError> {
        let (what, limit) = ("netperfs", u64::from(MAX_PAIRS));
        match u64::from(self.pairs) {
            count if count > limit => Err(WorkloadError::TooMany { what, count, limit }),
            _ => Ok(()),
        }
    }

    fn is_stream(&self) -> bool {
        self.test == Test::TcpStream
    }

    fn data(&self) -> SocketSpec {
        match self.test {
            Test::UdpRr => loopback::udp(),
            Test::TcpRr | Test::TcpStream => loopback::tcp(),
        }
    }

    /// The programs of all tasks: task 0 is `netserver`, task 1 the shell, then come the clients and
    /// the servers.
    ///
    /// # Errors
    /// When there are more pairs than a run can hold, or none.
    pub fn build(&self, seed: Seed) -> Result<Programs, WorkloadError> {
        self.check()?;
        let mut b = Builder::new();
        for name in ["start", "stop", "request", "done", "served"] {
            b.mark(name);
        }
        b.span(REQUEST, DONE);
        b.sockets(1, loopback::tcp());
        for _ in 0..self.pairs {
            b.sockets(1, loopback::tcp());
            b.sockets(1, self.data());
        }
        b.futexes(self.pairs);
        let netserver = b.program("netserver", |p| {
            let children = Operand::fixed(2 + self.pairs);
            p.repeat(self.pairs, |p, nth| {
                p.recv_full(LISTENER, CONNECT_BYTES);
                p.spawn(children.plus(nth));
            });
            p.repeat(self.pairs, |p, _| p.wait_any());
        });
        let shell = b.program("shell", |p| {
            p.repeat(self.pairs, |p, nth| p.spawn(Operand::fixed(2).plus(nth)));
            p.repeat(self.pairs, |p, _| p.wait_any());
        });
        let (client, server) = (self.client(&mut b), self.server(&mut b));
        for (name, program) in [("netserver", netserver), ("sh", shell)] {
            let proc = b.process(name);
            b.start(name, proc, program, [0, 0]);
        }
        for (name, program, end) in [(NAME, client, 0), ("netserver", server, 1)] {
            for pair in 0..self.pairs {
                let proc = b.process(name);
                b.thread(name, proc, program, [FIRST + 4 * pair + end, pair]);
            }
        }
        b.build(seed)
    }

    /// Its arguments are its end of the control connection and its number.
    fn client(&self, b: &mut Builder) -> ProgramId {
        let (control, data) = (Operand::arg(0), Operand::arg(0).offset(2));
        let begun: ClockId = b.clock();
        b.program("client", |p| {
            p.send(SocketId(LISTENER.0 + 1), CONNECT_BYTES);
            p.send(control, CONTROL_BYTES);
            p.recv_full(control, CONTROL_BYTES);
            p.clock(begun);
            p.mark(START);
            p.forever(|p| {
                p.leave_when(When::after(begun, self.length));
                if self.is_stream() {
                    p.send(data, STREAM_BYTES);
                } else {
                    p.mark(REQUEST);
                    p.send(data, RR_BYTES);
                    p.recv_full(data, RR_BYTES);
                }
                p.mark(DONE);
            });
            if !self.is_stream() {
                p.mark(STOP);
            }
            if self.test == Test::UdpRr {
                p.futex_set(Operand::arg(1), 1);
                p.send(data, RR_BYTES);
            } else {
                p.shutdown(data);
            }
            p.recv_full(control, CONTROL_BYTES);
            // A stream is over when its last byte has been received.
            if self.is_stream() {
                p.mark(STOP);
            }
        })
    }

    /// The other ends.
    fn server(&self, b: &mut Builder) -> ProgramId {
        let (control, data) = (Operand::arg(0), Operand::arg(0).offset(2));
        b.program("server", |p| {
            p.recv_full(control, CONTROL_BYTES);
            p.send(control, CONTROL_BYTES);
            p.forever(|p| {
                if self.is_stream() {
                    p.recv(data, RECV_BYTES);
                } else {
                    p.recv_full(data, RR_BYTES);
                }
                if self.test == Test::UdpRr {
                    p.leave_unless(Operand::arg(1), 0);
                } else {
                    p.leave_at_end();
                }
                if !self.is_stream() {
                    p.send(data, RR_BYTES);
                }
                p.mark(SERVED);
            });
            p.send(control, CONTROL_BYTES);
        })
    }
}

/// Where `netserver` waits for connections; clients use the other end.
const LISTENER: SocketId = SocketId(0);

/// The client's end of the first control connection; four ends on is the next.
const FIRST: u32 = 2;
