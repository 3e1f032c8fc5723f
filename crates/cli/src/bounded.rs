//! Reading files and the standard input with a limit on their size, so that memory is bounded.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::failure::Failure;

/// The most bytes of a file that people write: a machine, a scenario, a plan, claims.
pub(crate) const WRITTEN: u64 = 1 << 26;

/// The most bytes of a file that programs write: results, tasks of rt-app, topologies.
pub(crate) const MADE: u64 = 1 << 30;

/// All that `reader` has, which is the file at `path` or its content unpacked.
///
/// # Errors
/// One sentence about what cannot be read, or that there are more than `most` bytes.
pub(crate) fn bytes(reader: impl Read, path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = reader.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Failure::file(path, &error))?;
    if bytes.len() as u64 > most {
        let what = format!("found more than {}, expected at most as much", size(most));
        return Err(Failure::Input(format!("{}: {what}", path.display())));
    }
    Ok(bytes)
}

/// The bytes of the file at `path`.
///
/// # Errors
/// One sentence about a file that cannot be read, or has more than `most` bytes.
pub(crate) fn file(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    bytes(file, path, most)
}

/// The text of the file at `path`.
///
/// # Errors
/// One sentence about a file that cannot be read, has more than `most` bytes, or is no text in UTF-8.
pub(crate) fn text(path: &Path, most: u64) -> Result<String, Failure> {
    utf8(file(path, most)?, path)
}

/// What was read from `path` as text.
///
/// # Errors
/// When it is none in UTF-8.
pub(crate) fn utf8(bytes: Vec<u8>, path: &Path) -> Result<String, Failure> {
    String::from_utf8(bytes)
        .map_err(|_| Failure::Input(format!("{}: the file is not text", path.display())))
}

/// So many bytes in the largest unit of which they are a multiple.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or(format!("{bytes} bytes"), |(shift, unit)| format!("{} {unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_when_it_is_too_long() {
        let endless = std::io::repeat(b'x');
        let failure = bytes(endless, Path::new("endless"), 2 << 20).unwrap_err();
        let said = "endless: found more than 2 MiB, expected at most as much";
        assert_eq!((failure.code(), failure.to_string().as_str()), (2, said));
        assert_eq!(bytes(&b"abc"[..], Path::new("short"), 3).unwrap(), b"abc");
        assert!(bytes(&b"abcd"[..], Path::new("long"), 3).is_err());
        assert_eq!(size(1500), "1500 bytes");
    }
}
