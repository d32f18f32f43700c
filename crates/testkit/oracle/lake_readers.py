"""Reads exported Parquet files with the engines of data lakes, and compares with pyarrow.

The argument is the engine: chdb, spark or iceberg. Reads a line of JSON for each export: `parquet` is a file
that `weir export` wrote. Prints an object for each, as a line of JSON: `rows` and `differences`.
"""

import json
import os
import shutil
import sys
import tempfile

import pyarrow
import pyarrow.compute
import pyarrow.parquet

# Numbers of all types, texts, NULLs and times. Times are in microseconds since 1970.
COLUMNS = {
    "count(*)": "count(*)",
    "count(status_code)": "count(status_code)",
    "sum(status_code)": "sum(status_code)",
    "sum(line_offset)": "sum(line_offset)",
    "sum(bytes)": "sum(bytes)",
    "max(request_time)": "max(request_time)",
    "count(request_time)": "count(request_time)",
    "count(client)": "count(client)",
    "count(distinct client)": "count(distinct client)",
    "count(distinct user_agent)": "count(distinct user_agent)",
    "count(referer)": "count(referer)",
    "min(time)": "min(unix_micros(time))",
    "max(time)": "max(unix_micros(time))",
}
ENGINE_TIME = {"chdb": "toUnixTimestamp64Micro(time)", "spark": "unix_micros(time)"}


def expected(table):
    """The answers by pyarrow."""

    def of(name):
        return table.column(name).drop_null()

    def total(name):
        return pyarrow.compute.sum(of(name)).as_py()

    times = of("time").cast(pyarrow.int64())
    largest = pyarrow.compute.max
    return [
        table.num_rows,
        len(of("status_code")),
        total("status_code"),
        total("line_offset"),
        total("bytes"),
        largest(of("request_time")).as_py(),
        len(of("request_time")),
        len(of("client")),
        len(of("client").unique()),
        len(of("user_agent").unique()),
        len(of("referer")),
        pyarrow.compute.min(times).as_py(),
        largest(times).as_py(),
    ]


def question(engine, source):
    """The same question in SQL."""
    columns = ", ".join(COLUMNS.values()).replace("unix_micros(time)", ENGINE_TIME[engine])
    return f"select {columns} from {source}"


def plain(values):
    """Numbers of one type."""
    return [None if value is None else float(value) for value in values]


class Chdb:
    def __init__(self):
        from chdb import session

        self.session = session.Session()

    def answer(self, path):
        sql = question("chdb", f"file('{path}', Parquet)")
        return plain(json.loads(self.session.query(sql, "JSONCompact").bytes())["data"][0])


class Spark:
    def __init__(self):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.session.timeZone", "UTC")
        self.session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")

    def answer(self, path):
        self.session.read.parquet(path).createOrReplaceTempView("t")
        return plain(self.session.sql(question("spark", "t")).collect()[0])


class Iceberg:
    """A table of format version 2, to which the file is added as it is."""

    def __init__(self):
        from pyiceberg.catalog.sql import SqlCatalog

        self.folder = tempfile.mkdtemp()
        self.catalog = SqlCatalog(
            "test", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=f"file://{self.folder}"
        )
        self.catalog.create_namespace("weir")
        self.tables = 0

    def answer(self, path):
        self.tables += 1
        schema = pyarrow.parquet.read_schema(path)
        table = self.catalog.create_table(
            f"weir.t{self.tables}", schema=schema, properties={"format-version": "2"}
        )
        table.add_files([path])
        return plain(expected(table.scan().to_arrow()))


def main():
    engines = {"chdb": Chdb, "spark": Spark, "iceberg": Iceberg}
    # Programs of Java print to standard output when they begin.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = engines[sys.argv[1]]()
    for line in sys.stdin:
        path = json.loads(line)["parquet"]
        table = pyarrow.parquet.read_table(path)
        own, wanted = engine.answer(path), plain(expected(table))
        differences = [
            f"{name}: {one} instead of {other}"
            for name, one, other in zip(COLUMNS, own, wanted)
            if one != other
        ]
        result = {"rows": table.num_rows, "differences": differences}
        print(json.dumps(result), file=output, flush=True)
    if isinstance(engine, Iceberg):
        shutil.rmtree(engine.folder)


main()
