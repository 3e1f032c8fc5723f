#!/usr/bin/env bash
# The real rt-app (the build in PyPI's wheel lisa-linux, or $RT_APP) and ours refuse the same files.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(realpath -m "${CLIENTS_DIR:-target/clients}")/rt_app
if [ -z "${SIMSCHED:-}" ]; then
    cargo build --quiet -p simsched-cli
    SIMSCHED=${CARGO_TARGET_DIR:-target}/debug/simsched
fi
mkdir -p "$work"
real=${RT_APP:-$work/rt-app}
if [ ! -x "$real" ]; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" download -q --no-deps -d "$work" lisa-linux==3.1.0
    unzip -q -o -j "$work"/lisa_linux-3.1.0-*.whl 'lisa/_assets/binaries/x86_64/rt-app' -d "$work"
    chmod +x "$real"
fi
refused=0
taken=()
while IFS=$'\t' read -r place said text; do
    case $place in '' | '#'*) continue ;; esac
    printf '%b' "${text//\\n/\\n}" > "$work/bad.json"
    if "$SIMSCHED" run --quiet --topo t8 --duration 10ms -- rt-app "$work/bad.json" > /dev/null 2> "$work/ours"; then
        echo "simsched took what it is to refuse ($place, $said): $text"
        exit 1
    fi
    code=0
    (cd "$work" && timeout 5 "$real" bad.json > theirs 2>&1) || code=$?
    # 0: it took the file; 124: it was still running.
    if [ "$code" = 0 ] || [ "$code" = 124 ]; then
        taken+=("$code: $text")
    else
        refused=$((refused + 1))
    fi
done < crates/workloads/tests/data/rt-app-bad.txt
for text in "${taken[@]}"; do echo "rt-app took ($text)"; done
[ "${#taken[@]}" = 0 ] || exit 1
echo "ok rt-app: refuses $refused files that simsched refuses"
