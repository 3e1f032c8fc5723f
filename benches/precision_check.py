#!/usr/bin/env python3
"""Holds `simsched run --precision` against the exact run, seed by seed.

    benches/precision_check.py [--seeds N] [--precision P%] [--simsched PATH] TOPO POLICY -- WORKLOAD

Each seed is run twice: as a whole, and with --precision. For each of the three figures (the time of the
job, or the operations of one that runs for a fixed time; migrations; context switches) it counts in how
many seeds the exact number lies within the interval that the sampled run gives beside its own.
An interval of 95 % holds 19 of 20 in the mean; the bar is 18 of 20 (9 of 10), and the exit code is 1 below it.
Seeds that were simulated as a whole, because sampling could not have saved anything, are counted apart.
"""
import argparse
import json
import subprocess
import sys

KEYS = {"migrations": ("migrations", "total"), "context_switches": ("context_switches",)}


def run(args, extra):
    command = [args.simsched, "run", "--quiet", "--topo", args.topo, "--policy", args.policy,
               "--seeds", str(args.seeds), "--json", "-", *extra, "--", *args.workload]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}")
    return json.loads(done.stdout)["runs"]


def at(report, path):
    for key in path:
        report = report[key]
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--precision", default="2%")
    parser.add_argument("--simsched", default="target/release/simsched")
    parser.add_argument("topo")
    parser.add_argument("policy")
    parser.add_argument("workload", nargs="+")
    args = parser.parse_args()
    exact, sampled = run(args, []), run(args, ["--precision", args.precision])
    whole = sum(found["precision"]["exact"] for found in sampled)
    missed = sum(not found["precision"]["reached"] for found in sampled)
    events = [sum(report["events"] for report in runs) for runs in (exact, sampled)]
    print(f"{len(sampled)} seeds, {whole} of them simulated as a whole, {missed} less precise than asked for; "
          f"{events[1] / events[0]:.3f} of the events")
    good = True
    for name in sampled[0]["precision"]["figures"]:
        held, widths, errors = 0, [], []
        for all_of_it, found in zip(exact, sampled):
            figure = found["precision"]["figures"][name]
            # A program of a fixed time says no operations: its own throughput stands for them.
            path = KEYS.get(name, ("simulated_ns",) if name == "time" else ("workload", "throughput"))
            truth = at(all_of_it, path)
            value = figure["value"] if name != "operations" else at(found, path)
            half = (figure["ci95_pct"] or 0.0) / 100.0 * value
            held += abs(value - truth) <= half + 1e-9 * truth
            widths.append(figure["ci95_pct"] or 0.0)
            errors.append(100.0 * (value - truth) / truth if truth else 0.0)
        ok = 10 * held >= 9 * len(sampled)
        good &= ok
        print(f"{name:17} within its interval {held} of {len(sampled)}{'' if ok else '  BELOW THE BAR'}; "
              f"half intervals {min(widths):.2f} to {max(widths):.2f} %; "
              f"errors {min(errors):+.2f} to {max(errors):+.2f} %, mean {sum(errors) / len(errors):+.2f} %")
    sys.exit(0 if good else 1)


main()
