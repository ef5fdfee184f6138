"""Receives metrics over OTLP/HTTP with OpenTelemetry's own classes: says where it listens, then prints each
request as a line of JSON."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        right = self.path == "/v1/metrics" and self.headers["Content-Type"] == "application/x-protobuf"
        if not right:
            self.send_error(404)
            return
        request = ExportMetricsServiceRequest()
        request.ParseFromString(body)
        heard = MessageToDict(request)
        heard["authorization"] = self.headers["Authorization"]
        print(json.dumps(heard), flush=True)
        answer = ExportMetricsServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words):
        pass


server = HTTPServer(("127.0.0.1", 0), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
