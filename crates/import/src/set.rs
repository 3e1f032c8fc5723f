//! Sets of numbers as Linux and hwloc write them.

use std::collections::BTreeSet;

/// Numbers of CPUs or nodes as the source gives them.
pub(crate) type Set = BTreeSet<u32>;

/// No kernel numbers CPUs or nodes higher; a set beyond it is damage, not a machine.
pub(crate) const MOST: u32 = 65_535;

/// What may be written where a set is read.
pub(crate) const MASK: &str =
    "32-bit words in hexadecimal, the highest first, such as \"0xff,,0x0f\"";
pub(crate) const LIST: &str = "a list such as \"0-3,8\"";

/// A mask of comma-separated 32-bit words, the most significant first; an empty word is 0.
///
/// Linux writes `000000ff,ffffffff`, hwloc `0xff,,0x0f`.
pub(crate) fn mask(text: &str) -> Option<Set> {
    let mut set = Set::new();
    let words: Vec<&str> = text.trim().split(',').map(str::trim).collect();
    for (place, word) in words.iter().rev().enumerate() {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let is_hex = *word != "0x" && digits.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_hex || digits.len() > 8 {
            return None;
        }
        let bits = if digits.is_empty() { 0 } else { u32::from_str_radix(digits, 16).ok()? };
        let first = u32::try_from(place).ok()?.checked_mul(32)?;
        for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
            set.insert(first.checked_add(bit).filter(|&number| number <= MOST)?);
        }
    }
    Some(set)
}

/// A list such as `0-3,8`; empty text is the empty set.
pub(crate) fn list(text: &str) -> Option<Set> {
    let text = text.trim();
    let mut set = Set::new();
    for word in text.split(',').filter(|_| !text.is_empty()) {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        set.extend(first..=last);
    }
    Some(set)
}

/// A plain number of a CPU or node.
pub(crate) fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    let is_plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|&number| is_plain && number <= MOST)
}

/// A set as a list such as `0-3,8`.
pub(crate) fn written<'a>(numbers: impl IntoIterator<Item = &'a u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_word_of_a_mask_is_zero() {
        let found = mask("0xf0000000,,0x00000003").map(|set| written(&set));
        assert_eq!(found.as_deref(), Some("0-1,92-95"));
        assert_eq!(mask("0x8000,,0x0"), Some(Set::from([79])));
        assert_eq!(mask("00000000,00000011"), Some(Set::from([0, 4])));
        assert_eq!(mask(""), Some(Set::new()));
    }

    #[test]
    fn what_is_no_mask_is_none() {
        for text in ["0xf...f", "0x123456789", "0-3", "-1", "+1", "0x"] {
            assert!(mask(text).is_none(), "{text}");
        }
        assert_eq!(mask(&format!("1{}", ",0".repeat(5_000))), None);
    }

    #[test]
    fn a_list_is_read_and_written() {
        let text = "0-1,8-9,300";
        assert_eq!(list(text).map(|set| written(&set)).as_deref(), Some(text));
        assert_eq!(list("\n"), Some(Set::new()));
        for text in ["3-1", "0,,2", "a", "0-99999999", "-"] {
            assert_eq!(list(text), None, "{text}");
        }
    }
}
