#!/bin/sh
# Readers of /proc/schedstat read --schedstat: schedstat.py of schbench (SCHBENCH, a checkout of
# github.com/masoncl/schbench) and MonitorProcschedstat.pm of mmtests (MMTESTS, a checkout of
# github.com/gormanm/mmtests). Without a checkout that reader is left out, and that is said.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
into=${CLIENTS_DIR:-$here/../target/clients}/schedstat
simsched=${SIMSCHED:-$here/../target/debug/simsched}
mkdir -p "$into"
[ -z "${MMTESTS:-}" ] || "$here/mmtests/perl.sh"
python3 "$here/schedstat/check.py" "$simsched" "$into" "${SCHBENCH:-}" "${MMTESTS:-}"
