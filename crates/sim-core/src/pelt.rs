//! `SchedAvg`: the kernel's integer decay, bit for bit; no state beside its own.
