"""Derives the fields of records again, with Python's own modules, and compares.

Reads a line of JSON for each log: `rows` is a file that `weir grep --json` wrote, with the fields of
the log and the derived ones; `counts` maps the names of derived fields to what `weir count --json`
counted. Prints a list of differences for each, as a line of JSON.
"""

import collections
import ipaddress
import json
import posixpath
import re
import sys
import urllib.parse
from datetime import datetime

STATIC = set(
    """7z aac apk avi avif bmp bz2 css csv cur deb dmg doc docx eot exe flac flv gif gz ico img iso jpeg jpg
    js less m4a map mid mjs mkv mov mp3 mp4 mpeg mpg msi ogg ogv otf pdf pkg png ppt pptx rar rpm svg svgz
    swf tar tgz tif tiff ttf txt wasm wav webm webmanifest webp wma wmv woff woff2 xls xlsx xz zip zst
    """.split()
)
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def local(record):
    """The time as it was logged."""
    return datetime.fromisoformat(re.sub(r"\.\d+", "", record["time"]).replace("Z", "+00:00"))


def network(record, v4_bits, v6_bits):
    address = ipaddress.ip_address(record["client"])
    if address.version == 6 and address.ipv4_mapped:
        address = address.ipv4_mapped
    bits = v4_bits if address.version == 4 else v6_bits
    return str(ipaddress.ip_network((address, bits), strict=False))


def segments(record, count):
    path = record["path"]
    parts = path.split("/")
    # An absolute path begins with an empty part.
    first = count + 1 if path.startswith("/") else count
    return path if len(parts) <= first else "/".join(parts[:first]) + "/"


def extension(record):
    name = record["path"].rsplit("/", 1)[-1].split(";", 1)[0]
    found = posixpath.splitext(name)[1][1:]
    return found.lower() if re.fullmatch(r"[A-Za-z0-9]{1,11}", found) else None


def parameter(record, name):
    pairs = urllib.parse.parse_qsl(
        record["query"], keep_blank_values=True, encoding="utf-8", errors="strict", separator="&"
    )
    return next((value for key, value in pairs if key == name), None)


def static(record):
    return "yes" if extension(record) in STATIC else "no"


FIELDS = {
    "date": ("time", lambda record: local(record).strftime("%Y-%m-%d")),
    "hour": ("time", lambda record: local(record).strftime("%H")),
    "weekday": ("time", lambda record: "%d %s" % (
        local(record).isoweekday(), DAYS[local(record).weekday()])),
    # Logs of Caddy have a field `network` of their own.
    "network/48": ("client", lambda record: network(record, 32, 48)),
    "network/20": ("client", lambda record: network(record, 20, 20)),
    "network/64": ("client", lambda record: network(record, 32, 64)),
    "path/1": ("path", lambda record: segments(record, 1)),
    "path/2": ("path", lambda record: segments(record, 2)),
    "extension": ("path", extension),
    "static": ("path", static),
    "query:id": ("query", lambda record: parameter(record, "id")),
    "query:page": ("query", lambda record: parameter(record, "page")),
    "campaign": ("query", lambda record: next(
        (value for value in (parameter(record, "utm_campaign"), parameter(record, "utm_source"))
         if value is not None), None)),
}


def expected(name, record):
    """The derived value, or None; an exception if Python cannot say."""
    source, derive = FIELDS[name]
    if source not in record:
        return None
    if source == "client":
        try:
            return derive(record)
        except ValueError:
            return None
    return derive(record)


def compare(job):
    differences, counts, compared = [], collections.defaultdict(collections.Counter), 0
    with open(job["rows"], encoding="utf-8") as rows:
        for line in rows:
            record = json.loads(line)
            if not record:
                continue
            for name in FIELDS:
                found = record.get(name)
                counts[name][found] += 1
                try:
                    wanted = expected(name, record)
                except UnicodeDecodeError:
                    continue
                # Bytes that are not UTF-8 are written as `\xFF`.
                if wanted is not None and "\\x" in str(record.get(FIELDS[name][0])):
                    continue
                compared += 1
                if wanted != found and len(differences) < 20:
                    differences.append([name, record.get(FIELDS[name][0]), found, wanted])
    for name, counted in job["counts"].items():
        own = dict(counts[name])
        # `weir count` counts other kinds of records than requests too.
        if own and {value: count for value, count in counted} != own:
            differences.append([name, "counts", counted[:20], sorted(own.items(), key=str)[:20]])
    return {"compared": compared, "differences": differences}


for job in sys.stdin:
    print(json.dumps(compare(json.loads(job))), flush=True)
