"""Recomputes reports from exported Parquet files with DuckDB, and compares.

Reads a line of JSON for each export: `report` is a file that `weir report --json --top 1000000` wrote,
`parquet` maps kinds of records to files that `weir export --kind KIND` wrote. Prints a list of
differences for each, as a line of JSON.
"""

import bisect
import json
import re
import sys
from datetime import datetime, timedelta, timezone

import duckdb

ESCAPE = re.compile(rb"\\x([0-9A-F]{2})")
TIMES = ("request_time", "upstream_time", "upstream_connect_time", "upstream_header_time",
         "wait_time", "body_time")
STATUS_CLASSES = {"1": "1xx", "2": "2xx", "3": "3xx", "4": "4xx", "5": "5xx"}


def instant_ns(text):
    """Nanoseconds since 1970 of an RFC 3339 time."""
    match = re.fullmatch(r"(.{19})(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", text)
    zone = match[3].replace("Z", "+00:00")
    seconds = datetime.fromisoformat(match[1] + zone) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (seconds // timedelta(seconds=1)) * 10**9 + int((match[2] or "0").ljust(9, "0"))


def decoded(value, columns, name):
    """The bytes that a cell stands for."""
    if name in (columns or "").split(","):
        return ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), value.encode())
    return value.encode()


class Table:
    """An exported file."""

    def __init__(self, path):
        self.connection = duckdb.connect()
        self.connection.execute("set timezone = 'UTC'")
        self.connection.execute(f"create view t as select * from read_parquet('{path}')")
        described = self.connection.execute("describe t").fetchall()
        self.names = {row[0] for row in described}
        is_error = "status_code between 400 and 599"
        has_nanoseconds = "time_ns" in self.names
        self.time_ns = "time_ns" if has_nanoseconds else "epoch_us(time) * 1000"
        self.time_unit = 1 if has_nanoseconds else 1000
        self.sums = f"count(*), coalesce(sum(bytes), 0)::varchar, count(*) filter ({is_error})"

    def rows(self, question):
        return self.connection.execute(question).fetchall()

    def tallies(self, field):
        column = next(name for name in (f"log_{field}", field) if name in self.names)
        question = f"""select "{column}", escaped_columns, {self.sums} from t
            where "{column}" is not null group by 1, 2"""
        tallies = {}
        self.without = self.rows(f'select {self.sums} from t where "{column}" is null')[0]
        for value, escaped, count, size, errors in self.rows(question):
            key = decoded(value, escaped, column)
            old = tallies.get(key, (0, 0, 0))
            tallies[key] = (old[0] + count, old[1] + int(size), old[2] + errors)
        return tallies


def quantiles(table, column):
    """Nearest ranks, in seconds."""
    values = [row[0] for row in table.rows(
        f"select {column} from t where {column} is not null order by 1")]
    if not values:
        return None
    ranks = {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "max": 100}
    return {name: values[max(0, -(-len(values) * rank // 100) - 1)]
            for name, rank in ranks.items()}


def histogram(table, wanted):
    """The counts of the buckets of a report."""
    starts = [instant_ns(bucket["start"]) for bucket in wanted["buckets"]]
    ends = starts[1:] + [instant_ns(wanted["until"])]
    column = "status" if wanted["field"] == "status_class" else wanted["field"]
    rows = table.rows(f'select {table.time_ns}, "{column}" from t where time is not null')
    buckets = [{"start": bucket["start"], "count": 0, "by": {}} for bucket in wanted["buckets"]]
    for time, value in rows:
        index = bisect.bisect_right(starts, time) - 1
        assert 0 <= index and time < ends[index], f"{time} is in no bucket"
        bucket = buckets[index]
        bucket["count"] += 1
        if wanted["field"] == "status_class":
            is_status = re.fullmatch(r"[1-5]\d\d", value or "")
            value = STATUS_CLASSES[value[0]] if is_status else "other"
        elif value is None:
            value = "(none)"
        bucket["by"][value] = bucket["by"].get(value, 0) + 1
    return buckets


def bytes_of(row):
    """The bytes of a value of a report."""
    return bytes.fromhex(row["value_hex"]) if "value_hex" in row else row["value"].encode()


def compare_lists(table, report, differ):
    for field, distinct in report["distinct"].items():
        tallies = table.tallies(field)
        order = sorted(tallies.items(), key=lambda item: (-item[1][0], item[0]))
        listed = report["top"].get(field, [])
        rows = [(bytes_of(row), row["count"], row["bytes_sent"], row["errors"]) for row in listed]
        own = [(value, *sums) for value, sums in order]
        dashes = [row for row in rows if row[0] == b"-" and b"-" not in tallies]
        if dashes:
            # A report counts what servers write for no value, and tables have NULL. Other records may
            # lack the field.
            ((_, *sums),), without = dashes, (table.without[0], int(table.without[1]), table.without[2])
            is_part = all(part <= whole for part, whole in zip(sums, without))
            differ(f"whether `-` of {field} is NULL", is_part, True)
            if sums[0] == without[0]:
                differ(f"`-` of {field}", sums, list(without))
            rows = [row for row in rows if row[0] != b"-"]
        differ(f"distinct {field}", distinct - len(dashes), len(tallies))
        differ(f"top {field}", sorted(rows), sorted(own))
        differ(f"order of {field}", [row[1] for row in rows], [row[1] for row in own])


def compare(report, table):
    """Differences between a report of one kind and the export of the same kind."""
    found = []

    def differ(name, expected, own):
        if expected != own:
            found.append(f"{name}: {str(expected)[:300]} in the report, {str(own)[:300]} by SQL")

    ((count, size, errors),) = table.rows(f"select {table.sums} from t")
    differ("matching", report["matching"], count)
    differ("bytes_sent", report["bytes_sent"], int(size))
    differ("errors", report["errors"], errors)
    ((first, last),) = table.rows(f"select min({table.time_ns}), max({table.time_ns}) from t")
    times = [report["time"][name] for name in ("first", "last")]
    unit = table.time_unit
    differ("time", [time and instant_ns(time) // unit * unit for time in times], [first, last])
    compare_lists(table, report, differ)
    for name in TIMES:
        own, expected = quantiles(table, name), report.get(name)
        differ(f"whether there is {name}", expected is None, own is None)
        for rank in expected or {}:
            # Quantiles have 11 significant bits.
            if own and abs(own[rank] - expected[rank]) > expected[rank] / 1024:
                differ(f"{name} {rank}", expected[rank], own[rank])
    if report["histogram"]:
        wanted = report["histogram"]
        own = histogram(table, wanted)
        for expected, bucket in zip(wanted["buckets"], own):
            differ(f"bucket {expected['start']}", expected, bucket)
    return found


def main():
    for line in sys.stdin:
        job = json.loads(line)
        with open(job["report"]) as file:
            report = json.load(file)
        found = []
        for part in [report] + report.get("other_kinds", []):
            path = job["parquet"].get(part["kind"])
            if path:
                found += [f"{part['kind']}: {it}" for it in compare(part, Table(path))]
        print(json.dumps(found), flush=True)


main()
