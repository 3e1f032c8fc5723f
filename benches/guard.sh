#!/usr/bin/env bash
# Whether anything has moved: `benches/guard.sh [--record | --against BINARY]`, a minute once it is built.
# It compares the digests of some 80 runs with benches/digests.txt, and what some 80 commands print and
# write with crates/cli/tests/data/outputs, and compiles the fuzz targets. --record keeps what is found, for a change that is meant to
# move it, and asks whether published mechanisms still show (two minutes more); --against compares the
# output with that of another build, to the byte.
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1-}" in
"") ;;
--record) export UPDATE_DIGESTS=1 UPDATE_GOLDEN=1 ;;
--against) SIMSCHED_OTHER=$(realpath "${2:?expected the path of a simsched}") && export SIMSCHED_OTHER ;;
*) sed -n 2,7p "$0" >&2 && exit 2 ;;
esac
cp Cargo.lock fuzz/Cargo.lock
cargo check --quiet --manifest-path fuzz/Cargo.toml --target-dir target
cargo test --locked --quiet -p simsched-benches --test digests
cargo test --locked --quiet -p simsched-cli --test cli outputs::
if [[ "${1-}" == --record ]]; then
    cargo test --locked --quiet -p simsched-lab --test all mechanisms::
    cargo test --locked --quiet -p simsched-cli --test cli
fi
