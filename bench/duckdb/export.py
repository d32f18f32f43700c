#!/usr/bin/env python3
"""DuckDB as a contender of `cargo xtask bench export`: export.py THREADS

Reads a request on each line of standard input, a JSON object, and prints the answer as JSON:

- {"load": PARQUET}: makes the table of rows. The answer is the number of rows.
- {"copy": FORMAT, "to": FILE}: writes the table. The answer is the time in seconds.
- {"log": FILE, "copy": FORMAT, "to": FILE}: the same from the text of a combined log.
- {"check": FORMAT, "of": FILE}: the answer is the number of rows, the sum of the sizes and the number
  of distinct paths.
"""

import json
import sys
import time

import access_log

# Zstandard with the level that Weir uses.
FORMS = {
    "parquet": "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1",
    "csv": "FORMAT csv, HEADER",
    "jsonl": "FORMAT json",
}
READERS = {
    "parquet": "read_parquet('{}')",
    "csv": "read_csv('{}', header = true, all_varchar = true)",
    "jsonl": "read_json('{}', format = 'newline_delimited', columns = {{'path': 'VARCHAR', 'bytes': 'UBIGINT'}})",
}
# The columns of a table that a text has too, with their names there.
TEXT_COLUMNS = """file, strftime(time, '%Y-%m-%dT%H:%M:%SZ') AS time, client, "user", host, method, path,
    query, protocol, status, referer, user_agent, request, bytes, request_time_ns AS request_time,
    upstream_time_ns AS upstream_time"""


def quoted(text):
    return text.replace("'", "''")


def answer(connection, request):
    form = request.get("copy")
    if "load" in request:
        source = quoted(request["load"])
        connection.execute(f"CREATE TABLE rows AS SELECT * FROM read_parquet('{source}')")
        return connection.execute("SELECT count(*) FROM rows").fetchone()[0]
    if "check" in request:
        source = READERS[request["check"]].format(quoted(request["of"]))
        numbers = "count(*), sum(bytes::UBIGINT)::VARCHAR, count(DISTINCT path)"
        return connection.execute(f"SELECT {numbers} FROM {source}").fetchone()
    rows = "SELECT * FROM rows" if form == "parquet" else f"SELECT {TEXT_COLUMNS} FROM rows"
    if "log" in request:
        name, lines = quoted(request["log"]), access_log.select(request["log"])
        rows = f"SELECT '{name}' AS file, * FROM ({lines})"
    start = time.monotonic()
    connection.execute(f"COPY ({rows}) TO '{quoted(request['to'])}' ({FORMS[form]})")
    return time.monotonic() - start


def main():
    connection = access_log.connect(int(sys.argv[1]))
    # Weir's files have the order of the log.
    connection.execute("SET preserve_insertion_order = true")
    for line in sys.stdin:
        print(json.dumps(answer(connection, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
