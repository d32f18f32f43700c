#!/usr/bin/env python3
"""ClickHouse, as the library chDB, as a contender of `cargo xtask bench export`: export.py THREADS

Answers the requests `load` and `copy` of bench/duckdb/export.py.
"""

import json
import os
import sys
import time

from chdb import session

FORMS = {"parquet": "Parquet", "csv": "CSVWithNames", "jsonl": "JSONEachRow"}
TEXT_COLUMNS = """file, formatDateTime(time, '%Y-%m-%dT%H:%i:%SZ', 'UTC') AS time, client, user, host, method,
    path, query, protocol, status, referer, user_agent, request, bytes,
    request_time_ns AS request_time, upstream_time_ns AS upstream_time"""
SETTINGS = """output_format_parquet_compression_method = 'zstd', engine_file_truncate_on_insert = 1,
    format_csv_null_representation = ''"""


def quoted(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


def answer(database, threads, request):
    settings = f"SETTINGS {SETTINGS}, max_threads = {threads}"
    if "load" in request:
        source = quoted(request["load"])
        database.query(
            f"CREATE TABLE rows ENGINE = Memory AS SELECT * FROM file('{source}', Parquet)"
        )
        return int(database.query("SELECT count() FROM rows", "TabSeparated").data())
    form = request["copy"]
    rows = "SELECT * FROM rows" if form == "parquet" else f"SELECT {TEXT_COLUMNS} FROM rows"
    target = quoted(os.path.abspath(request["to"]))
    start = time.monotonic()
    database.query(f"INSERT INTO FUNCTION file('{target}', {FORMS[form]}) {rows} {settings}")
    return time.monotonic() - start


def main():
    database = session.Session()
    database.query("CREATE DATABASE IF NOT EXISTS bench ENGINE = Atomic")
    database.query("USE bench")
    for line in sys.stdin:
        print(json.dumps(answer(database, sys.argv[1], json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
