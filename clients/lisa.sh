#!/usr/bin/env bash
# LISA (PyPI: lisa-linux, some 1.1 GB with what it needs) reads our trace.dat and our text of ftrace, and finds as
# many events as were reported.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(realpath -m "${CLIENTS_DIR:-target/clients}")/lisa
if [ -z "${SIMSCHED:-}" ]; then
    cargo build --quiet -p simsched-cli
    SIMSCHED=${CARGO_TARGET_DIR:-target}/debug/simsched
fi
mkdir -p "$work"
if [ ! -e "$work/installed" ]; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -q lisa-linux 'numpy<2' 'pandas<2.3' 'pyarrow<18' nest_asyncio
    touch "$work/installed"
fi
"$SIMSCHED" run --quiet --whole --topo t8 --ftrace "$work/run.txt" --trace-dat "$work/run.dat" --json "$work/run.json" \
    -- hackbench -g 1 -l 5 > /dev/null
"$work/venv/bin/python" -W ignore - "$work/run.json" "$work/run.dat" "$work/run.txt" << 'PYTHON'
import json
import logging
import sys

logging.disable(logging.WARNING)
from lisa.trace import Trace

report = json.load(open(sys.argv[1]))
moved = report["migrations"]["total"] - report["migrations"]["by_cause"]["fork"]
expected = {
    "sched_switch": report["context_switches"],
    "sched_wakeup": report["wakeups"]["total"],
    "sched_wakeup_new": report["first_wakeups"]["total"],
    "sched_migrate_task": moved,
}
for path in sys.argv[2:]:
    trace = Trace(path, events=list(expected))
    found = {name: len(trace.df_event(name)) for name in expected}
    assert found == expected, f"LISA finds {found}, the report says {expected}"
    print(f"ok LISA: {path.rsplit('/')[-1]}:", found)
PYTHON
