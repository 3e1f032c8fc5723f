#!/usr/bin/env bash
# A million executions of each target, or of those that are named; RUNS says how many else.
# Needs the nightly toolchain and cargo-fuzz (`cargo install cargo-fuzz`).
set -euo pipefail
cd "$(dirname "$0")/.."
fuzz/corpus.sh
if [ $# = 0 ]; then
    set -- $(cargo +nightly fuzz list)
fi
for target in "$@"; do
    dictionary=()
    [ -f "fuzz/dictionaries/$target.txt" ] && dictionary=("-dict=fuzz/dictionaries/$target.txt")
    # There is no unsafe code here, so no sanitizer: the checks of overflow and the assertions stay.
    cargo +nightly fuzz run --sanitizer none "$target" -- "-runs=${RUNS:-1000000}" -max_len=2048 -timeout=20 \
        -rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 "${dictionary[@]}"
done
