#!/bin/sh
# perf records a small program on this machine; what `perf script` prints of it, in three layouts, is
# replayed, and so is the perf.data itself. Needs perf (Debian: linux-perf) and the right to record.
set -e
cd "$(dirname "$0")/.."
dir=${CLIENTS_DIR:-target/clients}/perf_replay
mkdir -p "$dir"
simsched=${SIMSCHED:-target/release/simsched}
command -v perf >/dev/null || apt-get install -y linux-perf >/dev/null
[ -x "$simsched" ] || cargo build --release -q -p simsched-cli
perf sched record -q -o "$dir/perf.data" -- sh -c 'for i in 1 2 3 4 5; do (echo x; sleep 0.01) | cat >/dev/null; done' >/dev/null 2>&1
perf script -i "$dir/perf.data" >"$dir/default.txt" 2>/dev/null
perf script -i "$dir/perf.data" --ns -F comm,pid,tid,cpu,time,event,trace >"$dir/ns.txt" 2>/dev/null
perf script -i "$dir/perf.data" --ns -F comm,tid,cpu,time,period,event,trace >"$dir/period.txt" 2>/dev/null
switches=$(grep -c sched_switch "$dir/ns.txt")
for trace in default.txt ns.txt period.txt perf.data; do
    "$simsched" replay "$dir/$trace" --topo t8 --set hardware=free -q --json "$dir/$trace.json" >"$dir/$trace.out"
    python3 - "$dir/$trace.json" "$switches" "$trace" <<'PY'
import json, sys
replay, switches, name = json.load(open(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
threads = replay["threads"]
exact = sum(t["recorded"]["runtime_ns"] == t["replayed"]["runtime_ns"] for t in threads)
assert 0 < replay["recorded"]["task_switches"] <= switches, (replay["recorded"], switches)
assert exact == len(threads), [t for t in threads if t["recorded"]["runtime_ns"] != t["replayed"]["runtime_ns"]]
print(f"ok {name}: {len(threads)} threads, all with their recorded runtime; "
      f"{replay['recorded']['task_switches']} switches, replayed {replay['replayed']['task_switches']}")
PY
done
