#!/usr/bin/env python3
"""The expected output of `weir report --json FILE`, computed naively.

Usage: report.py [--layout combined|vcombined|common|vcommon] [--top N] [--step SECONDS]
                 [--offset SECONDS] FILE

Prints the keys of `weir report --json` that it computes. `--step` is the histogram's step,
and `--offset` the report's offset from UTC; take both from the output of Weir. Needs only Python
3.8 or newer. The file is read whole.
"""

import argparse
import collections
import datetime
import json
import re
import sys

LINE_BYTES_MAX = 1 << 20
MONTHS = b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
EPOCH = datetime.datetime(1970, 1, 1)

# Quoted text ends at the first quote without an odd number of backslashes before it.
QUOTED = rb'"((?:[^"\\]|\\.)*)"'
HOST = re.compile(rb"([^ :]+):[0-9]+ (.*)", re.DOTALL)
HEAD = re.compile(rb"([^ ]+) ([^ ]+) (.*)", re.DOTALL)
TIME = re.compile(
    rb"([0-9]{2})/([A-Za-z]{3})/([0-9]{4}):([0-9]{2}):([0-9]{2}):([0-9]{2}) "
    rb"([+-])([0-9]{2})([0-9]{2})\] (.*)",
    re.DOTALL,
)
REQUEST = re.compile(QUOTED + rb" ([0-9]{3}|-) ([0-9]{1,20}|-)(.*)", re.DOTALL)
QUOTES = re.compile(rb" " + QUOTED + rb" " + QUOTED, re.DOTALL)
# A request without a version.
SHORT = re.compile(
    rb"(GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE) ((?:/|[A-Za-z0-9]{1,15}://)[^ ]*)()")
HTTP = re.compile(rb"([A-Za-z0-9!#$%&'*+.^_`|~-]*[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]*) (.*) (HTTP/[0-9]+(?:\.[0-9]+)?)", re.DOTALL)


def lines_of(log):
    """Returns the lines without their ends and leading NULs."""
    lines = [line.lstrip(b"\0") for line in log.split(b"\n")]
    if not lines[-1]:
        lines.pop()
    return [line[:-1] if line.endswith(b"\r") else line for line in lines]


def seconds(match):
    """Returns the seconds since 1970, or None if the time does not exist."""
    day, month, year, hour, minute, second, sign, hours, minutes, _ = match.groups()
    if month not in MONTHS or int(second) > 60 or int(hours) > 23 or int(minutes) > 59:
        return None
    try:
        local = datetime.datetime(
            int(year), MONTHS.index(month) + 1, int(day), int(hour), int(minute)
        )
    except ValueError:
        return None
    offset = (int(hours) * 60 + int(minutes)) * 60
    # A leap second counts as the next second.
    since = (local - EPOCH) // datetime.timedelta(seconds=1) + int(second)
    since -= -offset if sign == b"-" else offset
    # Weir stores times as nanoseconds in 64 bits.
    return since if -(2**63) <= since * 10**9 < 2**63 else None


def record_of(layout, line):
    """Returns the fields of a line, or None if it is not in the layout."""
    record = {}
    if layout.startswith("v"):
        host = HOST.fullmatch(line)
        if not host:
            return None
        record["host"], line = host.groups()
    head = HEAD.fullmatch(line)
    if not head:
        return None
    record["client"], _, rest = head.groups()
    user, bracket, rest = rest.partition(b" [")
    time = TIME.fullmatch(rest)
    if not user or not bracket or not time:
        return None
    record["user"] = user
    record["time"] = seconds(time)
    request = REQUEST.fullmatch(time.group(10))
    if record["time"] is None or not request:
        return None
    text, record["status"], size, rest = request.groups()
    if size != b"-" and int(size) >= 2**64:
        return None
    record["bytes"] = 0 if size == b"-" else int(size)
    http = HTTP.fullmatch(text) or SHORT.fullmatch(text)
    if http:
        record["method"], target, protocol = http.groups()
        if protocol:
            record["protocol"] = protocol
        record["path"], mark, query = target.partition(b"?")
        if mark:
            record["query"] = query
    else:
        record["request"] = text
    if layout.endswith("common"):
        return None if rest else record
    quotes = QUOTES.fullmatch(rest)
    if not quotes:
        return None
    record["referer"], record["user_agent"] = quotes.groups()
    return record


def is_error(record):
    return record["status"] != b"-" and 400 <= int(record["status"]) <= 599


def status_class(record):
    first = record["status"][:1].decode()
    return first + "xx" if first in "12345" else "other"


def top(records, field, rows):
    """Returns the most frequent values; equally frequent ones in the order of their bytes."""
    counts, sizes, errors = (collections.Counter() for _ in range(3))
    for record in records:
        if field in record:
            counts[record[field]] += 1
            sizes[record[field]] += record["bytes"]
            errors[record[field]] += is_error(record)
    values = sorted(counts, key=lambda value: (-counts[value], value))[:rows]
    return [row(value, counts[value], sizes[value], errors[value]) for value in values]


def row(value, count, bytes_sent, errors):
    text = value.decode("utf-8", "replace")
    found = {"value": text, "count": count, "bytes_sent": bytes_sent, "errors": errors}
    if text.encode() != value:
        found["value_hex"] = value.hex()
    return found


def rfc3339(second, offset):
    local = EPOCH + datetime.timedelta(seconds=second + offset)
    sign, minutes = "-" if offset < 0 else "+", abs(offset) // 60
    zone = f"{sign}{minutes // 60:02}:{minutes % 60:02}" if minutes else "Z"
    return local.isoformat(timespec="seconds") + zone


def histogram(records, step, offset):
    """Every bucket from the first record to the last."""
    if not records:
        return None
    buckets = collections.defaultdict(collections.Counter)
    for record in records:
        buckets[(record["time"] + offset) // step][status_class(record)] += 1
    numbers = range(min(buckets), max(buckets) + 1)
    if len(numbers) > 1 << 20:
        sys.exit(f"report.py: {len(numbers)} buckets; choose a --step longer than {step}")
    return {
        "step_s": step,
        "field": "status_class",
        "until": rfc3339(numbers.stop * step - offset, offset),
        "buckets": [
            {
                "start": rfc3339(number * step - offset, offset),
                "count": sum(buckets[number].values()),
                "by": dict(buckets[number]),
            }
            for number in numbers
        ],
    }


def report(log, layout, rows, step, offset):
    lines = lines_of(log)
    short = [line for line in lines if len(line) <= LINE_BYTES_MAX]
    records = [record for line in short if (record := record_of(layout, line))]
    empty = sum(not line.strip(b" \t\n\x0c\r") for line in short)
    times = [record["time"] for record in records]
    fields = sorted({field for record in records for field in record} - {"time", "bytes"})
    return {
        "lines": len(lines),
        "records": len(records),
        "matching": len(records),
        "empty_lines": empty,
        "unparsed_lines": len(short) - empty - len(records),
        "too_long_lines": len(lines) - len(short),
        "bytes_read": len(log),
        "bytes_sent": sum(record["bytes"] for record in records),
        "errors": sum(map(is_error, records)),
        "time": {
            "first": rfc3339(min(times), offset) if times else None,
            "last": rfc3339(max(times), offset) if times else None,
        },
        "histogram": histogram(records, step, offset),
        "distinct": {
            field: len({record[field] for record in records if field in record})
            for field in fields
        },
        "top": {field: top(records, field, rows) for field in fields},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    layouts = ["combined", "vcombined", "common", "vcommon"]
    parser.add_argument("--layout", choices=layouts, default="combined")
    parser.add_argument("--top", type=int, default=10)
    parser.add_argument("--step", type=int, default=3600)
    parser.add_argument("--offset", type=int, default=0)
    parser.add_argument("file")
    options = parser.parse_args()
    with open(options.file, "rb") as file:
        log = file.read()
    found = report(log, options.layout, options.top, options.step, options.offset)
    json.dump(found, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
