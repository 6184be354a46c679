"""Clients that want all memory or all places of `headroom serve`, while another asks for its page:
floods.py PROGRAM [--short]

Each flood meets a server of its own, which may have 512 MiB. It passes when the server lives, has held at most 256 MiB,
and has answered every ordinary request within two seconds."""

import contextlib
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time

MOST = 512 << 20
MOST_HELD = 256 << 20
MOST_WAIT = 2.0
SHORT = "--short" in sys.argv
HOST = b"Host: localhost\r\n"


def memory_group():
    """A control group of 512 MiB; None where none can be made, and then the limit is on the data segment."""
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory"):
        folder = pathlib.Path(root) / ("headroom-floods-%d" % os.getpid())
        limit = folder / ("memory.max" if root.endswith("cgroup") else "memory.limit_in_bytes")
        try:
            folder.mkdir()
            if not limit.exists():  # an ordinary folder, where no such groups are
                raise FileNotFoundError(limit)
            limit.write_text(str(MOST))
            return folder
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
    return None


class Server:
    """The program over a folder with a page of 2 MB, within the limit."""

    def __init__(self, program, out, group):
        def confine():
            if group:
                (group / "cgroup.procs").write_text(str(os.getpid()))
            else:
                resource.setrlimit(resource.RLIMIT_DATA, (MOST, MOST))

        self.process = subprocess.Popen([program, "serve", "--out", str(out), "--port", "0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, preexec_fn=confine)
        self.port = int(self.process.stdout.readline().split(":")[2].split("/")[0])

    def held(self):
        """The most bytes that the process has held so far; of one that has ended, the last that was seen."""
        with contextlib.suppress(OSError):
            for line in open("/proc/%d/status" % self.process.pid):
                if line.startswith("VmHWM"):
                    self.last = int(line.split()[1]) << 10
        return self.last

    last = 0


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def status(port, target="/", timeout=20):
    """The status of one ordinary request, whose answer is read to its end."""
    with connect(port) as client:
        client.settimeout(timeout)
        client.sendall(b"GET %s HTTP/1.1\r\n%sConnection: close\r\n\r\n" % (target.encode(), HOST))
        answer = b""
        while part := client.recv(1 << 16):
            answer = (answer + part)[:64]
    return int(answer.split()[1]) if answer else 0


class Visitor(threading.Thread):
    """Asks for the page every half second, and remembers the longest wait."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.worst, self.asked, self.failed, self.ends = port, 0.0, 0, 0, threading.Event()

    def run(self):
        while not self.ends.wait(0.5):
            start = time.monotonic()
            self.asked += 1
            try:
                self.failed += status(self.port) != 200
            except OSError:
                self.failed += 1
            self.worst = max(self.worst, time.monotonic() - start)


def pour(port, start, part, most):
    """Sends `start`, then `part` again and again, as long as the server takes it; returns the bytes sent."""
    sent = 0
    with contextlib.suppress(OSError), connect(port) as client:
        client.settimeout(5)
        client.sendall(start)
        part *= max(1, (1 << 20) // len(part))
        while sent < most:
            client.sendall(part)
            sent += len(part)
    return sent


def many_ranges(port):
    with contextlib.suppress(OSError), connect(port) as client:
        client.sendall(BIG + b"Range: bytes=" + b",".join([b"0-"] * 1200) +
                       b"\r\nConnection: close\r\n\r\n")
        got = 0
        while part := client.recv(1 << 16):
            got += len(part)
            if got > MOST:
                break
    return 0


def held_open(port, count, first, drip, seconds):
    """Connections that each send `first`, then `drip` once a second."""
    clients = []
    for _ in range(count):
        with contextlib.suppress(OSError):
            client = connect(port)
            client.sendall(first)
            client.setblocking(False)
            clients.append(client)
    end = time.monotonic() + seconds
    while drip and time.monotonic() < end:
        time.sleep(1)
        for client in clients:
            with contextlib.suppress(OSError):
                client.send(drip)
    time.sleep(max(0, end - time.monotonic()))
    for client in clients:
        client.close()
    return 0


def streams(port):
    """Ordinary requests are answered while all streams are taken, and the places are free when they have gone."""
    held_open(port, 60, b"GET /api/events HTTP/1.1\r\n" + HOST + b"\r\n", b"", 4)
    time.sleep(2)
    with connect(port) as client:
        client.sendall(b"GET /api/events HTTP/1.1\r\n" + HOST + b"\r\n")
        assert b" 200 " in client.recv(64), "no stream is free after all have gone"
    return 0


def streams_of_nothing(port):
    held_open(port, 60, b"GET /api/events?run=nope/nope HTTP/1.1\r\n" + HOST + b"\r\n", b"", 1)
    assert status(port, "/api/events?run=nope/nope", 5) == 404, "a run that is not there has a stream"
    return 0


def of(short, whole):
    return short if SHORT else whole


GET = b"GET / HTTP/1.1\r\n" + HOST
NOTE = b" /api/run/a/b/note HTTP/1.1\r\n" + HOST
BIG = b"GET /files/big.html HTTP/1.1\r\n" + HOST
PART = b"x" * 65536
FLOODS = {
    "endless_headers": lambda port: pour(port, GET, b"A: b\r\n", of(32, 160) << 20),
    "one_header_line": lambda port: pour(port, GET + b"A: ", b"b", of(64, 520) << 20),
    "endless_address": lambda port: pour(port, b"GET /", b"a", of(16, 128) << 20),
    "chunked_body": lambda port: pour(port, b"POST" + NOTE + b"Transfer-Encoding: chunked\r\n\r\n",
                                      b"10000\r\n" + PART + b"\r\n", of(32, 300) << 20),
    "body_without_length": lambda port: pour(port, b"POST" + NOTE + b"Content-Type: application/json\r\n\r\n", PART,
                                             of(32, 300) << 20),
    "giant_length": lambda port: sum(pour(port, method + NOTE + b"Content-Length: 99999999999\r\n\r\n", PART, of(16, 150) << 20)
                                     for method in (b"POST", b"GET", b"PUT")),
    "many_ranges": many_ranges,
    "dripping_headers": lambda port: held_open(port, of(100, 400), GET + b"A: ", b"b", of(4, 16)),
    "dripping_lines": lambda port: held_open(port, of(100, 600), b"GET /", b"a", of(3, 12)),
    "unread_pages": lambda port: held_open(port, of(100, 400), BIG + b"\r\n", b"", of(4, 10)),
    "silent": lambda port: held_open(port, of(100, 400), b"", b"", of(3, 8)),
    "streams": streams,
    "streams_of_nothing": streams_of_nothing,
}


def outcome(name, flood, program, out, group):
    """One line, and whether all is as it should be."""
    server = Server(program, out, group)
    visitor = Visitor(server.port)
    visitor.start()
    start, trouble, sent = time.monotonic(), [], 0
    watch_ends = threading.Event()

    def watch():
        while not watch_ends.wait(0.05):
            server.held()

    threading.Thread(target=watch, daemon=True).start()
    try:
        sent = flood(server.port)
    except (OSError, AssertionError) as error:
        trouble.append(str(error))
    time.sleep(max(0, start + 1.5 - time.monotonic()))
    visitor.ends.set()
    visitor.join(30)
    held = server.held()
    watch_ends.set()
    if server.process.poll() is not None:
        trouble.append("the server has ended: %d" % server.process.returncode)
    server.process.kill()
    server.process.wait()
    if held > MOST_HELD:
        trouble.append("it has held more than %d MiB" % (MOST_HELD >> 20))
    if visitor.worst > MOST_WAIT or visitor.failed or not visitor.asked:
        trouble.append("%d of %d ordinary requests failed or waited" % (max(visitor.failed, 1), visitor.asked))
    print("%-4s %-20s %4d MB sent, %4d MiB held, longest wait %5.2f s%s" % (
        "FAIL" if trouble else "ok", name, sent / 1e6, held >> 20, visitor.worst,
        "; " + "; ".join(trouble) if trouble else ""), flush=True)
    return not trouble


def main():
    program = sys.argv[1]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    group = memory_group()
    print("limit: 512 MiB by %s" % ("a control group, %s" % group if group else "RLIMIT_DATA: no control group can be made"))
    passed = 0
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        (out / "big.html").write_text("<p>words</p>\n" * 160000)
        try:
            for name, flood in FLOODS.items():
                passed += outcome(name, flood, program, out, group)
        finally:
            if group:
                with contextlib.suppress(OSError):
                    group.rmdir()
    print("%d passed, %d failed" % (passed, len(FLOODS) - passed))
    sys.exit(passed != len(FLOODS))


main()
