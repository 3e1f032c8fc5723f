#!/usr/bin/env python3
"""Writes docs/figures.md: how far simsched is to be trusted, in figures of this very build.

    docs/figures.py [--simsched COMMAND] [LAB_FOLDER...]

counts the vectors of the tests, runs `simsched lab` on the folders (those of the repository if none are
named; about a minute each) and reads claims/kept. Needs Python 3.9 and nothing else.
"""

import argparse
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BARS = {"exact": 97, "tight": 88, "loose": 72}


def rows(path):
    """The rows of numbers in a file of vectors."""
    with gzip.open(path, "rt") as text:
        if path.name.endswith(".csv.gz"):
            return sum(1 for line in text if line.strip() and not line.startswith("#")) - 1
        if path.name.endswith(".jsonl.gz"):
            return sum(1 for line in text if line.strip())
        return 1


def vectors():
    yield "## The kernel's arithmetic and decisions, to the bit\n"
    yield "Numbers that the kernel's own functions printed; `cargo test` replays all of them and accepts no"
    yield "difference.\n"
    yield "| of | what | rows |\n| --- | --- | --- |"
    kinds = {"6.1": "Linux 6.1", "6.12": "Linux 6.12", "7.3": "Linux 7.3", "common": "6.1 and 6.12"}
    kinds["data"] = "all (PELT)"
    found = {}
    for path in sorted(ROOT.glob("crates/*/tests/data/**/*.gz")):
        kernel = kinds.get(path.parent.name)
        if kernel and "lab" not in path.parts:
            name = re.sub(r"_(\d|[a-z]+_\d+x.*)$", "", path.name.split(".")[0])
            count, names = found.get(kernel, (0, []))
            found[kernel] = (count + rows(path), names + [name] * (name not in names))
    for kernel, (count, names) in found.items():
        yield f"| {kernel} | {', '.join(f'`{name}`' for name in names)} | {count:,} |"


def lab(command, folders):
    yield "\n## A running kernel's decisions\n"
    yield "Scenarios that a kernel ran on a virtual machine in virtual time, traced by its own ftrace: metrics"
    yield "that lie in the range over the kernel's seeds, or within 5 % of their mean (exact, tight) or 25 %"
    yield "(loose), of those on which the kernel's seeds agree.\n"
    yield "| kernel and machine | class | met | of | % |\n| --- | --- | --- | --- | --- |"
    for folder in folders:
        bars = ",".join(f"{name}=0" for name in BARS)
        # 2: a scenario has no program, and what it lacks counts as missed.
        told = run(command, ["lab", "-q", "--bar", bars, "--json", "-", folder], good=(0, 2))
        for one in told["folders"]:
            variant = one.get("variant")
            title = f"{one['kernel']}-{one['topology']}" + (f", {variant}" if variant else "")
            met = {}
            for scenario in one["scenarios"]:
                for metric in scenario["metrics"]:
                    if metric["verdict"] in ("met", "missed"):
                        good, all_of = met.get(metric["class"], (0, 0))
                        met[metric["class"]] = (good + (metric["verdict"] == "met"), all_of + 1)
            for name, (good, all_of) in met.items():
                part = 100 * good / all_of
                yield f"| {title} | {name} | {good} | {all_of} | {part:.1f} |"


def claims():
    yield "\n## Published results\n"
    yield "Each claim is a published change of a metric by a patch, simulated on both sides with the same"
    yield "seeds. Balanced accuracy is the mean, over the classes better, neutral and worse, of the part of"
    yield "the published rows of that class for which the simulation says the same; 0.33 is guessing. Claims"
    yield "whose interval holds two classes are not in it; README.md counts them by their means."
    yield "From [claims/kept](../claims/kept/README.md).\n"
    yield "| claims | of | judged | agree | undecided | balanced accuracy | median error (points) |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for path in sorted((ROOT / "claims" / "kept").glob("*.json")):
        told = json.loads(path.read_text())
        for name, score in {"all": told["score"], **told["score_by_kind"]}.items():
            if not score["judged"]:
                continue
            accuracy, error = score["balanced_accuracy"], score["median_error_points"]
            said = [("-" if number is None else f"{number:.2f}") for number in (accuracy, error)]
            counts = f"{score['judged']} | {score['agree']} | {score['undecided']}"
            yield f"| {path.stem} | {name.replace('_', ' ')} | {counts} | {' | '.join(said)} |"


def run(command, args, good=(0,)):
    done = subprocess.run([*command, *args], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if done.returncode not in good:
        sys.exit(f"simsched {' '.join(args)} ended with {done.returncode}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--simsched", default="target/release/simsched")
    parser.add_argument("folders", nargs="*")
    given = parser.parse_args()
    folders = given.folders or sorted(map(str, ROOT.glob("crates/lab/tests/data/6*")))
    command = [str(Path(given.simsched).resolve())]
    lines = ["# Figures", "", "Written by `docs/figures.py`; [trust.md](trust.md) says what they mean.", ""]
    lines += [*vectors(), *lab(command, folders), *claims()]
    page = ROOT / "docs" / "figures.md"
    new = page.with_suffix(".tmp")
    new.write_text("\n".join(lines) + "\n")
    new.replace(page)


if __name__ == "__main__":
    main()
