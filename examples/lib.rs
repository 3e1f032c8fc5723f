//! `own_policy.rs` is a policy of one's own with its test:
//! `cargo run -p simsched-examples --example own_policy`. The other examples are those of the library,
//! `crates/simsched/examples`.
