"""Talks to an echo server with pysap's NI client. Ends with 1 at the first surprise."""

import sys

from pysap.SAPNI import SAPNI, SAPNIStreamSocket
from scapy.packet import Raw, raw

host, port = sys.argv[1].rsplit(":", 1)
client = SAPNIStreamSocket.get_nisocket(host, int(port), keep_alive=False, timeout=30)


def echo(payload):
    answer = client.sr(Raw(payload))
    assert answer.length == len(payload), f"{len(payload)} bytes went, {answer.length} came"
    assert raw(answer.payload) == payload, f"{len(payload)} bytes came back otherwise"


echo(b"EYECATCHER" + bytes(990))
echo(bytes(range(250)) * 200)
answer = client.sr(Raw(SAPNI.SAPNI_PING))
assert raw(answer.payload) == SAPNI.SAPNI_PONG, answer
echo(b"x")

client.send(Raw(b""))  # pysap's way to say goodbye
answer = client.recv()
assert answer.length == 0, answer
client.close()
print("done")
