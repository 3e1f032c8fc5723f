#!/usr/bin/env bash
# Machines as hwloc and lscpu count them, against `simsched topo import`.
#
#   clients/hwloc.sh            the files of crates/import/tests/data, this machine, and made-up machines
#   HWLOC_SRC=DIR clients/hwloc.sh    and all XML files and tarballs of a checkout of open-mpi/hwloc
#
# $SIMSCHED is the command (default: target/release/simsched, else target/debug/simsched).
# hwloc 2.9 reads XML 2.0: files of format 3.0 are handed to it with the older number, as the objects
# that are counted are the same in both.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${CLIENTS_DIR:-${CARGO_TARGET_DIR:-target}/clients}/hwloc
rm -rf "$dir" && mkdir -p "$dir"
target=${CARGO_TARGET_DIR:-target}
simsched=${SIMSCHED:-$target/release/simsched}
[ -x "$simsched" ] || simsched=$target/debug/simsched
if ! command -v hwloc-calc >/dev/null || ! command -v lstopo-no-graphics >/dev/null; then
    apt-get install -y -q hwloc >/dev/null
fi
same=0 refused=0 failed=0

# "CPUs cores packages LLCs nodes" of an XML file. Where hwloc has no core, each CPU is one; nodes without
# CPUs are those that hwloc gives CPUs which another node of a lower number or smaller set has already.
theirs() {
    local n counts=() last
    for n in pu core package l3cache numanode; do
        counts+=("$(hwloc-calc --if xml -i "$1" --disallowed -N $n all 2>/dev/null || true)")
    done
    last=${counts[3]:-0}
    [ "${last:-0}" -gt 0 ] || last=$(hwloc-calc --if xml -i "$1" --disallowed -N l2cache all 2>/dev/null)
    echo "${counts[0]} ${counts[1]:-${counts[0]}} ${counts[2]} $last ${counts[4]}"
}

ours() {
    sed -nE 's/^.*: ([0-9]+) CPUs?, ([0-9]+) cores?, ([0-9]+) packages?, ([0-9]+) last-level caches?( of [0-9]+ KiB)?, ([0-9]+) NUMA nodes?;.*/\1 \2 \3 \4 \6/p' "$1"
}

# What hwloc counts, with two of its cores as one.
as_modules() { awk '{ $2 = $2 / 2; print }' <<<"$1"; }

# A source for us, and the XML of the same machine for hwloc.
compare() {
    local source=$1 xml=$2 name; name=$(basename "$source")
    if ! "$simsched" topo import "$source" -o "$dir/m.toml" 2>"$dir/said"; then
        if [ "$(wc -l <"$dir/said")" = 1 ] && ! grep -q panicked "$dir/said"; then
            refused=$((refused + 1)); echo "refused $(cut -d' ' -f2- "$dir/said")"
        else
            failed=$((failed + 1)); echo "FAILED $name: $(head -3 "$dir/said")"
        fi
        return
    fi
    local bare extra=0 mine his
    bare=$(sed -nE 's/.*nodes without CPUs are left out \(([0-9,-]+)\).*/\1/p' "$dir/said")
    for range in ${bare//,/ }; do extra=$((extra + ${range#*-} - ${range%-*} + 1)); done
    mine=$(ours "$dir/said" | awk -v extra=$extra '{ $5 += extra; print }')
    his=$(theirs "$xml")
    # hwloc drops nodes of GPUs and others that are bare; it counts the cores of AMD's modules apart.
    if [ "$mine" = "$his" ] || [ "$(ours "$dir/said")" = "$his" ]; then
        "$simsched" topo check "$dir/m.toml" >/dev/null
        "$simsched" run -q --topo "$dir/m.toml" -- hackbench -g 1 -f 2 -l 2 >/dev/null
        same=$((same + 1))
    elif grep -q 'model = ".*Opteron.* 6[23]' "$dir/m.toml" && [ "$(as_modules "$his")" = "$mine" ]; then
        "$simsched" topo check "$dir/m.toml" >/dev/null
        echo "as Linux counts $name: $mine, hwloc: $his (modules of AMD 15h)"; same=$((same + 1))
    else
        failed=$((failed + 1)); echo "FAILED $name: ours $mine, hwloc $his (CPUs cores packages LLCs nodes)"
    fi
}

as_xml2() { sed '0,/topology version="3.0"/s//topology version="2.0"/' "$1" >"$2"; }

for packed in crates/import/tests/data/hwloc/*.xml.gz; do
    name=$(basename "$packed" .gz)
    gzip -dc "$packed" >"$dir/$name"
    as_xml2 "$dir/$name" "$dir/v2.xml"
    compare "$dir/$name" "$dir/v2.xml"
done
for shape in "package:2 numa:1 l3:12 l2:8 core:1 pu:2" "package:4 l3:1 numa:2 core:9 pu:1" "package:1 l2:4 core:2 pu:4"; do
    lstopo-no-graphics -i "$shape" --of xml -f "$dir/shape.xml" 2>/dev/null
    compare "$dir/shape.xml" "$dir/shape.xml"
done
if lstopo-no-graphics --of xml -f "$dir/live.xml" 2>/dev/null && [ -e /sys/devices/system/cpu/cpu0/topology ]; then
    compare /sys/devices/system "$dir/live.xml"
    lscpu -p >"$dir/lscpu.txt" && compare "$dir/lscpu.txt" "$dir/live.xml"
fi
if [ -n "${HWLOC_SRC:-}" ]; then
    for xml in "$HWLOC_SRC"/tests/hwloc/{xml,x86,linux,linux/allowed,x86+linux}/*.xml; do
        as_xml2 "$xml" "$dir/v2.xml"
        compare "$xml" "$dir/v2.xml"
    done
    for packed in "$HWLOC_SRC"/tests/hwloc/{linux,x86+linux}/*.tar.bz2; do
        rm -rf "$dir/tree" && mkdir "$dir/tree" && tar xjf "$packed" -C "$dir/tree"
        tree=$(find "$dir/tree" -maxdepth 4 -path '*/sys/devices' -type d | head -1); tree=${tree%/sys/devices}
        [ -n "$tree" ] || tree=$dir/tree
        HWLOC_COMPONENTS=linux,stop lstopo-no-graphics --disallowed --if fsroot -i "$tree" --of xml \
            -f "$dir/tree.xml" 2>/dev/null || true
        compare "$packed" "$dir/tree.xml"
        rm -f "$dir/tree.xml"
    done
fi
echo "$same machines count alike, $refused are refused with a sentence, $failed differ"
[ "$failed" = 0 ] && echo "ok hwloc $(lstopo-no-graphics --version | awk '{print $2}')"
