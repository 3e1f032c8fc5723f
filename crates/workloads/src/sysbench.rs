//! sysbench `oltp_read_write`: client threads that run transactions on a database, each with a
//! server process of its own, as PostgreSQL has them, over TCP on loopback.
//!
//! Source: sysbench 1.1, `src/lua/oltp_common.lua` for the statements of a transaction and the sizes
//! of their rows, `src/sysbench.c` and `src/db_driver.c` for the text. How long a server computes is
//! measured: the CPU time of a server of PostgreSQL 15 for each kind of statement (sysbench 1.0.20, one
//! thread, a table of 100,000 rows, on a core of the kind of Sapphire Rapids). How long it waits for
//! its log (100 us to 1 ms), and in how many bursts it computes (2 to 10, locks between them), is that
//! of a database in general.
//!
//! The server's locks are a table of 16 partitions, as PostgreSQL's lock manager has
//! (`NUM_LOCK_PARTITIONS`), and ten more for the later bursts of a statement. Nobody waits for a
//! lock that is free: how long the waits are comes out of the run.

mod text;

use simsched_core::{LockId, MarkId, Nanos, Seed, SocketId};

pub(crate) use text::Run;
pub use text::{NAME, OPTIONS, parse};

use crate::builder::{Body, Builder, ProgramId};
use crate::dist::Dist;
use crate::error::WorkloadError;
use crate::loopback;
use crate::program::{ClockId, Operand, Programs, When};

/// The options of sysbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sysbench {
    /// How many threads run transactions (`--threads`).
    pub threads: u32,
    /// For how long (`--time`).
    pub length: Nanos,
}

impl Default for Sysbench {
    fn default() -> Sysbench {
        Sysbench { threads: 1, length: Nanos(10_000_000_000) }
    }
}

/// A thread begins.
pub const START: MarkId = MarkId(0);
/// A thread is done.
pub const STOP: MarkId = MarkId(1);
/// A thread begins a transaction.
pub const BEGIN: MarkId = MarkId(2);
/// A transaction is done.
pub const DONE: MarkId = MarkId(3);
/// A server has done its part of a transaction.
pub const SERVED: MarkId = MarkId(4);

/// A kind of statement.
#[derive(Clone, Copy, Debug)]
struct Statement {
    /// How many a transaction has.
    count: u32,
    /// Bytes from the client.
    request: u32,
    /// Bytes to the client.
    reply: u32,
    /// For how long the server computes, on the mean.
    work: Nanos,
    /// In how many bursts, with a lock between each two.
    bursts: u32,
    class: Class,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Read,
    Write,
    Other,
}

const fn statement(
    class: Class,
    count: u32,
    [request, reply]: [u32; 2],
    work_us: u64,
    bursts: u32,
) -> Statement {
    Statement { count, request, reply, work: Nanos::from_micros(work_us), bursts, class }
}

/// The statements of a transaction in their order. A row's text has 120 bytes and its padding 60; a
/// range has 100 rows; names, lengths and tags are some 30 bytes a message and 15 a row.
///
/// What the server computes for each is measured (see above), in CPU time of the server: 1000 runs and
/// more of each kind, ten of them in a transaction. Begin and commit are what a transaction of one
/// row takes more than the row, a half each; a DELETE and an INSERT were measured as a pair.
const STATEMENTS: [Statement; 10] = [
    statement(Class::Other, 1, [30, 30], 29, 2),      // BEGIN
    statement(Class::Read, 10, [60, 165], 28, 2),     // a row by its key
    statement(Class::Read, 1, [70, 13_530], 94, 10),  // a range
    statement(Class::Read, 1, [70, 60], 61, 10),      // its sum
    statement(Class::Read, 1, [70, 13_530], 103, 10), // in order
    statement(Class::Read, 1, [70, 13_530], 120, 10), // without doubles
    statement(Class::Write, 1, [60, 30], 37, 4),      // UPDATE of an indexed column
    statement(Class::Write, 1, [180, 30], 37, 4),     // UPDATE of another
    statement(Class::Write, 1, [60, 30], 37, 4),      // DELETE
    statement(Class::Write, 1, [250, 30], 37, 4),     // INSERT
];
const COMMIT: Statement = statement(Class::Other, 1, [30, 30], 29, 2);

/// What the client computes for each statement; 20 us were measured, too.
const CLIENT_WORK: Nanos = Nanos::from_micros(20);

/// How much lengths vary around their mean, in 1024ths of it. A guess: half the mean.
const VARIATION: u32 = 512;

/// For how long a lock is held. A guess: a look into a table and a change.
const HELD: Nanos = Nanos::from_micros(2);

/// How long the log takes to be on its disk.
const LOG: Dist = Dist::Uniform(Nanos::from_micros(100), Nanos::from_micros(1000));

/// Partitions of the lock table.
const PARTITIONS: u32 = 16;

/// The most bursts of a statement.
const MOST_BURSTS: u32 = 10;

/// The most threads of a run.
const MAX_THREADS: u32 = 1 << 16;

/// Where the database waits for connections; clients use the other end.
const LISTENER: SocketId = SocketId(0);

/// The client's end of the first connection.
const FIRST: u32 = 2;

/// How many statements of a class a transaction has.
fn per_transaction(class: Class) -> u64 {
    let all = STATEMENTS.iter().chain([&COMMIT]);
    all.filter(|one| one.class == class).map(|one| u64::from(one.count)).sum()
}

impl Sysbench {
    fn check(&self) -> Result<(), WorkloadError> {
        let (what, limit) = ("threads", u64::from(MAX_THREADS));
        match u64::from(self.threads) {
            count if count > limit => Err(WorkloadError::TooMany { what, count, limit }),
            _ => Ok(()),
        }
    }

    /// The programs of all tasks: task 0 is the database, task 1 sysbench, then come its threads and
    /// the database's servers.
    ///
    /// # Errors
    /// When there are more threads than a run can hold, or none.
    pub fn build(&self, seed: Seed) -> Result<Programs, WorkloadError> {
        self.check()?;
        let mut b = Builder::new();
        for name in ["start", "stop", "begin", "done", "served"] {
            b.mark(name);
        }
        b.span(BEGIN, DONE);
        b.sockets(1 + self.threads, loopback::tcp());
        let locks = b.locks(PARTITIONS + MOST_BURSTS);
        let database = b.program("database", |p| {
            let children = Operand::fixed(2 + self.threads);
            p.repeat(self.threads, |p, nth| {
                p.recv_full(LISTENER, 1);
                p.spawn(children.plus(nth));
            });
            p.repeat(self.threads, |p, _| p.wait_any());
        });
        let main = b.program("main", |p| {
            let first = Operand::fixed(2);
            p.repeat(self.threads, |p, nth| p.spawn(first.plus(nth)));
            p.repeat(self.threads, |p, nth| p.join(first.plus(nth)));
        });
        let (client, server) = (self.client(&mut b), server(&mut b, locks));
        let postmaster = b.process("postgres");
        b.start("postgres", postmaster, database, [0, 0]);
        let sysbench = b.process(NAME);
        b.start(NAME, sysbench, main, [0, 0]);
        for nth in 0..self.threads {
            b.thread(NAME, sysbench, client, [FIRST + 2 * nth, 0]);
        }
        for nth in 0..self.threads {
            let proc = b.process("postgres");
            b.thread("postgres", proc, server, [FIRST + 2 * nth + 1, nth % PARTITIONS]);
        }
        b.build(seed)
    }

    /// Its argument is its end of the connection.
    fn client(&self, b: &mut Builder) -> ProgramId {
        let begun: ClockId = b.clock();
        let all_ready = b.barrier(self.threads);
        let socket = Operand::arg(0);
        let ask = |p: &mut Body<'_>, Statement { request, reply, .. }: Statement| {
            p.run(varied(CLIENT_WORK));
            p.send(socket, request);
            p.recv_full(socket, reply);
        };
        b.program("client", |p| {
            p.send(SocketId(LISTENER.0 + 1), 1);
            p.clock(begun);
            p.barrier(all_ready);
            p.mark(START);
            p.forever(|p| {
                p.leave_when(When::after(begun, self.length));
                p.mark(BEGIN);
                for one in STATEMENTS {
                    p.repeat(one.count, |p, _| ask(p, one));
                }
                ask(p, COMMIT);
                p.mark(DONE);
            });
            p.mark(STOP);
            p.shutdown(socket);
        })
    }
}

/// Its arguments are its end of the connection and its first partition of the lock table.
fn server(b: &mut Builder, locks: LockId) -> ProgramId {
    let socket = Operand::arg(0);
    b.program("server", |p| {
        p.forever(|p| {
            for one in STATEMENTS.into_iter() {
                if one.count > 1 {
                    p.repeat(one.count, |p, _| {
                        p.recv_full(socket, one.request);
                        answer(p, one, locks);
                        p.send(socket, one.reply);
                    });
                } else {
                    p.recv_full(socket, one.request);
                    p.leave_at_end();
                    answer(p, one, locks);
                    p.send(socket, one.reply);
                }
            }
            p.recv_full(socket, COMMIT.request);
            answer(p, COMMIT, locks);
            p.sleep(LOG);
            p.send(socket, COMMIT.reply);
            p.mark(SERVED);
        });
    })
}

/// Computes in bursts, with a lock between each two.
fn answer(p: &mut Body<'_>, one: Statement, locks: LockId) {
    let burst = varied(Nanos(one.work.get() / u64::from(one.bursts)));
    p.repeat(one.bursts - 1, |p, turn| {
        p.run(burst.clone());
        let lock = Operand::arg(1).offset(locks.0).plus(turn);
        p.lock(lock);
        p.run(Dist::Constant(HELD));
        p.unlock(lock);
    });
    p.run(burst);
}

fn varied(mean: Nanos) -> Dist {
    Dist::LogNormal { mean, cv_1024: VARIATION }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten rows and four ranges are read, two rows are updated, one is deleted and one inserted.
    #[test]
    fn a_transaction_has_twenty_statements() {
        let classes = [Class::Read, Class::Write, Class::Other].map(per_transaction);
        assert_eq!(classes, [14, 4, 2]);
    }
}
