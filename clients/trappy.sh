#!/usr/bin/env bash
# TRAPpy (PyPI: trappy) reads our text of ftrace and our trace.dat, and finds as many events as were reported.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(realpath -m "${CLIENTS_DIR:-target/clients}")/trappy
if [ -z "${SIMSCHED:-}" ]; then
    cargo build --quiet -p simsched-cli
    SIMSCHED=${CARGO_TARGET_DIR:-target}/debug/simsched
fi
mkdir -p "$work"
command -v trace-cmd > /dev/null || apt-get install -y -q trace-cmd > "$work/apt.log"
if [ ! -x "$work/venv/bin/python" ]; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -q trappy==6.0.1
fi
"$SIMSCHED" run --quiet --whole --topo t8 --ftrace "$work/run.txt" --trace-dat "$work/run.dat" --json "$work/run.json" \
    -- hackbench -g 1 -l 5 > /dev/null
for trace in run.txt run.dat; do
    "$work/venv/bin/python" -W ignore - "$work/$trace" "$work/run.json" << 'PYTHON'
import json
import sys

import trappy

trace = trappy.FTrace(sys.argv[1], normalize_time=False)
report = json.load(open(sys.argv[2]))
switches = trace.sched_switch.data_frame
expected = {
    "sched_switch": (len(switches), report["context_switches"]),
    "of tasks": (int((switches.prev_pid != 0).sum()), report["task_switches"]),
    "sched_wakeup": (len(trace.sched_wakeup.data_frame), report["wakeups"]["total"]),
    "sched_wakeup_new": (len(trace.sched_wakeup_new.data_frame), report["first_wakeups"]["total"]),
}
for name, (found, reported) in expected.items():
    assert found == reported, f"{name}: TRAPpy finds {found}, the report says {reported}"
assert switches.index.is_monotonic_increasing
print(f"ok TRAPpy: {sys.argv[1].rsplit('/')[-1]}:", {k: v[0] for k, v in expected.items()})
PYTHON
done
