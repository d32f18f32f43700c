#!/usr/bin/env python3
"""A changed filter in DuckDB: filter.py LOG THREADS QUERIES RUNS

QUERIES has a JSON object a line: {"clauses": [...], "step_s": N}, the clauses as in
docs/protocol.md. The log is read into a table once. Prints a JSON line for each query: the
milliseconds of each run, and the answer of the last one.
"""

import json
import sys
import time

import access_log

COMPARISONS = {"<", "<=", ">", ">="}


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def is_one_of(field, values):
    """A condition for `=`. A CIDR block is a prefix of the text of its addresses."""
    return " OR ".join(
        f"starts_with({field}, {quoted(prefix(value))})"
        if field == "client" and "/" in value
        else f"{field} = {quoted(value)}"
        for value in values
    )


def prefix(block):
    """`192.0.0.0/16` -> `192.0.`. Only whole octets are a prefix."""
    address, bits = block.split("/")
    if bits not in ("8", "16", "24"):
        sys.exit(f"filter.py: {block} does not end with an octet, so it is not a prefix of a text")
    return ".".join(address.split(".")[: int(bits) // 8]) + "."


def condition(clause):
    field, operator, values = clause["field"], clause["op"], clause["values"]
    if field == "time" and operator in COMPARISONS:
        return f"time {operator} TIMESTAMPTZ {quoted(values[0])}"
    if operator == "=":
        return f"({is_one_of(field, values)})"
    if operator == "!=":
        return f"({field} IS NULL OR NOT ({is_one_of(field, values)}))"
    if operator == "~":
        return "(" + " OR ".join(f"regexp_matches({field}, {quoted(v)})" for v in values) + ")"
    sys.exit(f"filter.py: {operator} on {field} has no translation")


def main():
    path, threads, queries, runs = sys.argv[1:5]
    connection = access_log.connect(int(threads))
    access_log.load(connection, path)
    with open(queries, encoding="utf-8") as lines:
        for query in map(json.loads, lines):
            where = " AND ".join(map(condition, query["clauses"])) or "true"
            runs_ms = []
            for _ in range(int(runs)):
                start = time.perf_counter()
                # Faster than the condition once for each list, unless nearly all rows pass.
                connection.execute(
                    f"CREATE OR REPLACE TEMP TABLE passing AS SELECT * FROM log WHERE {where}"
                )
                report = access_log.report(connection, query["step_s"], "passing")
                runs_ms.append((time.perf_counter() - start) * 1e3)
            print(json.dumps({"runs_ms": runs_ms, "report": report}), flush=True)


if __name__ == "__main__":
    main()
