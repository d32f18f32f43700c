"""An access log in DuckDB, and the queries of `weir report`."""

import duckdb

# One line of the combined format, RE2. Quoted text ends at the first quote without an odd
# number of backslashes before it.
LINE = (
    r'^([^ ]+) [^ ]+ ([^\[]+) \[([^\]]+)\] "((?:[^"\\]|\\.)*)" ([0-9]{3}|-) ([0-9]+|-) '
    r'"((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"$'
)
# The text between the first quotes, if it is a request line of HTTP.
REQUEST = r"^([A-Za-z0-9!#$%&'*+.^_`|~-]*[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]*) ([^?]*?)(\?.*)? (HTTP/[0-9]+(?:\.[0-9]+)?)$"
GROUPS = ["client", "user", "time", "request", "status", "bytes", "referer", "user_agent"]

# The columns that have a top list.
COLUMNS = [
    "client", "method", "path", "protocol", "query", "referer", "request", "status", "user",
    "user_agent",
]

IS_ERROR = "status BETWEEN '400' AND '599'"
CLASS = "CASE WHEN status[1] BETWEEN '1' AND '5' THEN status[1] || 'xx' ELSE 'other' END"


def connect(threads):
    connection = duckdb.connect(":memory:")
    connection.execute(f"SET threads = {threads}")
    # Rows without an order are faster.
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET enable_progress_bar = false")
    return connection


def load(connection, path):
    """Makes the table `log`."""
    connection.execute(f"CREATE TABLE log AS {select(path)}")


def select(path):
    """The rows of a log, with one regular expression for lines and one for requests."""
    names = ", ".join(f"'{name}'" for name in GROUPS)
    path, line, request = (text.replace("'", "''") for text in (path, LINE, REQUEST))
    # No log has this delimiter, so that each line is one value.
    return f"""
        WITH lines AS (
            SELECT regexp_extract(line, '{line}', [{names}]) AS f
            FROM read_csv('{path}', columns = {{'line': 'VARCHAR'}}, delim = '\x01',
                          quote = '', escape = '', header = false, auto_detect = false,
                          strict_mode = false, max_line_size = 2097152)
        ), requests AS (
            SELECT f, regexp_extract(f.request, '{request}',
                                     ['method', 'path', 'query', 'protocol']) AS r
            FROM lines WHERE f.client <> ''
        )
        SELECT f.client AS client, f.user AS user,
               strptime(f.time, '%d/%b/%Y:%H:%M:%S %z') AS time,
               nullif(r.method, '') AS method,
               CASE WHEN r.method <> '' THEN r.path END AS path,
               CASE WHEN r.query <> '' THEN r.query[2:] END AS query,
               nullif(r.protocol, '') AS protocol,
               CASE WHEN r.method = '' THEN f.request END AS request,
               f.status AS status,
               coalesce(try_cast(f.bytes AS UBIGINT), 0) AS bytes,
               f.referer AS referer, f.user_agent AS user_agent
        FROM requests
        """


def report(connection, step_s, table="log", top=10):
    """All numbers of a report, for the rows of a table."""
    rows = connection.execute(
        f"""SELECT count(*), coalesce(sum(bytes), 0)::UBIGINT, count(*) FILTER ({IS_ERROR}),
                   min(epoch(time))::BIGINT, max(epoch(time))::BIGINT
            FROM {table}"""
    ).fetchone()
    matched, bytes_sent, errors, first, last = rows
    lists, distinct = {}, {}
    for column in COLUMNS:
        lists[column], distinct[column] = top_list(connection, column, table, top)
    buckets = connection.execute(
        f"""SELECT (epoch(time)::BIGINT // {step_s}) * {step_s} AS bucket, {CLASS} AS class,
                   count(*)
            FROM {table} GROUP BY ALL ORDER BY ALL"""
    ).fetchall()
    return {
        "matching": matched,
        "bytes_sent": bytes_sent,
        "errors": errors,
        "first_s": first,
        "last_s": last,
        "top": lists,
        "distinct": distinct,
        "histogram": buckets,
    }


def top_list(connection, column, table, top):
    """The most frequent values of a column, and the number of distinct values."""
    rows = connection.execute(
        f"""WITH counted AS (
                SELECT {column} AS value, count(*) AS count, sum(bytes)::UBIGINT AS bytes_sent,
                       count(*) FILTER ({IS_ERROR}) AS errors
                FROM {table} WHERE {column} IS NOT NULL GROUP BY ALL)
            SELECT value, count, bytes_sent, errors, (SELECT count(*) FROM counted)
            FROM counted ORDER BY count DESC, value LIMIT {top}"""
    ).fetchall()
    return [row[:4] for row in rows], rows[0][4] if rows else 0
