#!/usr/bin/env python3
"""Serves a directory over HTTP on the loopback interface while a program runs, and gives it a hard time.

    tests/http_server.py DIRECTORY PROGRAM URL PATH

Runs PROGRAM PATH and then PROGRAM URL, where {url} in URL stands for the server's address, and checks that both print
the same and succeed. Of the requests, one in three does not get what it asks for at first: the connection is reset
before the answer or within it, the answer is 503, or it has fewer bytes than it should. Each takes 20 ms. Exits 1 if
the program fails, if the requests were not on their way at the same time, or if there were no faults.
"""

import http.server
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time

LATENCY = 0.02
FAULTS = ["reset", "reset within", "503", "broken off", "short"]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lock = threading.Lock()
    random = random.Random(7)
    requests_in_flight = most = requests = 0
    faults = dict.fromkeys(FAULTS, 0)

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.serve()

    def do_GET(self):
        self.serve()

    def serve(self):
        kind = type(self)
        with self.lock:
            kind.requests += 1
            kind.requests_in_flight += 1
            kind.most = max(kind.most, kind.requests_in_flight)
            # Every kind of fault comes up, in turn.
            fault = FAULTS[sum(self.faults.values()) % len(FAULTS)] if self.random.random() < 1 / 3 else None
            if fault:
                self.faults[fault] += 1
        try:
            time.sleep(LATENCY)
            self.answer(fault)
        finally:
            with self.lock:
                kind.requests_in_flight -= 1

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
        # What is left to write goes nowhere.
        self.wfile = open(os.devnull, "wb")

    def answer(self, fault):
        if fault == "reset":
            return self.reset()
        if fault == "503":
            return self.send(503, {}, b"too much to do")
        path = os.path.normpath(os.path.join(self.server.directory, self.path.lstrip("/")))
        if not path.startswith(self.server.directory) or not os.path.isfile(path):
            return self.send(404, {}, b"no such object")
        with open(path, "rb") as file:
            data = file.read()
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not asked:
            return self.send(200, {}, data, fault)
        first, last = asked.groups()
        begin = int(first) if first else max(len(data) - int(last), 0)
        end = min(int(last) + 1, len(data)) if first and last else len(data)
        if begin >= end:
            return self.send(416, {"Content-Range": f"bytes */{len(data)}"}, b"")
        if fault == "short":
            end = begin + (end - begin) // 2
        self.send(206, {"Content-Range": f"bytes {begin}-{end - 1}/{len(data)}"}, data[begin:end], fault)

    def send(self, code, headers, body, fault=None):
        self.send_response(code)
        if code in (200, 206):
            self.send_header("ETag", '"1"')
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault in ("reset within", "broken off"):
            self.wfile.write(body[:len(body) // 2])
            self.wfile.flush()
            self.close_connection = True
            if fault == "reset within":
                self.reset()
            return
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_):
        pass


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    directory, program, url, path = sys.argv[1:]
    with Server(("127.0.0.1", 0), Handler) as server:
        server.directory = os.path.abspath(directory)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = url.replace("{url}", f"http://127.0.0.1:{server.server_port}")
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        expected, begun = subprocess.run([program, path], stdout=subprocess.PIPE, check=True).stdout, time.time()
        result = subprocess.run([program, url], stdout=subprocess.PIPE, env=environment, timeout=100)
        seconds = time.time() - begun
        server.shutdown()
    print(f"{Handler.requests} requests, {Handler.most} at the same time, in {seconds:.2f} s; faults: {Handler.faults}")
    if result.returncode != 0:
        sys.exit(f"{program} {url} has failed with {result.returncode}")
    if not expected or result.stdout != expected:
        sys.exit(f"{program} prints something else for {url}")
    if Handler.most < 2 or 0 in Handler.faults.values():
        sys.exit("the requests were not on their way at the same time, or not every fault came up")


main()
