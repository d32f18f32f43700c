#!/usr/bin/env python3
"""Holds a report of Weir's against the oracle's: compare.py WEIR.json ORACLE.json

Ends with the names of what differs. What only one of them can know is left out.
"""

import json
import sys

# The oracle knows no groups of a histogram, and names no zone; bytes that are no text differ
# in how they are shown.
ONLY_OURS = ("groups", "value_hex", "zone")


def plain(value):
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if key not in ONLY_OURS}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value


def main():
    ours, oracle = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
    # Of a log in which nothing fits there are no lists.
    wrong = [key for key in oracle if plain(oracle[key]) != plain(ours.get(key)) and oracle[key]]
    if wrong:
        sys.exit("the report differs from the oracle in " + ", ".join(wrong))


if __name__ == "__main__":
    main()
