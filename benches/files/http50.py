#!/usr/bin/env python3
"""Serves a directory over HTTP on the loopback interface; each request takes 50 ms longer. Prints its address first.

    http50.py DIRECTORY
"""

import http.server
import os
import re
import sys
import time

LATENCY = 0.05


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Answers of two parts would wait for each other.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        time.sleep(LATENCY)
        path = os.path.join(self.server.directory, os.path.normpath(self.path).lstrip("/"))
        if not os.path.isfile(path):
            self.send_error(404)
            return
        size = os.path.getsize(path)
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        first, last = 0, size - 1
        if asked:
            begin, end = asked.groups()
            first = int(begin) if begin else max(0, size - int(end))
            last = min(int(end), last) if begin and end else last
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{size}"')
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.end_headers()
        if self.command == "GET":
            with open(path, "rb") as file:
                file.seek(first)
                self.wfile.write(file.read(last - first + 1))


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.directory, server.request_queue_size = sys.argv[1], 512
    server.socket.listen(512)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
