//! Texts that are kept between commands, and carry a checksum of themselves.
//!
//! The last key of such a JSON object is `checksum`: FNV-1a of all that stands before it, in sixteen
//! hexadecimal digits. It finds what was altered by accident or by hand; it is no signature.

use serde::Serialize;

use crate::identity;

/// What stands between the other keys and the digits, and behind the digits.
const KEY: &str = ",\n  \"checksum\": \"";
const END: &str = "\"\n}\n";

/// `value`, an object with at least one key, as JSON with a checksum.
pub(crate) fn seal(value: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(value).expect("what is kept has only string keys");
    let body = json.strip_suffix("\n}").expect("what is kept is an object");
    format!("{body}{KEY}{}{END}", identity::hex(body.as_bytes()))
}

/// Whether `text` is as [`seal`] made it.
pub(crate) fn is_whole(text: &str) -> bool {
    let parts = text.strip_suffix(END).and_then(|text| text.rsplit_once(KEY));
    parts.is_some_and(|(body, sum)| sum == identity::hex(body.as_bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_flipped_bit_is_found() {
        let text = seal(&json!({ "a": 1, "b": { "c": "two" } }));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["a"], &value["b"]["c"]), (&json!(1), &json!("two")));
        assert!(is_whole(&text));
        for bit in 0..8 * text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            // What is no text any more is refused before.
            assert!(!String::from_utf8(bytes).is_ok_and(|text| is_whole(&text)), "bit {bit}");
        }
        for end in 0..text.len() {
            assert!(!is_whole(&text[..end]));
        }
    }
}
