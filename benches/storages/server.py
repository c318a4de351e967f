"""An HTTP server on the loopback interface, for measurements: it serves a directory from memory, with ranges and ETags,
answers each request after a given time, any number of them at once, and counts requests and bytes. For clients of S3 it
lists the objects of a bucket, which is the first part of a path.

    server.py DIRECTORY

Prints its port. `/-/latency/MS` sets the time in milliseconds; `/-/counts` returns "requests bytes most" since the last
time, where most is the largest number of requests in flight.
"""

import asyncio
import os
import sys
from urllib.parse import parse_qs, urlsplit


def load(directory):
    """The objects below a directory, by their paths in URLs."""
    objects = {}
    for root, _, files in os.walk(directory):
        for file in files:
            path = os.path.join(root, file)
            with open(path, "rb") as opened:
                objects["/" + os.path.relpath(path, directory)] = opened.read()
    return objects


class Connection(asyncio.Protocol):
    objects, latency = {}, 0.0
    requests = sent = in_flight = most = 0

    def connection_made(self, transport):
        self.transport, self.received = transport, b""

    def data_received(self, data):
        self.received += data
        while b"\r\n\r\n" in self.received:
            head, self.received = self.received.split(b"\r\n\r\n", 1)
            self.request(head.decode("latin-1").split("\r\n"))

    def request(self, lines):
        method, path, _ = lines[0].split(" ", 2)
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        of = Connection
        if path.startswith("/-/"):
            self.transport.write(self.control(path).encode())
            return
        of.requests += 1
        of.in_flight += 1
        of.most = max(of.most, of.in_flight)
        if of.latency:
            asyncio.get_running_loop().call_later(of.latency, self.answer, method, path, headers)
        else:
            self.answer(method, path, headers)

    @staticmethod
    def control(path):
        of, words = Connection, ""
        if path.startswith("/-/latency/"):
            of.latency = float(path.rsplit("/", 1)[1]) / 1000
        else:
            words = f"{of.requests} {of.sent} {of.most}"
            of.requests = of.sent = of.most = 0
        return f"HTTP/1.1 200 OK\r\nContent-Length: {len(words)}\r\n\r\n{words}"

    def listed(self, path, query):
        """What S3 tells of the objects whose names begin with a prefix."""
        bucket = path.rstrip("/") + "/"
        prefix, delimiter = (query.get(name, [""])[0] for name in ("prefix", "delimiter"))
        objects, prefixes = [], set()
        for name in sorted(name.removeprefix(bucket) for name in self.objects if name.startswith(bucket + prefix)):
            rest = name[len(prefix):]
            if delimiter and delimiter in rest:
                prefixes.add(prefix + rest.split(delimiter)[0] + delimiter)
            else:
                objects.append(name)
        words = [f"<Contents><Key>{name}</Key><Size>{len(self.objects[bucket + name])}</Size></Contents>"
                 for name in objects]
        words += [f"<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>" for name in sorted(prefixes)]
        return (f"<?xml version='1.0' encoding='UTF-8'?><ListBucketResult><Name>{bucket.strip('/')}</Name>"
                f"<Prefix>{prefix}</Prefix><KeyCount>{len(words)}</KeyCount><MaxKeys>1000</MaxKeys>"
                f"<IsTruncated>false</IsTruncated>{''.join(words)}</ListBucketResult>").encode()

    def answer(self, method, path, headers):
        of = Connection
        of.in_flight -= 1
        parts = urlsplit(path)
        query = parse_qs(parts.query)
        data = self.listed(parts.path, query) if "list-type" in query else of.objects.get(parts.path)
        if data is None:
            return self.transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        status, body, more = "200 OK", memoryview(data), ""
        if "range" in headers:
            first, last = headers["range"].removeprefix("bytes=").split("-")
            begin = int(first) if first else max(len(data) - int(last), 0)
            end = min(int(last) + 1, len(data)) if first and last else len(data)
            if begin >= end:
                more = f"Content-Range: bytes */{len(data)}\r\nContent-Length: 0\r\n\r\n"
                return self.transport.write(f"HTTP/1.1 416 X\r\n{more}".encode())
            status, body = "206 Partial", body[begin:end]
            more = f"Content-Range: bytes {begin}-{end - 1}/{len(data)}\r\n"
        head = (f'HTTP/1.1 {status}\r\nETag: "{len(data)}"\r\nAccept-Ranges: bytes\r\n{more}'
                "Last-Modified: Thu, 26 Nov 2026 10:00:00 GMT\r\nContent-Type: application/octet-stream\r\n"
                f"Content-Length: {len(body)}\r\n\r\n")
        self.transport.write(head.encode())
        if method != "HEAD":
            of.sent += len(body)
            self.transport.write(body)


async def main():
    Connection.objects = load(sys.argv[1])
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
