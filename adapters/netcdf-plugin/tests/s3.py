"""What reads of NCZarr on S3 cost: netCDF-C's own client, the same with the adapter, and the plugin.

    s3.py DATASET PAGE [--quick] -- KIND=PROGRAM [VARIABLE=VALUE...] -- ...

Starts moto, which answers as S3 does, on the loopback interface, in this process, and stops it with it. Each answer is
20 ms late, and counted. Each kind is a program (s3.c) and its environment; all must read the same. The plugin must read
each document of the metadata at most once and each chunk once, with more than one request in flight, or this fails.
Writes the table between the page's marks; with --quick it writes nothing.
"""
import collections
import os
import subprocess
import sys
import threading
import time

import boto3
import werkzeug.serving
from moto.server import DomainDispatcherApplication, create_backend_app

JOBS = {"open": "opening", "chunk": "one chunk", "maps": "one chunk, in 8 maps", "box": "16 chunks",
        "all": "64 chunks: all"}
CHUNKS = {"open": 0, "chunk": 1, "maps": 1, "box": 16, "all": 64}
LATENCY = 0.02
MARKS = "<!-- The requests begin. -->", "<!-- The requests end. -->"


class Counting:
    """A server's application that counts what it is asked for."""

    def __init__(self, application):
        self.application = application
        self.lock = threading.Lock()
        self.latency = 0
        self.reset()

    def reset(self):
        self.asked = collections.Counter()
        self.flying = self.most = 0

    def __call__(self, environ, start_response):
        kind = environ["REQUEST_METHOD"]
        path, query = environ["PATH_INFO"], environ.get("QUERY_STRING", "")
        if kind == "GET" and "list-type=2" in query:
            kind, path = "LIST", path + "?" + query
        with self.lock:
            self.asked[kind, path] += 1
            self.flying += 1
            self.most = max(self.most, self.flying)
        try:
            time.sleep(self.latency)
            return self.application(environ, start_response)
        finally:
            with self.lock:
                self.flying -= 1

    def number(self, kind):
        return sum(count for (asked, _), count in self.asked.items() if asked == kind)


class Handler(werkzeug.serving.WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_):
        pass


def upload(address, dataset):
    client = boto3.client("s3", endpoint_url=address, aws_access_key_id="key", aws_secret_access_key="secret",
                          region_name="us-east-1")
    client.create_bucket(Bucket="ocean")
    for directory, _, names in os.walk(dataset):
        for name in names:
            path = os.path.join(directory, name)
            client.upload_file(path, "ocean", "t.zarr/" + os.path.relpath(path, dataset))


def check(server, job, kind):
    """That the plugin reads what it has to, once."""
    assert server.number("HEAD") == 0, server.asked
    chunks = [path for asked, path in server.asked if asked == "GET" and path.rsplit("/", 1)[1][0].isdigit()]
    assert len(chunks) == CHUNKS[job], (job, chunks)
    repeated = {asked: count for asked, count in server.asked.items() if count > 1}
    assert not repeated, f"{kind}, {job}: asked for more than once: {repeated}"
    # The group's own, and of the array that is read the names of its chunks.
    assert server.number("LIST") == 1 + (CHUNKS[job] > 0), (job, server.asked)
    assert CHUNKS[job] < 2 or server.most > 1, f"{kind}, {job}: the chunks are not in flight"


def main():
    arguments = " ".join(sys.argv[1:]).split(" -- ")
    dataset, page, *quick = arguments[0].split()
    kinds = {}
    for words in arguments[1:]:
        first, *variables = words.split()
        kind, program = first.split("=", 1)
        kinds[kind] = program, dict(variable.split("=", 1) for variable in variables)
    application = Counting(DomainDispatcherApplication(create_backend_app))
    server = werkzeug.serving.make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    upload(address, dataset)
    application.latency = LATENCY
    url = address + "/ocean/t.zarr#mode=nczarr,s3"
    base = {name: value for name, value in os.environ.items()
            if not name.startswith("AWS_") and not name.lower().endswith("_proxy")}
    base |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
             "AWS_ALLOW_HTTP": "true"}
    lines = ["| what is read | by | HEAD | GET | lists | most in flight | time |", "|---|---|" + "--:|" * 5]
    for job, title in JOBS.items():
        sums = set()
        for kind, (program, variables) in kinds.items():
            path, seconds = url, []
            if "NCRCENV_RC" in variables:
                # Not preloaded: netCDF-C opens a file that names the URL.
                path = dataset + ".url"
                with open(path, "w") as file:
                    print("NCZCHUNK", url, file=file)
            for _ in range(1 if quick else 3):
                application.reset()
                begin = time.perf_counter()
                done = subprocess.run([program, job, path], env=base | variables, capture_output=True, text=True,
                                      timeout=300)
                seconds.append(time.perf_counter() - begin)
                assert done.returncode == 0, f"{kind}, {job}: {done.stderr}"
                sums.add(done.stdout)
            if "plugin" in kind:
                check(application, job, kind)
            if path != url:
                continue
            asked = " | ".join(str(application.number(what)) for what in ("HEAD", "GET", "LIST"))
            lines.append(f"| {title} | {kind} | {asked} | {application.most} | {min(seconds):.2f} s |")
        assert len(sums) == 1, f"{job}: {sums}"
    server.shutdown()
    print("\n".join(lines))
    if not quick:
        with open(page) as file:
            text = file.read()
        before, after = text.split(MARKS[0])[0], text.split(MARKS[1])[1]
        with open(page, "w") as file:
            file.write(before + MARKS[0] + "\n\n" + "\n".join(lines) + "\n\n" + MARKS[1] + after)


main()
