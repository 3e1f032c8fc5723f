"""Compares results.csv, results.jsonl and results.parquet of a sweep, as three libraries read them."""

import csv
import json
import sys

import pandas
import polars
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

folder = sys.argv[1]
paths = {kind: f"{folder}/results.{kind}" for kind in ("csv", "jsonl", "parquet")}

# What the standard library reads is what the others must find.
with open(paths["jsonl"], encoding="utf-8") as file:
    want = [json.loads(line) for line in file]
columns = list(want[0])
assert len(want) == 24 and len(columns) > 200, (len(want), len(columns))
for row in want:
    assert list(row) == columns


def same(found, wanted):
    """The same value; of CSV nothing is known but its text."""
    if wanted is None:
        return found is None or found == "" or found != found
    if isinstance(wanted, bool):
        return found is wanted or str(found).lower() == str(wanted).lower()
    if isinstance(wanted, str):
        return str(found) == wanted
    return found is not None and float(found) == float(wanted)


def check(name, rows, names):
    assert list(names) == columns, (name, "has other columns")
    assert len(rows) == len(want), (name, len(rows))
    for nth, (row, wanted) in enumerate(zip(rows, want)):
        for column in columns:
            assert same(row[column], wanted[column]), (name, nth, column, row[column], wanted[column])
    print(f"ok {name}: {len(rows)} rows of {len(columns)} columns")


with open(paths["csv"], encoding="utf-8", newline="") as file:
    reader = csv.DictReader(file)
    check("csv module", list(reader), reader.fieldnames)

frame = pandas.read_csv(paths["csv"])
check("pandas CSV", frame.to_dict("records"), frame.columns)
frame = pandas.read_json(paths["jsonl"], lines=True, dtype=False)
check("pandas JSON lines", frame.to_dict("records"), frame.columns)
frame = pandas.read_parquet(paths["parquet"])
check("pandas Parquet", frame.to_dict("records"), frame.columns)

table = pyarrow.csv.read_csv(paths["csv"])
check("pyarrow CSV", table.to_pylist(), table.column_names)
table = pyarrow.json.read_json(paths["jsonl"])
check("pyarrow JSON lines", table.to_pylist(), table.column_names)
table = pyarrow.parquet.read_table(paths["parquet"])
check("pyarrow Parquet", table.to_pylist(), table.column_names)
assert table.schema.field("context_switches").type == pyarrow.uint64()
assert table.schema.field("load").type == pyarrow.string()

frame = polars.read_csv(paths["csv"], infer_schema_length=None)
check("polars CSV", frame.to_dicts(), frame.columns)
frame = polars.read_ndjson(paths["jsonl"], infer_schema_length=None)
# polars keeps the names of JSON lines, but not their order.
assert sorted(frame.columns) == sorted(columns)
check("polars JSON lines", frame.to_dicts(), columns)
frame = polars.read_parquet(paths["parquet"])
check("polars Parquet", frame.to_dicts(), frame.columns)
means = frame.group_by("policy").agg(polars.col("context_switches").mean()).sort("policy")
assert means["policy"].to_list() == ["cfs@6.1", "eevdf", "fifo"]
