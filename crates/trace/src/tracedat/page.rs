//! A page of the ring buffer of ftrace: when it begins, how much is in it, and entries with the time since the
//! one before.

/// Its size in bytes.
pub(super) const SIZE: usize = 4096;

/// Its head: when it begins (8 bytes), and how many bytes of entries it has (8).
const HEAD: usize = 16;

/// How many bits of an entry's first word are its length or type; the others are the time.
const TYPE_BITS: u32 = 5;
/// How many bits the time has in it.
const TIME_BITS: u32 = 32 - TYPE_BITS;
/// The type of an entry that only tells that more time has passed than others can tell.
const TIME_EXTEND: u32 = 30;
/// Its length in bytes.
const TIME_EXTEND_BYTES: usize = 8;
/// The most words of data that an entry can say in its first word.
const MOST_WORDS: usize = 28;

/// One that is being filled.
#[derive(Clone, Debug)]
pub(super) struct Page {
    /// Its bytes, up to the end of the last entry.
    bytes: Vec<u8>,
    /// When the last entry was, in ns.
    last: u64,
}

impl Page {
    /// Nothing is in it yet.
    pub(super) fn empty() -> Page {
        Page { bytes: Vec::new(), last: 0 }
    }

    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether an entry of `time` with so many bytes has room.
    pub(super) fn has_room(&self, time: u64, bytes: usize) -> bool {
        let delta = time.saturating_sub(self.last);
        let more = if delta >> TIME_BITS == 0 { 0 } else { TIME_EXTEND_BYTES };
        self.is_empty() || self.bytes.len() + more + 4 + bytes <= SIZE
    }

    /// Appends an entry of `time`, whose data is a whole number of words, at most 28.
    pub(super) fn push(&mut self, time: u64, data: &[u8]) {
        debug_assert!(data.len().is_multiple_of(4) && data.len() <= 4 * MOST_WORDS, "an entry");
        if self.is_empty() {
            self.bytes.reserve_exact(SIZE);
            self.bytes.extend(time.to_le_bytes());
            self.bytes.extend([0; 8]);
            self.last = time;
        }
        let delta = time.saturating_sub(self.last);
        self.last = time;
        let low = u32::try_from(delta & ((1 << TIME_BITS) - 1)).unwrap_or(0);
        let high = u32::try_from(delta >> TIME_BITS).unwrap_or(u32::MAX);
        let words = u32::try_from(data.len() / 4).unwrap_or(0);
        let first = |kind: u32, time: u32| (kind | time << TYPE_BITS).to_le_bytes();
        if high > 0 {
            self.bytes.extend(first(TIME_EXTEND, low));
            self.bytes.extend(high.to_le_bytes());
            self.bytes.extend(first(words, 0));
        } else {
            self.bytes.extend(first(words, low));
        }
        self.bytes.extend(data);
    }

    /// The whole page, which is empty then; its time is kept.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let commit = (bytes.len() - HEAD) as u64;
        bytes[8..HEAD].copy_from_slice(&commit.to_le_bytes());
        bytes.resize(SIZE, 0);
        bytes
    }
}
