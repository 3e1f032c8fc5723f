//! What sending and receiving take, by the kind of the socket.

use simsched_topology::CpuId;

use super::cpu::Stage;
use super::state::Simulator;
use crate::ipc::SocketKind;
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::Nanos;
use crate::workload::{Op, Workload};

impl<P: Policy, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Getting to a socket takes `entry`, then follow the protocol and the copy.
    ///
    /// On loopback a sender runs the receiver's half of the protocol too, in the softirq that its
    /// own packet raises. Who receives there copies what it finds: the op under way takes no more
    /// than what was there at its beginning. If that is nothing it only looks.
    pub(super) fn socket_op(&mut self, cpu: CpuId, op: Op, entry: u32) -> Nanos {
        let (Op::Send { socket, .. } | Op::Recv { socket, .. }) = op else {
            unreachable!("only ops on sockets come here")
        };
        let list = self.prices.list();
        let protocol = match (self.ipc.socket_kind(socket), op) {
            (SocketKind::Unix, _) => list.socket_copy,
            (SocketKind::Udp, Op::Send { .. }) => list.udp_send,
            (SocketKind::Udp, _) => list.udp_recv,
            (SocketKind::Tcp, Op::Send { .. }) => list.tcp_send,
            (SocketKind::Tcp, _) => list.tcp_recv,
        };
        let mut bytes = match op {
            Op::Send { bytes, .. } | Op::Recv { bytes, .. } => bytes,
            _ => 0,
        };
        if matches!(op, Op::Recv { .. }) && self.ipc.socket_kind(socket) != SocketKind::Unix {
            bytes = bytes.min(self.ipc.receivable(socket));
            let run = &mut self.cpus[cpu.idx()].run;
            run.look = bytes == 0;
            if run.look {
                let recheck = self.prices.list().recheck;
                return self.jittered(cpu, entry + recheck);
            }
            run.op = Op::Recv { socket, bytes };
        }
        let pipes = self.pipes_free.len();
        let moved = match op {
            Op::Send { .. } => self.message(cpu, pipes + socket.peer().idx(), None),
            _ => self.message(cpu, pipes + socket.idx(), Some(bytes)),
        };
        let copied = (entry + protocol).saturating_add(self.prices.copy(bytes));
        self.jittered(cpu, copied) + Nanos(u64::from(moved))
    }

    /// Who slept to receive looks again; at a local socket it has paid for the copy already.
    pub(super) fn retry_socket(&mut self, cpu: CpuId, op: Op) -> Nanos {
        let recheck = self.prices.list().recheck;
        match op {
            Op::Recv { socket, .. } if self.ipc.socket_kind(socket) != SocketKind::Unix => {
                self.socket_op(cpu, op, recheck)
            }
            _ => self.jittered(cpu, recheck),
        }
    }

    /// The look at a socket is over: if something has arrived since, the copy follows.
    pub(super) fn looked_at_socket(&mut self, cpu: CpuId, op: Op) -> bool {
        let Op::Recv { socket, .. } = op else { return true };
        let is_unix = self.ipc.socket_kind(socket) == SocketKind::Unix;
        if is_unix || self.ipc.receivable(socket) == 0 {
            return true;
        }
        let ns = self.socket_op(cpu, op, 0);
        self.begin(cpu, Stage::Op, Cost::Syscall, ns);
        false
    }
}
