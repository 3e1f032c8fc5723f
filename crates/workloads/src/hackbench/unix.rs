//! What the kernel accounts a message on an AF_UNIX stream socket at.

use simsched_core::SocketSpec;

/// The send buffer of a socket by default, in bytes (`net.core.wmem_default`).
const SNDBUF: u32 = 212_992;

/// `struct sk_buff`, and the shared info behind the data, in bytes (x86-64, Linux 6.1).
const SK_BUFF: u32 = 256;
const SHARED_INFO: u32 = 320;

/// The most bytes that the head of a buffer holds; the others are in pages.
const MAX_HEAD: u32 = 4096 - SHARED_INFO;

/// The most bytes that a buffer has in pages (`UNIX_SKB_FRAGS_SZ`).
const MAX_PAGES: u32 = 32_768;

/// A socket pair over which go messages of this many bytes.
pub(super) fn socket(bytes: u32) -> SocketSpec {
    let buffer = bytes.min(MAX_HEAD + MAX_PAGES);
    SocketSpec::Unix { sndbuf_bytes: SNDBUF, overhead_bytes: truesize(buffer) - buffer }
}

/// What a buffer with so many bytes of data is accounted at (`skb->truesize`): the buffer itself,
/// its head from a slab of a power of two, and whole pages for what does not fit there.
///
/// Source: `unix_stream_sendmsg()`, `__alloc_skb()` and `alloc_skb_with_frags()`, Linux 6.1.
fn truesize(bytes: u32) -> u32 {
    let paged = bytes.min(bytes.saturating_sub(MAX_HEAD).next_multiple_of(4096));
    let head = (bytes - paged).next_multiple_of(64) + SHARED_INFO;
    SK_BUFF + head.next_power_of_two().max(512) + paged.next_multiple_of(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many messages a real socket (Linux 6.18, x86-64) takes before it would block; the last
    /// is admitted while the others are below 212,992.
    #[test]
    fn as_many_messages_fit_as_into_a_real_socket() {
        for (bytes, fit) in [(1, 278), (100, 278), (384, 167), (385, 167), (700, 167), (5000, 34)] {
            assert_eq!(SNDBUF.div_ceil(truesize(bytes)), fit, "{bytes} bytes");
        }
    }

    /// 128 + 320 = 448 bytes come from a slab of 512; with the buffer itself that is 768.
    #[test]
    fn a_message_of_100_bytes_is_accounted_at_768() {
        assert_eq!(truesize(100), 768);
        assert_eq!(socket(100), SocketSpec::Unix { sndbuf_bytes: 212_992, overhead_bytes: 668 });
    }

    /// Whole: a head of 3776 + 320 = 4096 and eight pages. Beyond, each buffer costs the same.
    #[test]
    fn the_largest_buffer_has_36544_bytes() {
        assert_eq!(truesize(36_544), 256 + 4096 + 32_768);
        assert_eq!(socket(1_000_000), socket(36_544));
    }
}
