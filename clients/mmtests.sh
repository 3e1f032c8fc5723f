#!/bin/sh
# compare-mmtests.pl of mmtests (MMTESTS, a checkout of github.com/gormanm/mmtests) reads --mmtests.
# It needs perl with File::Which, File::Slurp, Math::Gradient and YAML::PP, and gawk: what is not there comes
# from Debian.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
into=${CLIENTS_DIR:-$here/../target/clients}/mmtests
simsched=${SIMSCHED:-$here/../target/debug/simsched}
if [ -z "${MMTESTS:-}" ]; then
  echo "left out: compare-mmtests.pl (MMTESTS names no checkout)"
  exit 0
fi
"$here/mmtests/perl.sh"
rm -rf "$into"
mkdir -p "$into"
python3 "$here/mmtests/check.py" "$simsched" "$into" "$MMTESTS"
