#!/usr/bin/env bash
# Makes the seeds of all targets in fuzz/corpus out of the data of tests and documents; of lists of records each
# one, as short files are tried faster.
set -euo pipefail
cd "$(dirname "$0")/.."
into=fuzz/corpus
mkdir -p $into/{claims,hwloc_xml,machine_toml,rt_app_json,scenario_toml,trace_text}

# The records between empty lines of a file.
records() {
    awk -v RS= -v name="$2" '{ print > (name "-" NR) }' "$1"
}

# The blocks of a document in this language.
blocks() {
    awk -v open="\`\`\`$2" -v name="$3" '/^```/ { on = $0 == open; nr += on; next } on { print > (name "-" nr) }' "$1"
}

for file in claims/*.toml; do
    records "$file" "$into/claims/$(basename "$file")"
done
blocks docs/claims.md toml $into/claims/doc
# Recorded machines have 20 KB and more, of which few can be tried: one by hand, with all kinds of objects.
cat >$into/hwloc_xml/small <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
<object type="Machine" os_index="0" cpuset="0x00000003"><info name="CPUModel" value="x"/>
<info name="Architecture" value="x86_64"/>
<object type="Package" os_index="0" cpuset="0x00000003"><info name="CPUVendor" value="AuthenticAMD"/>
<object type="NUMANode" os_index="0" cpuset="0x00000003" local_memory="1024"/>
<object type="L3Cache" cpuset="0x00000003" cache_size="4096">
<object type="Core" os_index="0" cpuset="0x00000001"><object type="PU" os_index="0"/></object>
<object type="Core" os_index="1" cpuset="0x00000002"><object type="PU" os_index="1"/></object>
</object></object></object>
<distances2 type="NUMANode" nbobjs="1" kind="5" name="NUMALatency" indexing="os">
<indexes length="2">0 </indexes><u64values length="3">10 </u64values></distances2>
</topology>
XML
cp topologies/*.toml crates/cli/tests/data/machine.toml crates/workloads/tests/data/*.toml $into/machine_toml/
cp crates/workloads/tests/data/rt-app-real.json $into/rt_app_json/
blocks docs/rt-app.md json $into/rt_app_json/doc
grep -v '^#' crates/workloads/tests/data/rt-app-bad.txt | cut -f 3 | nl -ba -w 1 | while read -r nth text; do
    printf '%b' "$text" >"$into/rt_app_json/bad-$nth"
done
for document in scenarios sweep; do
    blocks docs/$document.md toml $into/scenario_toml/$document
done
cp crates/trace/tests/data/small.trace-cmd.txt $into/trace_text/
split -l 12 crates/trace/tests/data/perf-sched/script.txt $into/trace_text/script-
