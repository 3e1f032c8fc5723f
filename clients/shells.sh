#!/bin/sh
# Completions and man pages, read by the shells and by man and groff, where they are installed.
set -eu
cd "$(dirname "$0")/.."
dir=${CLIENTS_DIR:-target/clients}/shells
mkdir -p "$dir"
if [ -z "${SIMSCHED:-}" ]; then
    cargo build --quiet -p simsched-cli
    SIMSCHED=${CARGO_TARGET_DIR:-target}/debug/simsched
fi
for shell in bash zsh fish; do
    "$SIMSCHED" completions $shell >"$dir/completions.$shell"
    if command -v $shell >/dev/null; then
        $shell -n "$dir/completions.$shell"
        echo "ok $shell -n"
    else
        echo "-- $shell is not installed"
    fi
done
# What bash completes, for three beginnings.
if command -v bash >/dev/null; then
    bash -c '
        source "$1"
        try() {
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
            _simsched simsched "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
            echo "${COMPREPLY[*]}"
        }
        [ "$(try simsched sw)" = sweep ]
        [ "$(try simsched run --prec)" = "--precision --precision-limit" ]
        [ "$(try simsched topo sh)" = show ]
    ' bash "$dir/completions.bash"
    echo "ok bash completes"
fi
rm -rf "$dir/man"
"$SIMSCHED" man -o "$dir/man"
for page in "$dir"/man/*.1; do
    if command -v groff >/dev/null; then
        said=$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)
        [ -z "$said" ] || { echo "$page: $said"; exit 1; }
    fi
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W error "$page"
    fi
done
if command -v man >/dev/null; then
    MANWIDTH=100 man -l "$dir/man/simsched-sweep.1" 2>/dev/null | grep -q -e --shard
fi
echo "ok man pages: $(ls "$dir/man" | wc -l)"
