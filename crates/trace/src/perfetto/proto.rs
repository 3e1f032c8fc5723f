//! `Message`: the fields of a protobuf message, written one after the other.
//!
//! The wire format is that of <https://protobuf.dev/programming-guides/encoding/>: a field is its number
//! with a wire type, then either a varint or a length with so many bytes.

/// Integers and flags: the value follows as a varint.
const VARINT: u32 = 0;
/// Text and nested messages: a length follows, then so many bytes.
const LENGTH_DELIMITED: u32 = 2;

/// A message that is being written. Fields are in the order of the calls, which readers do not mind.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// What has been written so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes that is.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets all fields and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// An unsigned integer, a flag or an enum.
    pub(super) fn uint(&mut self, field: u32, value: u64) {
        self.key(field, VARINT);
        self.varint(value);
    }

    /// A signed integer: negative ones take ten bytes, as protobuf's `int32` and `int64` do.
    pub(super) fn int(&mut self, field: u32, value: i64) {
        self.uint(field, value.cast_unsigned());
    }

    /// A text.
    pub(super) fn text(&mut self, field: u32, text: &str) {
        self.delimited(field, text.as_bytes());
    }

    /// A nested message that `write` writes.
    pub(super) fn nested(&mut self, field: u32, write: impl FnOnce(&mut Message)) {
        self.key(field, LENGTH_DELIMITED);
        let at = self.bytes.len();
        // Most are shorter than 128 bytes, and their length is one byte.
        self.bytes.push(0);
        write(self);
        let length = self.bytes.len() - at - 1;
        if let Some(short) = u8::try_from(length).ok().filter(|length| *length < 0x80) {
            self.bytes[at] = short;
        } else {
            let mut prefix = Message::default();
            prefix.varint(length as u64);
            self.bytes.splice(at..=at, prefix.bytes);
        }
    }

    /// Nested messages that are written already, each with the key of its field.
    pub(super) fn append(&mut self, fields: &Message) {
        self.bytes.extend_from_slice(&fields.bytes);
    }

    fn delimited(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, LENGTH_DELIMITED);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    fn key(&mut self, field: u32, wire_type: u32) {
        self.varint(u64::from(field << 3 | wire_type));
    }

    /// Seven bits for each byte, the lowest first; all but the last have their highest bit set.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push((value & 0x7f) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of protobuf's own description of its wire format.
    #[test]
    fn the_examples_of_the_wire_format_come_out() {
        let mut message = Message::default();
        message.uint(1, 150);
        assert_eq!(message.bytes(), [0x08, 0x96, 0x01]);
        message.clear();
        message.text(2, "testing");
        assert_eq!(message.bytes(), [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        message.clear();
        message.nested(3, |inner| inner.uint(1, 150));
        assert_eq!(message.bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        message.clear();
        message.int(1, -2);
        let minus_two = [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(message.bytes(), minus_two);
    }

    #[test]
    fn a_nested_message_of_128_bytes_has_a_length_of_two() {
        for (inner, prefix) in [(127, &[0x7f_u8][..]), (128, &[0x80, 0x01]), (300, &[0xac, 0x02])] {
            let mut message = Message::default();
            // A key, a length of one or two bytes, and the text.
            let text = "x".repeat(inner - if inner < 130 { 2 } else { 3 });
            message.nested(2, |nested| nested.text(1, &text));
            let start = 1 + prefix.len();
            assert_eq!(&message.bytes()[1..start], prefix);
            assert_eq!(message.len(), start + inner);
        }
    }
}
