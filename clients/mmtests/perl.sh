#!/bin/sh
# What the programs of mmtests need of perl and gawk, from Debian's packages if it is not there.
set -eu
if ! perl -MFile::Which -MFile::Slurp -MMath::Gradient -MYAML::PP -e 1 2>/dev/null || ! command -v gawk >/dev/null; then
  apt-get install -y -q libfile-which-perl libfile-slurp-perl libmath-gradient-perl libyaml-pp-perl gawk >/dev/null
fi
