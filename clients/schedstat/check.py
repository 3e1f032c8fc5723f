"""Holds what readers of /proc/schedstat find in ours against the JSON of the same run.

python check.py SIMSCHED WORK_FOLDER SCHBENCH MMTESTS
"""
import importlib.util
import io
import json
import os
import subprocess
import sys

simsched, work, schbench, mmtests = sys.argv[1:]
KINDS = {"idle": "idle", "busy": "not_idle", "newly_idle": "newly_idle"}
LB = ["lb_count", "lb_balanced", "lb_failed", "lb_gained", "lb_hot_gained", "lb_nobusyq", "lb_nobusyg"]
PLAIN = ["alb_count", "alb_failed", "alb_pushed", "ttwu_wake_remote", "ttwu_move_affine", "ttwu_move_balance"]


def ran(command, version):
    path, report = os.path.join(work, f"{version}.txt"), os.path.join(work, "run.json")
    head, _, tail = command.partition(" -- ")
    subprocess.run([simsched, "run", "-q", "--whole", *head.split(), "--schedstat", f"v{version}={path}", "--json", report,
                    "--", *tail.split()], check=True, stdout=subprocess.DEVNULL)
    return path, json.load(open(report))


def check_schbench(command):
    spec = importlib.util.spec_from_file_location("schedstat", os.path.join(schbench, "schedstat.py"))
    reader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    for version in (15, 16, 17):
        path, told = ran(command, version)
        # The reader opens /proc/schedstat: it is given our file for that.
        reader.open = lambda name, mode="r": io.StringIO(open(path).read())
        found, domains, cpus = reader.read_schedstat()
        assert found == version
        sums = reader.sum_domains(domains)
        each = told["domains"].values()
        for counter in LB:
            theirs = counter.replace("balanced", "balance")
            for ours, kind in KINDS.items():
                expected = sum(domain[counter][ours] for domain in each)
                assert sums[f"{theirs}_{kind}"] == expected, (version, counter, kind)
        for ours, kind in KINDS.items():
            parts = ["_load", "_util", "_task", "_misfit"] if version == 17 else [""]
            found = sum(sums[f"lb_imbalance{part}_{kind}"] for part in parts)
            assert found == sum(domain["lb_imbalance"][ours] for domain in each), (version, kind)
        for counter in PLAIN:
            assert sums[counter] == sum(domain[counter] for domain in each), (version, counter)
        assert len(cpus) == told["scenario"]["nr_cpus"]
        total = dict(zip(reader.CPU_FIELDS, [sum(column) for column in zip(*(row[:1] + row[2:] for row in cpus.values()))]))
        assert total["ttwu_count"] == told["wakeups"]["total"]
        # Each switch is a call of schedule(), and what goes idle is some of them.
        assert total["sched_count"] >= told["context_switches"] >= total["rq_pcount"]
        print(f"ok schedstat v{version}: schedstat.py: {command}: {len(domains)} domains of {len(cpus)} CPUs, {total}")


def check_mmtests(command):
    """Two readings, as its monitor writes them: an empty machine, then ours."""
    path, told = ran(command, 15)
    empty = "".join(line if not line.startswith("cpu") else line.split()[0] + " 0 0 0 0 0 0 0 0 0\n"
                    for line in open(path) if not line.startswith("domain"))
    log = os.path.join(work, "proc-schedstat-run")
    with open(log, "w") as out:
        out.write("time: 1\n" + empty + "time: 2\n" + open(path).read() + "time: 3\n")
    code = """
        use lib "$ARGV[0]/bin/lib"; use MMTests::MonitorProcschedstat;
        my $m = MMTests::MonitorProcschedstat->new();
        for my $what ("ttwu_count", "ttwu_local") {
            $m->{_LastValues} = undef; my @values;
            open(my $f, "<", $ARGV[1]); my $text = "";
            while (<$f>) { if (/^time:/) { push @values, $m->parseSchedstat($text, $what) if $text; $text = ""; }
                           else { $text .= $_; } }
            print "$values[-1]\\n";
        }"""
    out = subprocess.run(["perl", "-e", code, mmtests, log], check=True, stdout=subprocess.PIPE, text=True)
    count, local = (int(line) for line in out.stdout.split())
    assert count == told["wakeups"]["total"], (count, told["wakeups"]["total"])
    own = [line.split() for line in open(path) if line.startswith("cpu")]
    assert local == sum(int(row[6]) for row in own)
    print(f"ok schedstat v15: MonitorProcschedstat.pm: {command}: ttwu_count {count}, ttwu_local {local}")


COMMANDS = ["--topo t16 --policy cfs -- hackbench -g 2 -l 50",
            "--topo genoa --policy eevdf@6.12 --duration 200ms -- hackbench -T -g 20 -l 1000"]
for command in COMMANDS:
    if schbench:
        check_schbench(command)
    else:
        print("left out: schedstat.py (SCHBENCH names no checkout)")
    if mmtests:
        check_mmtests(command)
    else:
        print("left out: MonitorProcschedstat.pm (MMTESTS names no checkout)")
