# What continuous integration runs.
ci:
    .ci/run

# All tests.
test:
    cargo test --workspace

# Facts of kernel 7.3 that are marked as missed: what comes out instead. Fails where one of them holds.
facts:
    cargo test -p simsched-lab --test all -- --ignored facts_7_3 | tee target/facts.txt
    grep -q '^test result' target/facts.txt
    ! grep ' ok$' target/facts.txt

# The fair class beside the kernel's own code of 7.2 and 7.3, too (installs their sources; takes six minutes).
kernels *TESTS:
    .ci/kernels {{TESTS}}

# CPU time: ns per event and per context switch.
bench:
    cargo bench -p simsched-benches

# Instructions of the same runs against benches/counts.toml (needs valgrind).
count:
    benches/count.sh --check

# Licences, advisories and duplicates of the dependencies (needs cargo-deny).
deny:
    cargo deny check

# What is written and read, held against the real programs (installs them; takes many minutes).
clients:
    clients/run.sh

# A million random executions of each reader of files, or of those that are named (needs nightly, cargo-fuzz).
fuzz *TARGETS:
    fuzz/run.sh {{TARGETS}}
