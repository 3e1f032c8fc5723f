//! What one writes with the library: `library.rs` is a run, `own_policy.rs` a policy of one's own with its
//! test, `own_workload.rs` a workload. Each is run by `cargo run -p simsched-examples --example NAME`.
