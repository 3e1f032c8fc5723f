//! Single functions of Linux 7.3.4 against the numbers that they print (`tests/data/7.3`), each row by itself: weights,
//! virtual time and the one tree of a CPU, groups, load, balance, cache-aware balance.

mod busiest;
mod cache;
mod cache_account;
mod cache_busiest;
mod cache_newidle;
mod cache_passes;
mod cache_policy;
mod cache_scan;
mod cache_scene;
mod cache_task;
mod cache_trace;
mod cache_walk;
mod groups;
mod idle;
mod load;
mod picks;
mod places;
mod same;
mod slices;
mod tree;
mod weights;
