#!/usr/bin/env python3
"""The queries of `weir report` in DuckDB: report.py LOG THREADS STEP_S

Reads the log once and prints the answers as JSON.
"""

import json
import sys

import access_log


def main():
    path, threads, step_s = sys.argv[1:4]
    connection = access_log.connect(int(threads))
    access_log.load(connection, path)
    json.dump(access_log.report(connection, int(step_s)), sys.stdout)


if __name__ == "__main__":
    main()
