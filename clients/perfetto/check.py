"""Holds what Perfetto's SQL says of a trace against what the same run says elsewhere.

python check.py SIMSCHED ENGINE_FOLDER WORK_FOLDER
"""
import collections
import json
import os
import re
import subprocess
import sys

simsched, engine, work = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
trace, text, report, schedstat = (os.path.join(work, name) for name in
                                  ("run.pftrace", "run.ftrace", "run.json", "run.schedstat"))
SQL = {
    "bad": "select name, severity, value from stats where value > 0 and severity != 'info'",
    "switches": "select count(*) from ftrace_event where name = 'sched_switch'",
    # A slice without an end, of who still runs when the trace ends, has the length -1.
    "busy": "select cpu, sum(max(dur, 0)), count(*) from sched_slice join thread using (utid) "
            "where tid != 0 group by cpu",
    "tasks": "select tid, sum(max(dur, 0)) from sched_slice join thread using (utid) where tid != 0 group by tid",
    "open": "select cpu, count(*) from sched_slice where dur < 0 group by cpu",
    "lost": "select count(*) from thread left join process using (upid) where tid != 0 and pid is null",
    "running": "select substr(t.name, 19), max(c.value) from counter c join counter_track t "
               "on c.track_id = t.id where t.name glob 'nr_running of CPU *' group by 1",
    "counters": "select t.name, min(c.value), max(c.value), count(*) from counter c join counter_track t "
                "on c.track_id = t.id group by 1",
    "kinds": "select name, count(*) from ftrace_event group by name",
}


def asked():
    out = subprocess.run(["node", os.path.join(here, "query.mjs"), engine, trace, *SQL.values()],
                         check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    rows = [json.loads(line)["rows"] for line in out.stdout.splitlines()]
    return dict(zip(SQL, rows))


def from_text():
    """From the text of ftrace: by CPU and by task, how long it ran, in us, and how often."""
    since, busy, tasks, slices = {}, collections.Counter(), collections.Counter(), collections.Counter()
    line_of = re.compile(r"\[(\d+)\].*? +([\d.]+): sched_switch: .*prev_pid=(\d+) .*next_pid=(\d+)")
    for line in open(text):
        found = line_of.search(line)
        if not found:
            continue
        cpu, time, prev, now = int(found[1]), round(float(found[2]) * 1e6), int(found[3]), int(found[4])
        if prev and cpu in since:
            busy[cpu] += time - since[cpu]
            tasks[prev] += time - since[cpu]
        if now:
            slices[cpu] += 1
        since[cpu] = time
    return busy, tasks, slices


def pcounts():
    rows = (line.split() for line in open(schedstat) if line.startswith("cpu"))
    return {int(row[0][3:]): int(row[9]) for row in rows if int(row[9])}


def check_utilization(counters, busy, nr_cpus, llc_of):
    """Bounds of util_avg and of its sum behind an LLC; who ran for long has some, who never ran has none."""
    of = {name: {} for name in ("util_avg", "llc_util_pct", "llc_busy_cpus", "nr_running")}
    for name, low, high, _ in counters:
        kind, _, cpu = name.partition(" of CPU ")
        of[kind][int(cpu)] = (low, high)
    util, pct = of["util_avg"], of["llc_util_pct"]
    # A task that moves brings what it used elsewhere: at most one more CPU's worth for each that queues.
    for cpu, (low, high) in util.items():
        assert 0 <= low <= high <= 1024 * max(1, of["nr_running"][cpu][1]), (cpu, low, high)
    # A period of PELT is 1.05 ms; 1 ms of running leaves some 21 of 1024, if the books were brought up to date.
    ran = {cpu for cpu, time, _ in busy}
    assert set(util) <= ran, set(util) - ran
    assert {cpu for cpu, time, _ in busy if time > 5e6} <= set(util)
    first = {llc: min(cpu for cpu in range(nr_cpus) if llc_of[cpu] == llc) for llc in set(llc_of)}
    size = collections.Counter(llc_of)
    for llc, cpu in first.items():
        most = sum(util.get(other, (0, 0))[1] for other in range(nr_cpus) if llc_of[other] == llc)
        low, high = pct.get(cpu, (0, 0))
        assert 0 <= low <= high <= most * 100 / (1024 * size[llc]), (llc, low, high, most)
    assert set(pct) <= set(first.values()) and max(high for _, high in pct.values()) > 0
    return max(high for _, high in util.values()), max(high for _, high in pct.values())


def llcs(report):
    """By CPU: its LLC."""
    of = {}
    for llc, row in enumerate(report["machine"]["llcs"]):
        for span in row["cores"].replace(",", " ").split():
            first, _, last = span.partition("-")
            of.update((cpu, llc) for cpu in range(int(first), int(last or first) + 1))
    return [of[cpu] for cpu in range(len(of))]


def check(command):
    outputs = ["--trace", trace, "--ftrace", text, "--json", report, "--schedstat", "v15=" + schedstat]
    head, _, tail = command.partition(" -- ")
    subprocess.run([simsched, "run", "-q", "--whole", *head.split(), *outputs, "--", *tail.split()],
                   check=True, stdout=subprocess.DEVNULL)
    told = json.load(open(report))
    got = asked()
    assert not got["bad"], got["bad"]
    assert got["switches"] == [[told["context_switches"]]], (got["switches"], told["context_switches"])
    assert got["lost"] == [[0]] and all(count == 1 for _, count in got["open"]), (got["open"], got["lost"])
    busy, tasks, slices = from_text()
    assert {cpu: count for cpu, _, count in got["busy"]} == slices == pcounts()
    # The text has microseconds: each slice may be off by one.
    for cpu, time, count in got["busy"]:
        assert abs(time / 1000 - busy[cpu]) <= count, (cpu, time, busy[cpu])
    assert len(got["tasks"]) == len(tasks)
    for tid, time in got["tasks"]:
        assert abs(time / 1000 - tasks[tid]) <= max(50, tasks[tid] / 50), (tid, time, tasks[tid])
    kinds = dict(got["kinds"])
    assert kinds["sched_wakeup"] == told["wakeups"]["total"], (kinds, told["wakeups"]["total"])
    assert kinds.get("sched_process_fork", 0) == told["forks"]
    assert kinds.get("sched_process_exit", 0) == told["exits"]
    assert got["running"] and max(value for _, value in got["running"]) >= 2
    llc_of = llcs(told)
    util, pct = check_utilization(got["counters"], got["busy"], len(llc_of), llc_of)
    total = sum(time for _, time, _ in got["busy"])
    print(f"ok perfetto: {command}: {told['context_switches']} switches, {len(tasks)} tasks on "
          f"{len(slices)} CPUs, {total / 1e6:.3f} ms of CPU time, {os.path.getsize(trace)} bytes, "
          f"util_avg up to {util:g}, an LLC up to {pct:g} %, no errors")


check("--topo t16 --policy cfs -- hackbench -g 2 -l 50")
check("--topo t16 --policy eevdf@6.12 -- hackbench -T -g 4 -l 50")
check("--topo genoa --policy cfs --duration 100ms -- schbench -m 2 -t 8 -r 1")
