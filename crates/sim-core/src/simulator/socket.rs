//! What sending and receiving take, by the kind of the socket.

use simsched_topology::CpuId;

use super::cpu::Stage;
use super::state::Simulator;
use crate::ids::SocketId;
use crate::ipc::SocketKind;
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::Nanos;
use crate::workload::{Op, Workload};

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
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
            (SocketKind::Unix, Op::Send { .. }) => list.unix_send,
            (SocketKind::Unix, _) => list.unix_recv,
            (SocketKind::Udp, Op::Send { .. }) => list.udp_send,
            (SocketKind::Udp, _) => list.udp_recv,
            (SocketKind::Tcp, Op::Send { .. }) => list.tcp_send,
            (SocketKind::Tcp, _) => list.tcp_recv,
        };
        let mut bytes = match op {
            Op::Send { bytes, .. } | Op::Recv { bytes, .. } => bytes,
            _ => 0,
        };
        if matches!(op, Op::Recv { .. }) {
            let look = self.looks_in_vain(socket);
            let run = &mut self.cpus[cpu.idx()].run;
            run.look = look.is_some();
            if let Some(look) = look {
                return self.jittered(cpu, entry + look);
            }
            if self.ipc.socket_kind(socket) != SocketKind::Unix {
                bytes = bytes.min(self.ipc.receivable(socket));
                run.op = Op::Recv { socket, bytes };
            }
        }
        let moved = match op {
            Op::Send { .. } => self.message(cpu, socket.peer().idx(), None),
            _ => self.message(cpu, socket.idx(), Some(bytes)),
        };
        let copied = (entry + protocol).saturating_add(self.prices.copy(bytes));
        self.jittered(cpu, copied) + Nanos(u64::from(moved))
    }

    /// What it takes to find nothing to receive; none where there is something.
    fn looks_in_vain(&self, socket: SocketId) -> Option<u32> {
        let list = self.prices.list();
        match self.ipc.socket_kind(socket) {
            SocketKind::Unix => (self.ipc.socket_bytes(socket) == 0).then_some(list.unix_look),
            _ => (self.ipc.receivable(socket) == 0).then_some(list.recheck),
        }
    }

    /// What an op on a local socket leaves to do when it has had its effect.
    pub(super) fn socket_tail(&self, op: Op, socket: SocketId) -> u32 {
        let list = self.prices.list();
        match (self.ipc.socket_kind(socket), op) {
            (SocketKind::Unix, Op::Send { .. }) => list.unix_send_tail,
            (SocketKind::Unix, _) => list.unix_recv_tail,
            _ => 0,
        }
    }

    /// Who slept to receive looks again; a sender has made its buffer already.
    pub(super) fn retry_socket(&mut self, cpu: CpuId, op: Op) -> Nanos {
        let recheck = self.prices.list().recheck;
        match op {
            Op::Recv { .. } => self.socket_op(cpu, op, recheck),
            _ => self.jittered(cpu, recheck),
        }
    }

    /// The look at a socket is over: if something has arrived since, the copy follows.
    pub(super) fn looked_at_socket(&mut self, cpu: CpuId, op: Op) -> bool {
        let Op::Recv { socket, .. } = op else { return true };
        if !self.cpus[cpu.idx()].run.look || self.looks_in_vain(socket).is_some() {
            return true;
        }
        let ns = self.socket_op(cpu, op, 0);
        self.begin(cpu, Stage::Op, Cost::Syscall, ns);
        false
    }
}
