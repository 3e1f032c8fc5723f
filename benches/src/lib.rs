//! Benchmarks of simsched; see the files beside this one.
