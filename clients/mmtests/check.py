"""Holds the tables of compare-mmtests.pl against the JSON of the same runs.

python check.py SIMSCHED WORK_FOLDER MMTESTS
"""
import json
import os
import re
import statistics
import subprocess
import sys

simsched, work, mmtests = sys.argv[1:]


def table(folder, benchmark, names):
    """The rows of the comparison: by name of the row, the number of each policy."""
    compare = os.path.join(mmtests, "bin", "compare-mmtests.pl")
    out = subprocess.run(["perl", compare, "-d", folder, "-b", benchmark, "-n", ",".join(names)],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert out.returncode == 0 and "Failed" not in out.stderr, out.stderr
    rows = {}
    for line in out.stdout.splitlines():
        # "Amean     time-2    0.0205 (   0.00%)    0.0203 *   1.2%*"
        found = re.match(r"(\w+)\s+(\S+)\s+(.*)", line)
        if found:
            numbers = re.findall(r"(-?[\d.]+) [(*]", found[3])
            if numbers:
                rows[(found[1], found[2])] = [float(number) for number in numbers]
    return rows, out.stdout


def compared(name, workload, topo):
    folder = os.path.join(work, name)
    sides = [word for policy in POLICIES for word in ("--policy", policy)]
    subprocess.run([simsched, "compare", "-q", "--topo", topo, *sides, "--seeds", str(SEEDS),
                    "--mmtests", folder, "--", *workload.split()], check=True, stdout=subprocess.DEVNULL)
    return folder


def runs(policy, workload, topo):
    """The same runs, asked for by themselves."""
    out = subprocess.run([simsched, "run", "-q", "--topo", topo, "--policy", policy, "--seeds", str(SEEDS),
                          "--json", "-", "--", *workload.split()], check=True, stdout=subprocess.PIPE)
    return json.loads(out.stdout)["runs"]


POLICIES, SEEDS = ["cfs", "cfs@5.16"], 3
MEANS = {"Amean": statistics.fmean, "Hmean": statistics.harmonic_mean, "Min": min}


def check(benchmark, workload, row, number, digits, topo="t16"):
    """`number` is what is told of a run, of which mmtests shows so many digits."""
    rows, text = table(compared(benchmark, workload, topo), benchmark, POLICIES)
    assert row in rows, (row, text)
    expected = [MEANS[row[0]]([number(run) for run in runs(policy, workload, topo)]) for policy in POLICIES]
    # Both mmtests and what it reads are rounded.
    for ours, theirs in zip(expected, rows[row], strict=True):
        assert abs(ours - theirs) <= 1.01 * 10 ** -digits, (workload, expected, rows[row])
    print(f"ok mmtests: {workload}: {row[0]} {row[1]} {rows[row]}")


def elapsed(run):
    return run["elapsed_ns"] / 1e9


def told(key):
    return lambda run: run["workload"][key]


check("hackbench-thread-pipes", "hackbench -g 2 -l 100 -T -p", ("Amean", "time-2"), elapsed, 4)
check("hackbench-process-sockets", "hackbench -g 1 -l 100", ("Amean", "time-1"), elapsed, 4)
check("schbench", "schbench -m 1 -t 4 -r 1", ("Amean", "Wakeup-99.0th-4"), told("wakeup_latency_p99_us"), 2)
check("netperf-ipv4-tcp", "netperf -l 0.2", ("Hmean", "tcpstream-send-16384"), told("throughput"), 2)
check("netperf-ipv4-udp-rr", "netperf -t UDP_RR -l 0.2", ("Hmean", "udprr-send-1"), told("throughput"), 2)
check("stressng", "stress-ng --cpu 2 -t 1 --metrics-brief", ("Amean", "bops-cpu-2"), told("throughput"), 2)
check("sysbench", "sysbench --time=1 --threads=2", ("Hmean", "txn/sec-2"), told("throughput"), 2)
check("stream", "stream --threads 48 --array-size 1000000", ("Min", "Triad-48"), told("throughput"), 0, "genoa")
