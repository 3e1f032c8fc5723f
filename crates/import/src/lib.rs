//! Descriptions of real machines, read into machine files.
//!
//! What hwloc, `lscpu` and `/sys/devices/system` tell of a machine are its facts: CPUs, cores, caches,
//! nodes, distances. What things cost there none of them tells; prices are taken from the nearest machine
//! that is known, and each is marked so.
