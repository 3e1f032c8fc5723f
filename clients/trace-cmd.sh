#!/usr/bin/env bash
# trace-cmd (Debian: trace-cmd) reads our trace.dat, and prints of it what --ftrace writes, byte for byte.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(realpath -m "${CLIENTS_DIR:-target/clients}")/trace-cmd
if [ -z "${SIMSCHED:-}" ]; then
    cargo build --quiet -p simsched-cli
    SIMSCHED=${CARGO_TARGET_DIR:-target}/debug/simsched
fi
mkdir -p "$work"
command -v trace-cmd > /dev/null || apt-get install -y -q trace-cmd > "$work/apt.log"

compare() {
    local topo=$1
    shift
    "$SIMSCHED" run --quiet --topo "$topo" --duration 300ms --trace-dat "$work/run.dat" --ftrace "$work/run.txt" \
        -- "$@" > /dev/null
    trace-cmd report -N "$work/run.dat" > "$work/read.txt" 2> "$work/errors.txt"
    cmp "$work/run.txt" "$work/read.txt"
    [ ! -s "$work/errors.txt" ]
    trace-cmd report --ts-check -N "$work/run.dat" 2>&1 | { ! grep -m1 -i "backwards"; }
    echo "ok trace-cmd: $topo $*: $(($(wc -l < "$work/read.txt") - 1)) events"
}
(trace-cmd --version || true) | sed -n 2p
compare t8 hackbench -g 1 -l 5
compare genoa hackbench -g 2 -T -l 50
compare spr sysbench
