"""Answers GET and POST with OpenTelemetry's own SDK: a span of the request, below it one of a database and one
of work. Its spans go to an OTLP/HTTP address, or as OTLP JSON to a file, a request a line."""

import base64
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import extract
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind

DATABASE_S, WORK_S, OWN_S = 0.006, 0.003, 0.002


class JsonLines(SpanExporter):
    """What the file exporter of a collector writes: numbers of traces and spans as hex digits."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")

    def export(self, spans):
        request = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
        for of_resource in request["resourceSpans"]:
            for scope in of_resource["scopeSpans"]:
                for span in scope["spans"]:
                    for name in ("traceId", "spanId", "parentSpanId"):
                        if name in span:
                            span[name] = base64.b64decode(span[name]).hex()
        self.file.write(json.dumps(request) + "\n")
        self.file.flush()
        return SpanExportResult.SUCCESS


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        context = extract(dict(self.headers.items()))
        with tracer.start_as_current_span(self.command, context=context, kind=SpanKind.SERVER):
            system = {"db.system.name": "postgresql"}
            with tracer.start_as_current_span("SELECT", kind=SpanKind.CLIENT, attributes=system):
                time.sleep(DATABASE_S)
            with tracer.start_as_current_span("render"):
                time.sleep(WORK_S)
            time.sleep(OWN_S)
        self.send_response(200)
        self.send_header("X-Execution-Id", "1")
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


target = sys.argv[1]
if target.startswith("http:"):
    packed = Compression.Gzip if "gzip" in sys.argv[2:] else Compression.NoCompression
    exporter = OTLPSpanExporter(endpoint=target, compression=packed)
else:
    exporter = JsonLines(target)
provider = TracerProvider(resource=Resource.create({"service.name": "orders"}))
provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=100))
tracer = provider.get_tracer("pages")
server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
print(server.server_address[1], flush=True)
server.serve_forever()
