#!/bin/sh
# The results of a sweep, read by pandas, pyarrow and polars: CSV, JSON lines and Parquet say the same.
#
# Installs the three into a virtual environment in $CLIENTS_DIR (default: target/clients), and builds simsched
# with the feature `parquet`, unless $SIMSCHED names one that is built so.
set -eu
cd "$(dirname "$0")/.."
dir=${CLIENTS_DIR:-target/clients}
mkdir -p "$dir"
if [ -z "${SIMSCHED:-}" ]; then
    cargo build --quiet -p simsched-cli --features parquet
    SIMSCHED=${CARGO_TARGET_DIR:-target}/debug/simsched
fi
if [ ! -x "$dir/tables/bin/python" ]; then
    python3 -m venv "$dir/tables"
    "$dir/tables/bin/pip" install --quiet pandas pyarrow polars
fi
cat >"$dir/tables.toml" <<'PLAN'
topo = "t8"
seeds = 2
[grid]
policy = ["cfs@6.1", "eevdf", "fifo"]
settings.hz = [250, 1000]
[axis.load]
'light, "or so"' = { workload = "hackbench -g 1 -f 2 -T -p -l 5" }
heavy = { workload = "hackbench -g 2 -f 2 -T -p -l 20", topo = "t16" }
PLAN
rm -rf "$dir/tables.out"
"$SIMSCHED" sweep -q --parquet "$dir/tables.toml" -o "$dir/tables.out" >"$dir/tables.txt"
"$dir/tables/bin/python" clients/tables.py "$dir/tables.out"
