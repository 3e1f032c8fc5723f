//! Sockets over the loopback device, as a kernel makes them by default.

use simsched_core::SocketSpec;

/// The largest segment: the device takes packets of 65,536 bytes, less 20 for the IP header and 32
/// for the TCP header with its time stamps.
const MSS: u32 = 65_536 - 20 - 32;

/// The send buffer with which a connection starts: ten segments, each accounted at 128 KiB and the
/// buffer's descriptor, twice (`tcp_sndbuf_expand()` in `net/ipv4/tcp_input.c`, Linux 6.1; `ss -tm`
/// shows the same number). It grows no further here.
const TCP_SNDBUF: u32 = 2 * 10 * (131_072 + 256);

/// The receive buffer at first and at most (`net.ipv4.tcp_rmem`).
pub(crate) const TCP_RCVBUF: u32 = 131_072;
const TCP_MAX_RCVBUF: u32 = 6_291_456;

/// The send buffer that `getsockopt()` tells of a new TCP socket (`net.ipv4.tcp_wmem`).
pub(crate) const TCP_WMEM: u32 = 16_384;

/// Both buffers of a UDP socket (`net.core.rmem_default`, `wmem_default`).
pub(crate) const UDP_BUF: u32 = 212_992;

/// A TCP connection.
pub(crate) const fn tcp() -> SocketSpec {
    SocketSpec::Tcp {
        sndbuf_bytes: TCP_SNDBUF,
        rcvbuf_bytes: TCP_RCVBUF,
        max_rcvbuf_bytes: TCP_MAX_RCVBUF,
        mss_bytes: MSS,
    }
}

/// A pair of UDP sockets for datagrams of one byte: 768 bytes hold one (a head of 512 with the
/// headers, and its descriptor of 256).
pub(crate) const fn udp() -> SocketSpec {
    SocketSpec::Udp { rcvbuf_bytes: UDP_BUF, overhead_bytes: 767 }
}
