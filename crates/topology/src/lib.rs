//! Machines as the Linux scheduler sees them.
