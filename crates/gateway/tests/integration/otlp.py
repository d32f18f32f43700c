"""Reads a request of OTLP over HTTP as JSON, by the schema of OpenTelemetry itself, and prints its spans.

An unknown member, a wrong type or an unknown value of an enumeration is an error.
"""

import base64
import json
import sys

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def with_bytes(value, name=""):
    """Ids are hexadecimal in OTLP, where the JSON of Protocol Buffers has base64."""
    if isinstance(value, dict):
        return {key: with_bytes(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [with_bytes(each) for each in value]
    if name in ("traceId", "spanId", "parentSpanId"):
        return base64.b64encode(bytes.fromhex(value)).decode()
    return value


request = ParseDict(with_bytes(json.load(sys.stdin)), ExportTraceServiceRequest())
for resource in request.resource_spans:
    names = {each.key for each in resource.resource.attributes}
    assert "service.name" in names, names
    for scope in resource.scope_spans:
        for span in scope.spans:
            assert (len(span.trace_id), len(span.span_id)) == (16, 8), span
            assert len(span.parent_span_id) in (0, 8), span
            assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
            for event in span.events:
                assert span.start_time_unix_nano <= event.time_unix_nano <= span.end_time_unix_nano, span
            print(span.SpanKind.Name(span.kind), span.name, len(span.attributes) > 0)
