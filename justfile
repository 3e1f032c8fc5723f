# What continuous integration runs.
ci:
    .ci/run

# All tests.
test:
    cargo test --workspace

# The numbers of CHANGELOG.md and of commit messages: ns per event and per context switch.
bench:
    cargo bench -p simsched-benches

# Licences, advisories and duplicates of the dependencies (needs cargo-deny).
deny:
    cargo deny check
