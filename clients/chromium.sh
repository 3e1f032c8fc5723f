#!/usr/bin/env bash
# The pages of `simsched report` in a real browser: `clients/chromium.sh [FOLDER-FOR-SCREENSHOTS]`.
# SIMSCHED is the command, by default that of a release build. Debian's chromium and chromium-driver
# are installed if they are not there.
set -euo pipefail
cd "$(dirname "$0")/.."
simsched=${SIMSCHED:-${CARGO_TARGET_DIR:-target}/release/simsched}
[ -x "$simsched" ] || cargo build --release --quiet -p simsched-cli
command -v chromedriver > /dev/null && command -v chromium > /dev/null ||
    apt-get install -y -qq chromium chromium-driver > /dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shots=${1:-$work}
run() {
    local name=$1 policy=$2
    shift 2
    "$simsched" run --quiet --topo genoa --policy "$policy" "$@" --json "$work/$name.json" -- \
        hackbench -g 2 -l 20 > "$work/$name.txt"
}
run cfs cfs --series
run bias cfs+wakeup_bias_prev --series
run cfs-seeds cfs --seeds 3
run bias-seeds cfs+wakeup_bias_prev --seeds 3
run aware eevdf+cache_aware --llc-interval=2ms
"$simsched" run --quiet --topo spr --duration 50ms --series --json "$work/schbench.json" -- \
    schbench -m 2 -t 16 -r 1 > "$work/schbench.txt"
"$simsched" compare --quiet --topo t16 --policy cfs --policy cfs+wakeup_bias_prev --seeds 2 \
    --json "$work/compare.json" -- hackbench -g 1 -l 20 > "$work/compare.txt"
# A file without the keys that pages draw.
python3 - "$work/cfs.json" "$work/old.json" << 'PYTHON'
import json, sys
run = json.load(open(sys.argv[1]))
for key in ["machine", "migrations_by_llc", "cpu_utilisation", "histograms", "series"]:
    del run[key]
json.dump(run, open(sys.argv[2], "w"))
PYTHON
page() {
    local name=$1
    shift
    (cd "$work" && "$simsched" report "$name.html" "$@")
}
simsched=$(realpath "$simsched")
page one schbench.json
page two cfs.json bias.json
page seeds cfs-seeds.json bias-seeds.json
page compare compare.json
page aware aware.json
page old old.json
page many cfs.json bias.json aware.json schbench.json cfs-seeds.json
python3 clients/chromium/drive.py "$shots" "$work"/{one,two,seeds,compare,aware,old,many}.html
