"""An echo server made of pysap's NI server. Says where it listens, and serves until it is killed."""

from pysap.SAPNI import SAPNIServerHandler, SAPNIServerThreaded
from scapy.packet import Raw, raw


class Echo(SAPNIServerHandler):
    def handle_data(self):
        self.request.send(Raw(raw(self.packet.payload)))


server = SAPNIServerThreaded(("127.0.0.1", 0), Echo)
server.daemon_threads = True
print("listening on %s:%d" % server.server_address, flush=True)
server.serve_forever()
