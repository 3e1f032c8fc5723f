//! All tests of this crate in one program: it is compiled and linked once.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod common;
mod damage;
mod domains;
mod errors;
mod errors_first;
mod errors_shape;
mod imb_numa_nr;
mod lab;
mod lab_prices;
mod machines;
mod os_numbers;
mod props;
mod readme;
mod render;
mod vectors;
