"""Takes what is posted: `receiver.py answer` says so, `receiver.py silent` never answers."""

import socketserver
import sys


class Taken(socketserver.StreamRequestHandler):
    """One request a connection, as plumb sends them."""

    def handle(self) -> None:
        """Reads the request, and answers where that is wanted."""
        length = 0
        for line in self.rfile:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            if line == b"\r\n":
                break
        self.rfile.read(length)
        if sys.argv[1] == "answer":
            self.wfile.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        else:
            self.rfile.read()  # until nobody waits any more


class Server(socketserver.ThreadingTCPServer):
    """Ends with the process, whoever still waits."""

    daemon_threads = True


with Server(("127.0.0.1", 0), Taken) as server:
    print(f"listening on 127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
