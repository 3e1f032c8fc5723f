//! The kernels under which the lab ran its programs, as far as programs meet them in their own code.

/// A kernel of the lab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// Debian's 6.1.176, and kernels of which nothing else is known.
    #[default]
    V6_1,
    /// Debian's 6.12.107.
    V6_12,
    /// Debian's 7.3.4, and 7.2.12.
    V7_3,
}

impl Kernel {
    /// The kernel of this name, such as `6.12`, or of this release of it, such as `7.3.4`.
    #[must_use]
    pub fn named(name: &str) -> Kernel {
        let mut parts = name.split('.');
        match (parts.next(), parts.next()) {
            (Some("6"), Some("12")) => Kernel::V6_12,
            (Some("7"), Some("2" | "3")) => Kernel::V7_3,
            _ => Kernel::V6_1,
        }
    }
}
