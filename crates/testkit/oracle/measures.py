"""Computes the measures of groups again, from the lines of logs in combined format, and compares.

Reads a line of JSON for each job: `log` is the file, `zone` the zone of its dates, `by` the fields, and
`counted` what `weir count --json --by` printed. Prints a list of differences for each, as a line of JSON.
Shares no code with Weir, and no method: visits are found by sorting the times of each visitor.
"""

import collections
import json
import math
import re
import sys
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

LINE = re.compile(
    rb'(\S+) \S+ .*?\[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d{3}) (\d+|-) "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"'
)
QUIET_S = 1800


class Request:
    def __init__(self, match, zone):
        client, time, request, status, size, _, agent = (part.decode() for part in match.groups())
        self.time = datetime.strptime(time, "%d/%b/%Y:%H:%M:%S %z").astimezone(zone)
        self.unix_s = int(self.time.timestamp())
        self.date = self.time.strftime("%Y-%m-%d")
        self.client, self.status = client, status
        self.agent = None if agent == "-" else agent
        self.bytes = None if size == "-" else int(size)
        parts = request.split(" ")
        self.path = parts[1].split("?", 1)[0] if len(parts) == 3 else None

    def value(self, field):
        if field == "hour":
            return self.time.strftime("%H")
        if field == "time/1h":
            return self.time.strftime("%Y-%m-%d %H:00")
        if field == "time/1m":
            return self.time.strftime("%Y-%m-%d %H:%M")
        return getattr(self, field)


def visits(times):
    """How often a visitor came: each pause of half an hour begins a visit."""
    times = sorted(times)
    return 1 + sum(later - earlier >= QUIET_S for earlier, later in zip(times, times[1:]))


def measures(requests):
    """What is counted of some requests."""
    seen = collections.defaultdict(list)
    for request in requests:
        seen[request.client, request.agent].append(request)
    sizes = sorted(request.bytes for request in requests if request.bytes is not None)
    times = [request.unix_s for request in requests]
    return {
        "requests": len(requests),
        "bytes": sum(sizes),
        "errors": sum(request.status[0] in "45" for request in requests),
        "visitors": sum(len({request.date for request in own}) for own in seen.values()),
        "visits": sum(visits([request.unix_s for request in own]) for own in seen.values()),
        "clients": len({request.client for request in requests}),
        "max:bytes": sizes[-1] if sizes else None,
        "p95:bytes": sizes[math.ceil(len(sizes) * 0.95) - 1] if sizes else None,
        "first_seen": min(times),
        "last_seen": max(times),
    }


def counted(row):
    """The measures of a row that Weir printed."""
    own = {"requests": row["count"], "bytes": row["bytes_sent"], "errors": row["errors"], **row["measures"]}
    for name in ("first_seen", "last_seen"):
        own[name] = int(datetime.fromisoformat(own[name]).timestamp())
    return own


def is_near(name, own, wanted):
    """Whether two numbers are the same, or differ as percentiles may."""
    if name.startswith("p") and None not in (own, wanted):
        return abs(own - wanted) <= wanted / 2048
    return own == wanted


def compare(job):
    zone = ZoneInfo(job["zone"]) if job["zone"] != "UTC" else timezone.utc
    with open(job["log"], "rb") as log:
        matches = [LINE.match(line) for line in log]
    groups = collections.defaultdict(list)
    for match in filter(None, matches):
        request = Request(match, zone)
        groups[tuple(request.value(field) for field in job["by"])].append(request)
    rows = {}
    for row in job["counted"]["rows"]:
        values = [row, *row.get("further_values", [])]
        rows[tuple(None if value.get("absent") else value["value"] for value in values)] = counted(row)
    differences = [
        [key, name, own[name], wanted[name]]
        for key, wanted in ((key, measures(requests)) for key, requests in groups.items())
        for own in [rows.get(key)]
        for name in wanted
        if own is None or not is_near(name, own[name], wanted[name])
    ] if rows.keys() == groups.keys() else [sorted(map(str, rows.keys() ^ groups.keys()))]
    return {"compared": sum(len(own) for own in rows.values()), "differences": differences[:20]}


for job in sys.stdin:
    print(json.dumps(compare(json.loads(job))), flush=True)
