#!/usr/bin/env python3
"""Compares a report of Weir with that of the oracle: compare.py WEIR.json ORACLE.json

Ends with the names of the parts that differ. Parts that only one of them has are left out.
"""

import json
import sys

# The oracle has no groups of a histogram and no zone, and shows bytes that are not UTF-8 in another
# way.
ONLY_OURS = ("groups", "value_hex", "zone")


def plain(value):
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if key not in ONLY_OURS}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value


def main():
    ours, oracle = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
    # The report of a log without a parsed line has no lists.
    wrong = [key for key in oracle if plain(oracle[key]) != plain(ours.get(key)) and oracle[key]]
    if wrong:
        sys.exit("the report differs from the oracle in " + ", ".join(wrong))


if __name__ == "__main__":
    main()
