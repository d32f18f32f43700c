"""Answers the questions of docs/questions.md from the lines of the logs, and compares.

Reads a line of JSON for each question: `question` is its text, `folder` has the logs, and `output` is what
the command of the document printed as CSV or JSON. Prints a list of differences for each, as a line of
JSON.
"""

import collections
import csv
import io
import ipaddress
import json
import math
import re
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

LINE = re.compile(
    r'(?P<client>\S+) \S+ \S+ \[(?P<time>[^\]]+)\] "(?P<request>(?:[^"\\]|\\.)*)" (?P<status>\d+) (?P<bytes>\d+|-) '
    r'"(?P<referer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"(?: (?P<seconds>[\d.]+) (?P<cache>\S+))?')
CRAWLERS = {"Googlebot": "Googlebot/", "archive.org_bot": "archive.org_bot", "Twitterbot": "Twitterbot/"}
STATIC = ("css", "gif", "ico", "jpeg", "jpg", "js", "pdf", "png", "svg", "txt", "xml")


class Request:
    def __init__(self, match):
        self.client, self.status = match["client"], int(match["status"])
        self.time = datetime.strptime(match["time"], "%d/%b/%Y:%H:%M:%S %z")
        self.second = int(self.time.timestamp())
        target = match["request"].split(" ")[1]
        self.path, _, self.query = target.partition("?")
        self.bytes = 0 if match["bytes"] == "-" else int(match["bytes"])
        self.referer, self.agent = match["referer"], match["agent"]
        self.ms = round(float(match["seconds"]) * 1000) if match["seconds"] else None
        self.cache = match["cache"]

    @property
    def is_error(self):
        return self.status >= 400


def requests(path):
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return [Request(LINE.match(line)) for line in lines]


def rows(output):
    return list(csv.DictReader(io.StringIO(output)))


def counted(output, field):
    return {row[field]: int(row.get("count") or row["requests"]) for row in rows(output)}


def count(found, key, among=lambda it: True):
    return dict(collections.Counter(key(it) for it in found if among(it)))


def by_key(found, key):
    groups = collections.defaultdict(list)
    for request in found:
        groups[key(request)].append(request)
    return groups


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def close(found, exact):
    """Within the 11 bits that durations are rounded to."""
    return abs(found - exact) <= exact / 1024 + 1e-9


def in_order(values):
    return all(one >= other for one, other in zip(values, values[1:]))


def network(client, bits):
    return str(ipaddress.ip_network((client, bits), strict=False))


def login(output, logs):
    return counted(output, "client"), count(logs.access, lambda it: it.client, lambda it: it.path == "/login_form")


def missing(output, logs):
    found = list(csv.reader(io.StringIO(output)))
    total = len([it for it in logs.access if it.status == 404])
    paths = count(logs.access, lambda it: it.path, lambda it: it.status == 404)
    shown = {row[0]: int(row[-1]) for row in found[1:-2]}
    cells = count(logs.access, lambda it: (it.path, it.referer), lambda it: it.status == 404)
    best = [(row[0], found[0][at + 1], int(cell)) for row in found[1:-2] for at, cell in enumerate(row[1:-2])]
    return ((int(found[-1][-1]), shown, [cell for _, _, cell in best]),
            (total, {path: paths[path] for path in shown},
             [cells.get((path, referer), 0) for path, referer, _ in best]))


def slow(output, logs):
    groups = by_key(logs.timed, lambda it: it.path)
    found = {row["path"]: float(row["p95:request_time"]) for row in rows(output)}
    exact = {path: percentile([it.ms for it in group], 95) / 1000 for path, group in groups.items()}
    matches = [close(found.get(path, -1), value) for path, value in exact.items()]
    return (set(found), all(matches), in_order(list(found.values()))), (set(exact), True, True)


def crawlers(output, logs):
    found = {row["crawler"]: (int(row["requests"]), int(row["bytes"])) for row in rows(output)}
    wanted = {}
    for name, sign in CRAWLERS.items():
        own = [it for it in logs.access if sign in it.agent]
        wanted[name] = (len(own), sum(it.bytes for it in own))
    sizes = [int(row["bytes"]) for row in rows(output)]
    return ({name: found.get(name) for name in CRAWLERS}, in_order(sizes)), (wanted, True)


def began(output, logs):
    report = json.loads(output)
    errors = [it.time for it in logs.access if it.status == 404]
    first = datetime.fromisoformat(report["time"]["first"].replace("Z", "+00:00"))
    return (report["matching"], first), (len(errors), min(errors))


def sites(output, logs):
    return counted(output, "source"), {"one": len(logs.one), "other": len(logs.other)}


def visitors(output, logs):
    report = json.loads(output)
    # The log has two offsets from UTC, and days are those of one.
    zone = datetime.strptime(report["time"]["zone"].replace("UTC", "+00:00"), "%z").tzinfo
    days = collections.defaultdict(set)
    for it in logs.access:
        days[it.time.astimezone(zone).strftime("%Y-%m-%d")].add((it.client, it.agent))
    found = {day["date"]: day["visitors"] for day in report["visitors"]["days"]}
    return {day: n for day, n in found.items() if n}, {day: len(them) for day, them in days.items()}


def hours(output, logs):
    return counted(output, "hour"), count(logs.access, lambda it: it.time.strftime("%H"))


def subnet(output, logs):
    own = ipaddress.ip_network("66.249.73.0/24")
    return (counted(output, "client"),
            count(logs.access, lambda it: it.client, lambda it: ipaddress.ip_address(it.client) in own))


def countries(output, logs):
    ranges = [line.split(",") for line in (logs.folder / "ranges.csv").read_text().splitlines()]
    ranges = [(ipaddress.ip_address(a), ipaddress.ip_address(b), name) for a, b, name in ranges]

    def country(request):
        address = ipaddress.ip_address(request.client)
        return next((name for first, last, name in ranges if first <= address <= last), "(none)")

    return counted(output, "country"), count(logs.access, country)


def biggest(output, logs):
    found = [(row["path"], int(row["bytes"])) for row in rows(output)]
    sizes = {path: sum(it.bytes for it in group)
             for path, group in by_key(logs.access, lambda it: it.path).items()}
    return (dict(found), in_order([size for _, size in found])), (sizes, True)


def peak(output, logs):
    seconds = count(logs.access, lambda it: it.time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
    most = sorted(seconds.values(), reverse=True)[:2]
    found = counted(output, "time")
    return (list(found.values()), {it: seconds.get(it) for it in found}), (most, found)


def limited(output, found, limit, window):
    """Times are whole seconds, so that requests may be a second closer or further apart."""
    times = by_key(found, lambda it: it.client)

    def exceeds(within):
        return {client for client, group in times.items() if any(
            later - first <= within for first, later in zip(
                sorted(it.second for it in group), sorted(it.second for it in group)[limit:]))}

    certain, possible = exceeds(window - 2), exceeds(window)
    rule = json.loads(output)["rules"][0]
    tripped, undecided = rule["keys"]["tripped"], rule["keys"]["undecided"]
    named = {trip["key"] for trip in rule["trips"] if trip["verdict"] == "rejected"}
    bounds = len(certain) <= tripped <= tripped + undecided <= len(possible)
    return (rule["keys"]["seen"], bounds, named <= possible), (len(times), True, True)


def a_minute(output, logs):
    return limited(output, logs.access, 20, 60)


def fast(output, logs):
    pages = [it for it in logs.access if not it.path.endswith((".css", ".js", ".png"))]
    return limited(output, pages, 4, 15)


def seen(output, logs):
    parse = lambda text: datetime.fromisoformat(text.replace("Z", "+00:00"))
    found = {row["client"]: (parse(row["first_seen"]), parse(row["last_seen"])) for row in rows(output)}
    groups = by_key(logs.access, lambda it: it.client)
    return found, {client: (min(it.time for it in group), max(it.time for it in group))
                   for client, group in groups.items()}


def ten_seconds(output, logs):
    start = datetime(2015, 5, 17, 10, 5, 10, tzinfo=timezone.utc)
    end = start + timedelta(seconds=10)
    own = [it for it in logs.access if start <= it.time < end]
    return len(output.splitlines()), len(own)


def cache(output, logs):
    return (counted(output, "upstream_cache_status"),
            count(logs.timed, lambda it: it.cache, lambda it: it.path.startswith("/static")))


def campaigns(output, logs):
    return (counted(output, "query:utm_source"),
            count(logs.timed, lambda it: dict(parse_qsl(it.query)).get("utm_source", "(none)")))


def people(output, logs):
    def is_of_people(request):
        # The test made the agents of this log.
        extension = request.path.rpartition(".")[2]
        return "bot" not in request.agent.lower() and extension not in STATIC

    return int(output), len([it for it in logs.timed if is_of_people(it)])


def networks(output, logs):
    return counted(output, "network"), count(logs.access, lambda it: network(it.client, 24))


def failing(output, logs):
    found = {row["path"]: (int(row["requests"]), int(row["errors"])) for row in rows(output)}
    groups = by_key(logs.access, lambda it: it.path)
    wanted = {path: (len(group), sum(it.is_error for it in group))
              for path, group in groups.items() if len(group) >= 5}
    rates = [errors / total for total, errors in found.values()]
    return (found, in_order(rates)), (wanted, True)


def new_clients(output, logs):
    compared = json.loads(output)["compare"]
    parse = lambda text: datetime.fromisoformat(text.replace("Z", "+00:00"))
    start, previous = (parse(compared[name]["since"]) for name in ("selected_period", "previous_period"))
    clients = {it.client for it in logs.access if it.time >= start}
    before = {it.client for it in logs.access if previous <= it.time < start}
    listed = compared["lists"]["client"]
    return ((listed["new_values"], listed["gone_values"], {it["value"] for it in listed["new"]} <= clients - before),
            (len(clients - before), len(before - clients), True))


def last_lines(output, logs):
    clients = count(logs.access[-1000:], lambda it: it.client)
    found = counted(output, "client")
    return ((sorted(found.values()), {client: clients.get(client) for client in found}),
            (sorted(sorted(clients.values())[-3:]), found))


def referring(output, logs):
    def host(request):
        if request.referer in ("-", ""):
            return "(none)"
        name = (urlsplit(request.referer).hostname or "(none)")
        return name.removeprefix("www.")

    return counted(output, "referer_host"), count(logs.access, host)


def family(request):
    names = {"Firefox/145": "Firefox", "Chrome/142": "Chrome", "Googlebot": "Googlebot", "GPTBot": "GPTBot"}
    return next(name for sign, name in names.items() if sign in request.agent)


def browsers(output, logs):
    return counted(output, "agent_family"), count(logs.timed, family)


def visitors_of_families(output, logs):
    wanted = {}
    for name, group in by_key(logs.timed, family).items():
        # All requests are of one day.
        visitors = by_key(group, lambda it: (it.client, it.agent)).values()
        seconds = [sorted(it.second for it in own) for own in visitors]
        pauses = sum(b - a >= 1_800 for own in seconds for a, b in zip(own, own[1:]))
        wanted[name] = (len(visitors), len(visitors) + pauses, len(group))
    found = {row["agent_family"]: tuple(int(row[name]) for name in ("visitors", "visits", "requests"))
             for row in rows(output)}
    return (found, in_order([it[0] for it in found.values()])), (wanted, True)


def busiest_minute(output, logs):
    report = json.loads(output)
    zone = datetime.strptime(report["time"]["zone"].replace("UTC", "+00:00"), "%z").tzinfo
    minutes = count(logs.access, lambda it: it.time.astimezone(zone).strftime("%Y-%m-%d %H:%M"))
    [row] = report["group"]["rows"]
    return (row["count"], minutes.get(row["value"])), (max(minutes.values()),) * 2


QUESTIONS = {
    "Who tried the login page most?": login,
    "Which pages are missing, and who links to them?": missing,
    "Which URLs are slow?": slow,
    "Which crawlers come, and what do they cost?": crawlers,
    "When did the errors begin?": began,
    "How busy is each site, if each has a file of its own?": sites,
    "How many visitors come a day?": visitors,
    "At which hours of the day?": hours,
    "Which addresses of a network come?": subnet,
    "From which countries?": countries,
    "Which paths take the most bandwidth?": biggest,
    "Which second was the busiest?": peak,
    "Which clients ask for more than 20 pages a minute?": a_minute,
    "Which clients ask for five pages within 15 seconds?": fast,
    "When did each client come first and last?": seen,
    "Which lines are from these ten seconds?": ten_seconds,
    "What is the hit ratio of the cache for static files?": cache,
    "Which campaigns bring people?": campaigns,
    "How much do people ask for, without crawlers and static files?": people,
    "Which networks come?": networks,
    "Which paths fail most often?": failing,
    "Which clients are new since a day?": new_clients,
    "Who is in the last 1,000 lines?": last_lines,
    "Which sites send people?": referring,
    "Which browsers do they have?": browsers,
    "Which of them have the most visitors?": visitors_of_families,
    "Which minute was the busiest?": busiest_minute,
}


class Logs:
    def __init__(self, folder):
        self.folder = folder
        for name in ("access", "timed", "one", "other"):
            setattr(self, name, requests(folder / f"{name}.log"))


def main():
    logs = None
    for line in sys.stdin:
        job = json.loads(line)
        logs = logs or Logs(Path(job["folder"]))
        found, wanted = QUESTIONS[job["question"]](job["output"], logs)
        differences = [] if found == wanted else [repr(found)[:800], repr(wanted)[:800]]
        print(json.dumps({"differences": differences}), flush=True)


main()
