//! `End`: one end of a socket pair of any kind, and the call of an op on it.

use super::socket::Call;
use super::{Verdict, socket, tcp, udp};
use crate::ids::SocketId;
use crate::workload::{Op, SocketSpec};

/// What a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketKind {
    Unix,
    Udp,
    Tcp,
}

/// The state of one end.
#[derive(Clone, Debug)]
pub(super) enum End {
    Unix(socket::End),
    Udp(udp::End),
    Tcp(tcp::End),
}

impl End {
    /// An end of the pair that `spec` declares.
    pub(super) fn new(spec: &SocketSpec) -> End {
        match *spec {
            SocketSpec::Unix { sndbuf_bytes, overhead_bytes } => {
                End::Unix(socket::End::new(sndbuf_bytes, overhead_bytes))
            }
            SocketSpec::Udp { rcvbuf_bytes, overhead_bytes } => {
                End::Udp(udp::End::new(rcvbuf_bytes, overhead_bytes))
            }
            SocketSpec::Tcp { sndbuf_bytes, rcvbuf_bytes, max_rcvbuf_bytes, mss_bytes } => {
                End::Tcp(tcp::End::new(sndbuf_bytes, [rcvbuf_bytes, max_rcvbuf_bytes], mss_bytes))
            }
        }
    }

    #[inline]
    pub(super) fn kind(&self) -> SocketKind {
        match self {
            End::Unix(_) => SocketKind::Unix,
            End::Udp(_) => SocketKind::Udp,
            End::Tcp(_) => SocketKind::Tcp,
        }
    }

    pub(super) fn is_tcp(&self) -> bool {
        self.kind() == SocketKind::Tcp
    }

    /// How many bytes were sent to this end and not received.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            End::Unix(end) => end.bytes(),
            End::Udp(end) => end.bytes(),
            End::Tcp(end) => end.bytes(),
        }
    }

    /// How many bytes one receive would take now.
    #[inline]
    pub(super) fn receivable(&self) -> u32 {
        match self {
            End::Udp(end) => end.first(),
            _ => u32::try_from(self.bytes()).unwrap_or(u32::MAX),
        }
    }
}

/// Does `op` at the end that `call` names.
#[inline]
pub(super) fn attempt(ends: &mut [End], op: Op, call: Call<'_>) -> Verdict {
    let (end, peer) = pair(ends, call.id);
    match (end, peer, op) {
        (End::Unix(end), End::Unix(peer), Op::Send { bytes, .. }) => end.send(peer, bytes, call),
        (End::Unix(end), End::Unix(peer), Op::Recv { bytes, .. }) => end.recv(peer, bytes, call),
        (End::Unix(end), _, Op::PollSocket(_)) => end.poll(call),
        (End::Udp(end), End::Udp(peer), Op::Send { bytes, .. }) => end.send(peer, bytes, call),
        (End::Udp(end), _, Op::Recv { bytes, .. }) => end.recv(bytes, call),
        (End::Udp(end), _, Op::PollSocket(_)) => end.poll(call),
        (End::Tcp(end), End::Tcp(peer), Op::Send { bytes, .. }) => end.send(peer, bytes, call),
        (End::Tcp(end), End::Tcp(peer), Op::Recv { bytes, .. }) => end.recv(peer, bytes, call),
        (End::Tcp(end), _, Op::PollSocket(_)) => end.poll(call),
        (End::Tcp(end), End::Tcp(peer), Op::Shutdown(_)) => end.shutdown(peer, call),
        _ => unreachable!("the ends of a pair are of one kind, and only TCP is shut down"),
    }
}

/// This end of a socket pair and the other.
fn pair(ends: &mut [End], id: SocketId) -> (&mut End, &mut End) {
    let pair = id.idx() & !1;
    let [first, second] = &mut ends[pair..pair + 2] else { unreachable!("a pair is two ends") };
    if id.idx() == pair { (first, second) } else { (second, first) }
}
