"""Sends more than an echo server takes, and decodes its refusal with pysap; prints it as JSON."""

import json
import sys

from pysap.SAPNI import SAPNIStreamSocket
from pysap.SAPRouter import SAPRouter, router_is_error
from scapy.packet import Raw

host, port = sys.argv[1].rsplit(":", 1)
client = SAPNIStreamSocket.get_nisocket(host, int(port), base_cls=SAPRouter, timeout=30)
refusal = client.sr(Raw(bytes(int(sys.argv[2]))))[SAPRouter]
assert router_is_error(refusal), refusal
text = refusal.err_text_value
json.dump(
    {
        "version": refusal.version,
        "opcode": refusal.opcode,
        "return_code": refusal.return_code,
        "eyecatchers": [text.eyecatcher, text.eyecatcher_end],
        "error": text.error,
        "return_code_text": text.return_code,
        "component": text.component,
    },
    sys.stdout,
    default=lambda value: value.decode(),
)
