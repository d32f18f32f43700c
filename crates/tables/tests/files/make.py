"""Writes the files that the test `foreign_files` reads, with pyarrow and DuckDB.

All of them have the same rows; `rows.rs` computes them again.
"""

import pathlib
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
ROWS = range(200)
START = datetime(2026, 3, 29, 0, 59, 0, tzinfo=timezone.utc)


def table(unit="us", zone="UTC"):
    return pa.table({
        "time": pa.array([START + timedelta(milliseconds=750 * i) for i in ROWS], pa.timestamp(unit, zone)),
        "client": pa.array([f"192.0.2.{i % 7}" for i in ROWS]),
        "path": pa.array([f"/{'x' * (i % 13)}/{i % 50}" for i in ROWS]),
        "status": pa.array([(200, 404, 500)[i % 3] for i in ROWS], pa.int16()),
        "bytes": pa.array([None if i % 5 == 0 else i * i * 100_003 for i in ROWS], pa.uint32()),
        "request_time": pa.array([i / 1000 for i in ROWS], pa.float64()),
        "note": pa.array([f"n{i}é" if i % 4 == 0 else None for i in ROWS]),
        "is_cached": pa.array([i % 3 == 1 for i in ROWS]),
    })


def write(name, data=None, **options):
    pq.write_table(data or table(), HERE / f"{name}.parquet", **options)


write("snappy")
write("gzip", compression="gzip", data_page_size=512, write_batch_size=50)
write("lz4", compression="lz4", row_group_size=64)
write("zstd_version_2", compression="zstd", data_page_version="2.0", data_page_size=512, write_batch_size=50)
write("plain", compression="none", use_dictionary=False, store_schema=False)
for version in ("1.0", "2.0"):
    write(f"deltas_{version[0]}", compression="none", use_dictionary=False, data_page_version=version,
          column_encoding={"time": "DELTA_BINARY_PACKED", "client": "DELTA_BYTE_ARRAY",
                           "path": "DELTA_LENGTH_BYTE_ARRAY", "status": "DELTA_BINARY_PACKED",
                           "bytes": "BYTE_STREAM_SPLIT", "request_time": "BYTE_STREAM_SPLIT",
                           "note": "DELTA_BYTE_ARRAY", "is_cached": "RLE"})
write("milliseconds", table("ms", None))
write("nanoseconds", table("ns"))
write("int96", use_deprecated_int96_timestamps=True)
rows = table()
write("nested", rows.add_column(1, "tags", pa.array([["a", "b"][: i % 3] for i in ROWS]))
                    .add_column(3, "place", pa.array([{"x": i, "y": {"z": str(i)}} for i in ROWS])))
half = lambda values, kind: pa.array([value if i % 2 == 0 else None for i, value in enumerate(values)], kind)
nanoseconds = [1_774_745_940_000_000_000 + 750_000_000 * i for i in ROWS]
write("merged", rows.rename_columns({"status": "status_code"})
                    .append_column("time_ns", half(nanoseconds, pa.int64()))
                    .append_column("status", half([str((200, 404, 500)[i % 3]) for i in ROWS], pa.string()))
                    .append_column("request_time_ns", half([i * 1_000_000 for i in ROWS], pa.int64())))
write("brotli", compression="brotli")
write("decimal_bytes", rows.drop(["bytes"]).append_column("bytes", pa.array([Decimal(i) for i in ROWS], pa.decimal128(9))))
write("text_time", rows.drop(["time"]).append_column("time", pa.array([str(i) for i in ROWS])))
write("no_fields", pa.table({"a": [1], "b": ["c"]}))
connection = duckdb.connect()
connection.register("requests", rows)
connection.execute(f"copy requests to '{HERE / 'duckdb.parquet'}' (row_group_size 100)")
connection.execute(f"copy requests to '{HERE / 'duckdb_version_2.parquet'}' (compression zstd, parquet_version v2)")
