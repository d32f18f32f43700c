"""Prints the country of each address that it reads, a line for each, by the files of its arguments.

A file that ends in .mmdb is read by MaxMind's own module; others are CSV ranges. Each range,
the largest first, is painted over the addresses that it contains."""

import bisect
import csv
import ipaddress
import sys


def number(text):
    return int(text) if text.isdigit() else int(ipaddress.ip_address(text))


def by_mmdb(path, addresses):
    import maxminddb

    database = maxminddb.open_database(path)
    return [(database.get(str(address)) or {}).get("country_code", "") for address in addresses]


def by_ranges(paths, addresses):
    ranges = []
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for first, last, country in csv.reader(file):
                ranges.append((number(first), number(last), country))
    # No address of IPv6 in use has a number as small as those of IPv4.
    order = sorted(range(len(addresses)), key=lambda place: int(addresses[place]))
    numbers = [int(addresses[place]) for place in order]
    found = [""] * len(addresses)
    # Larger ranges are painted over by smaller ones, and equal ones by those below in the file.
    for first, last, country in sorted(ranges, key=lambda it: it[0] - it[1]):
        start = bisect.bisect_left(numbers, first)
        end = bisect.bisect_right(numbers, last)
        found[start:end] = [country] * (end - start)
    countries = [""] * len(addresses)
    for place, country in zip(order, found):
        countries[place] = country
    return countries


def main(paths):
    addresses = [ipaddress.ip_address(line.strip()) for line in sys.stdin]
    is_mmdb = paths[0].endswith(".mmdb")
    countries = by_mmdb(paths[0], addresses) if is_mmdb else by_ranges(paths, addresses)
    print("\n".join(countries))


main(sys.argv[1:])
