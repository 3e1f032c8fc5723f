//! simsched
fn main() {}
