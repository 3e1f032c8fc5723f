//! What a message to the user must look like.

/// Holds that a message is one line that can be printed on any terminal.
pub fn one_line(said: &str) {
    assert!(!said.is_empty() && !said.chars().any(char::is_control), "{said:?}");
}
