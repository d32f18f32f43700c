"""Reads exported tables with pyarrow, pandas, Polars, DuckDB and DataFusion, and compares.

Reads a line of JSON for each export: `arrow` and `parquet` are files that `weir export` wrote from the
same log. Prints an object for each, as a line of JSON: `rows`, `batches` and `differences`.
"""

import json
import sys

import datafusion
import duckdb
import pandas
import polars
import pyarrow
import pyarrow.ipc
import pyarrow.parquet

QUESTION = """select status, count(*), count(distinct path), sum(bytes), min(time), max(time)
    from t group by status order by count(*) desc, status"""


def units(schema):
    """The units of the columns."""
    metadata = schema.metadata or {}
    return {key: value for key, value in metadata.items() if key.startswith(b"weir.unit.")}


def compare_pyarrow(stream, table):
    """All cells, and the units."""
    if stream.schema.names != table.schema.names:
        yield f"columns: {stream.schema.names} and {table.schema.names}"
    elif not stream.cast(table.schema).equals(table):
        yield "the cells differ"
    if units(stream.schema) != units(table.schema) or not units(table.schema):
        yield f"units: {units(stream.schema)} and {units(table.schema)}"


def compare_pandas(stream, table):
    """All cells; texts are categories."""
    own = stream.to_pandas()
    expected = table.to_pandas()
    for name in own:
        column = own[name]
        if isinstance(column.dtype, pandas.CategoricalDtype):
            column = column.astype(expected[name].dtype)
        if not column.equals(expected[name]):
            yield f"column {name} differs"


def compare_polars(job):
    """All cells; texts are categories."""
    own = polars.read_ipc_stream(job["arrow"]).cast({polars.Categorical: polars.String})
    if not own.equals(polars.read_parquet(job["parquet"])):
        yield "the cells differ"


def in_duckdb(job, stream):
    """The answers of DuckDB over both tables."""
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    answers = []
    for source in [stream, duckdb.read_parquet(job["parquet"], connection=connection)]:
        connection.register("t", source)
        answers.append(rows_of(connection.sql(QUESTION).to_arrow_table()))
        connection.unregister("t")
    return answers


def in_datafusion(job):
    """The answers of DataFusion over both files."""
    answers = []
    for form in ["arrow", "parquet"]:
        context = datafusion.SessionContext()
        context.sql(f"create external table t stored as {form} location '{job[form]}'")
        answers.append(rows_of(context.sql(QUESTION).to_arrow_table()))
    return answers


def rows_of(answer):
    """Rows of numbers and texts, with times in nanoseconds."""
    columns = []
    for column in answer.columns:
        if pyarrow.types.is_timestamp(column.type):
            column = column.cast(pyarrow.timestamp("ns", "UTC")).cast(pyarrow.int64())
        columns.append([value if value is None else str(value) for value in column.to_pylist()])
    return sorted(zip(*columns), key=str)


def compare(job):
    """Differences between the two tables of a job, and between the programs that read them."""
    with pyarrow.ipc.open_stream(job["arrow"]) as reader:
        stream = reader.read_all()
    table = pyarrow.parquet.read_table(job["parquet"])
    found = [f"pyarrow: {it}" for it in compare_pyarrow(stream, table)]
    found += [f"pandas: {it}" for it in compare_pandas(stream, table)]
    found += [f"Polars: {it}" for it in compare_polars(job)]
    answers = in_duckdb(job, stream) + in_datafusion(job)
    names = ["DuckDB, Arrow", "DuckDB, Parquet", "DataFusion, Arrow", "DataFusion, Parquet"]
    for name, answer in zip(names, answers):
        if answer != answers[0]:
            found.append(f"{name}: {str(answer)[:300]}, and {str(answers[0])[:300]}")
    return {"rows": table.num_rows, "batches": len(stream.to_batches()), "differences": found}


def main():
    for line in sys.stdin:
        print(json.dumps(compare(json.loads(line))), flush=True)


main()
