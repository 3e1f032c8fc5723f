//! What tells one program, or one text, from another.

use std::fs;
use std::path::Path;

use crate::failure::Failure;

/// The version of the program: its number, and the hash of its executable.
///
/// # Errors
/// When the executable cannot be read.
pub(crate) fn version() -> Result<String, Failure> {
    let path =
        std::env::current_exe().map_err(|error| Failure::file(Path::new("simsched"), &error))?;
    let bytes = fs::read(&path).map_err(|error| Failure::file(&path, &error))?;
    Ok(format!("{} {}", env!("CARGO_PKG_VERSION"), hex(&bytes)))
}

/// FNV-1a, 64 bits.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The same in 16 hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    format!("{:016x}", hash(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of the authors (Fowler, Noll, Vo).
    #[test]
    fn the_hash_is_fnv_1a() {
        for (text, want) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(hash(text.as_bytes()), want, "{text}");
        }
    }
}
