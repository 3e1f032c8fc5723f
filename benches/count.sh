#!/usr/bin/env bash
# Counts the instructions of the cells: `benches/count.sh [--check[=PERCENT] | --record] [CELL...]`.
# The counts are those of the release profile as Cargo.toml has it, whatever the environment says.
set -euo pipefail
cd "$(dirname "$0")/.."
for name in $(compgen -e CARGO_PROFILE_ || true) RUSTFLAGS CARGO_ENCODED_RUSTFLAGS; do
    unset "$name"
done
cargo build --release --locked --quiet -p simsched-cli --bin simsched -p simsched-benches --bin count
exec "${CARGO_TARGET_DIR:-target}/release/count" "$@"
