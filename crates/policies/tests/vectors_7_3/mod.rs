//! Single functions of Linux 7.3.4 against the numbers that they print (`tests/data/7.3`), each row by itself: weights,
//! virtual time and the one tree of a CPU, groups, load, balance.

mod busiest;
mod groups;
mod idle;
mod load;
mod picks;
mod places;
mod same;
mod slices;
mod tree;
mod weights;
