"""A web server of files with the network of a model, and with faults.

    with RangeServer({"a.parquet": data}) as server:
        server.network = Network(latency_s=0.03, bytes_per_s=50e6)
        server.faults.extend(["503", "cut"])
        pqlab.open(server.url("a.parquet"))
        server.log

It answers what reading clients of S3 send, too (HEAD, path-style GET; signatures are not checked).
As a process of its own, `python range_server.py FOLDER` serves the folder's files, prints its port,
and is told by POST to `/-/network` and `/-/forget`, and asked by GET of `/-/log`, all in JSON.
"""

from __future__ import annotations

import json
import mmap
import random
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

PIECE_BYTES = 1 << 17
STATUS = {"429": "Too Many Requests", "500": "Internal Server Error", "503": "Slow Down"}

# fault -> what the client sees
FAULTS = {
    "429": "refused for now",
    "500": "an error of the server",
    "503": "refused for now",
    "drop": "the connection is closed before an answer",
    "reset": "the connection is reset in the middle of the body",
    "cut": "the connection is closed in the middle of the body",
    "short": "a shorter body than the range, announced as such",
    "slow": "the first byte comes late",
    "whole": "the range is ignored: status 200, the whole file",
    "shifted": "Content-Range, and the bytes, are of another place",
    "mute": "no Content-Range",
}


@dataclass(frozen=True)
class Network:
    """Latency until the first byte, times a lognormal factor of the median 1; and bandwidth.

    `bytes_per_s` is shared by all connections, `connection_bytes_per_s` caps each; 0: no bound.
    """

    latency_s: float = 0.0
    sigma: float = 0.0
    bytes_per_s: float = 0.0
    connection_bytes_per_s: float = 0.0
    seed: int = 0


@dataclass
class Request:
    """A request as the server saw it; times of `time.monotonic`, which processes share."""

    method: str
    path: str
    range: str | None
    match: str | None
    start_s: float
    latency_s: float = 0.0
    status: int = 0
    sent_bytes: int = 0
    fault: str | None = None
    stop_s: float = 0.0


class Bucket:
    """When a piece may have arrived, at so many bytes per second."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free_s = 0.0

    def arrival_s(self, num_bytes: int, bytes_per_s: float) -> float:
        """The time until which the piece takes; the next one begins there."""
        with self._lock:
            begin = max(time.monotonic(), self._free_s)
            self._free_s = begin + (num_bytes / bytes_per_s if bytes_per_s else 0.0)
            return self._free_s


@dataclass
class RangeServer:
    """See the module. `suffixes`, `ranges`, `etags`, `dates`: what the server can do."""

    files: dict[str, bytes | mmap.mmap]
    network: Network = Network()
    suffixes: bool = True
    ranges: bool = True
    etags: bool = True
    dates: bool = True
    slow_s: float = 0.3
    faults: deque[str | None] = field(default_factory=deque)  # of the next GETs, one each
    log: list[Request] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._bucket = Bucket()
        self._lock = threading.Lock()
        self._random = random.Random(self.network.seed)
        self._connections: set[socket.socket] = set()

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # closing alone would let it accept one more
        self._socket.close()
        for connection in list(self._connections):
            connection.close()

    def change(self, name: str, data: bytes) -> None:
        """Put other content in a file's place."""
        self.versions[name] = self.versions.get(name, 0) + 1
        self.files[name] = data

    def gets(self) -> list[Request]:
        """What was got, in order of arrival."""
        return [request for request in self.log if request.method == "GET"]

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections.add(connection)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        rest = b""
        own = Bucket()
        try:
            while True:
                while b"\r\n\r\n" not in rest:
                    received = connection.recv(1 << 16)
                    if not received:
                        return
                    rest += received
                head, _, rest = rest.partition(b"\r\n\r\n")
                lines = head.decode("latin-1").split("\r\n")
                pairs = (line.split(":", 1) for line in lines[1:])
                headers = {name.strip().lower(): value.strip() for name, value in pairs}
                length = int(headers.get("content-length", 0))
                while len(rest) < length:
                    rest += connection.recv(1 << 16)
                body, rest = rest[:length], rest[length:]
                method, target, _ = lines[0].split(" ")
                if target.startswith("/-/"):
                    self._control(connection, target[3:], body)
                elif not self._answer(connection, own, method, target, headers):
                    return
        except OSError:
            return
        finally:
            self._connections.discard(connection)
            connection.close()

    def _answer(
        self,
        connection: socket.socket,
        own: Bucket,
        method: str,
        target: str,
        headers: Mapping[str, str],
    ) -> bool:
        """Answer one request; False: the connection is to be closed."""
        wanted = headers.get("range")
        request = Request(method, target, wanted, headers.get("if-match"), time.monotonic())
        with self._lock:
            self.log.append(request)
            factor = self._random.lognormvariate(0, self.network.sigma)
            fault = self.faults.popleft() if method == "GET" and self.faults else None
        request.fault, request.latency_s = fault, self.network.latency_s * factor
        slow_s = self.slow_s if fault == "slow" else 0.0
        time.sleep(max(0.0, request.start_s + request.latency_s + slow_s - time.monotonic()))
        if fault == "drop":
            return False
        status, more, body = self._response(request, fault)
        phrase = {200: "OK", 206: "Partial Content"}.get(status, STATUS.get(str(status), "Error"))
        head = [f"HTTP/1.1 {status} {phrase}", *more]
        announced = len(body)
        if fault == "short":
            body = body[: len(body) // 2]
            announced = len(body)
        head.append(f"Content-Length: {announced}")
        request.status = status
        connection.sendall(("\r\n".join(head) + "\r\n\r\n").encode("latin-1"))
        if method == "HEAD":
            return True
        if fault in ("cut", "reset"):
            body = body[: len(body) // 2]
        self._send(connection, own, body, request)
        if fault == "reset":
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        return fault not in ("cut", "reset")

    def _send(
        self, connection: socket.socket, own: Bucket, body: memoryview, request: Request
    ) -> None:
        network = self.network
        for at in range(0, len(body), PIECE_BYTES):
            piece = body[at : at + PIECE_BYTES]
            arrival_s = max(
                self._bucket.arrival_s(len(piece), network.bytes_per_s),
                own.arrival_s(len(piece), network.connection_bytes_per_s),
            )
            time.sleep(max(0.0, arrival_s - time.monotonic()))
            connection.sendall(piece)
            request.sent_bytes += len(piece)
        request.stop_s = time.monotonic()

    def _response(self, request: Request, fault: str | None) -> tuple[int, list[str], memoryview]:
        """Status, headers and body."""
        name = request.path.split("?")[0].lstrip("/")
        if fault in STATUS:
            return int(fault), [], memoryview(b"<Error><Code>SlowDown</Code></Error>")
        if name not in self.files:
            return 404, [], memoryview(b"<Error><Code>NoSuchKey</Code></Error>")
        data = memoryview(self.files[name])
        version = self.versions.get(name, 0)
        etag = f'"{name}-{version}"'
        head = [f"ETag: {etag}"] if self.etags else []
        if self.dates:
            head.append(f"Last-Modified: Tue, 01 Jul 2025 10:00:{version:02} GMT")
        if self.etags and request.match not in (None, etag):
            return 412, head, memoryview(b"")
        if request.range is None or not self.ranges or fault == "whole":
            return 200, head, data
        first, last = request.range.removeprefix("bytes=").split("-")
        if not first:
            if not self.suffixes:
                return 200, head, data
            start, stop = max(0, len(data) - int(last)), len(data)
        else:
            start, stop = int(first), min(int(last) + 1, len(data)) if last else len(data)
        if start >= stop:
            return 416, head, memoryview(b"")
        if fault == "shifted":
            start, stop = (start - 1, stop - 1) if start else (start + 1, stop)
        if fault != "mute":
            head.append(f"Content-Range: bytes {start}-{stop - 1}/{len(data)}")
        return 206, head, data[start:stop]

    def _control(self, connection: socket.socket, what: str, body: bytes) -> None:
        answer = b"{}"
        if what == "network":
            self.network = Network(**json.loads(body))
            self._random = random.Random(self.network.seed)
        elif what == "log":
            answer = json.dumps([asdict(request) for request in self.log]).encode()
        elif what == "forget":
            self.log.clear()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(answer)}\r\n\r\n"
        connection.sendall(head.encode() + answer)


def main() -> None:
    """Serve a folder's files until standard input ends."""
    files: dict[str, bytes | mmap.mmap] = {}
    for path in Path(sys.argv[1]).rglob("*.parquet"):
        with path.open("rb") as file:
            name = str(path.relative_to(sys.argv[1]))
            files[name] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with RangeServer(files) as server:
        print(server.port, flush=True)  # noqa: T201  # what the starting process reads
        sys.stdin.read()


if __name__ == "__main__":
    main()
