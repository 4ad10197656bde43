"""A TCP proxy for one HTTP server that misbehaves as told: it cuts answers off, answers 503 first, or remembers."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
from collections.abc import Iterator

BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Seen:
    """One request as it passed."""

    def __init__(self, head: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = lines[0].split(" ", 2)
        self.headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}


class CuttingProxy:
    """Forward each connection's one request to `upstream` ("host:port").

    cuts: for each request whose path has `where` in it, in order, after how many bytes of the body the connection is
          closed; when they are used up, answers pass whole. A cut of -1 drops the request's answer altogether, after
          the upstream has given it, with a reset.
    busy: for so many of those requests, answer 503 with Retry-After instead of forwarding.
    """

    def __init__(self, upstream: str, cuts: list[int] | None = None, busy: int = 0, where: str = "/v1/") -> None:
        self.upstream = upstream
        self.cuts = list(cuts or [])
        self.busy = busy
        self.where = where
        self.seen: list[Seen] = []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.accept, daemon=True)

    def __enter__(self) -> CuttingProxy:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()

    def requests(self, part: str = "") -> list[Seen]:
        with self.lock:
            return [seen for seen in self.seen if part in seen.path]

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def decide(self, seen: Seen) -> tuple[bool, int | None]:
        """Whether to be busy, and where to cut."""
        with self.lock:
            self.seen.append(seen)
            if self.where not in seen.path:
                return False, None
            if self.busy > 0:
                self.busy -= 1
                return True, None
            return False, self.cuts.pop(0) if self.cuts else None

    def serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            head, rest = read_head(client)
            if not head:
                return
            seen = Seen(head)
            rest += read_exactly(client, int(seen.headers.get("content-length", "0")) - len(rest))
            busy, cut = self.decide(seen)
            if busy:
                client.sendall(BUSY)
                return
            host, port = self.upstream.rsplit(":", 1)
            with socket.create_connection((host, int(port))) as server:
                server.sendall(head + b"\r\nConnection: close\r\n\r\n" + rest)
                self.relay(server, client, cut)

    @staticmethod
    def relay(server: socket.socket, client: socket.socket, cut: int | None) -> None:
        head, body = read_head(server)
        if cut == -1:
            reset(client)
            return
        client.sendall(head + b"\r\n\r\n")
        sent = 0
        for piece in itertools.chain([body], pieces(server)):
            if cut is not None and sent + len(piece) >= cut:
                client.sendall(piece[: cut - sent])
                return
            client.sendall(piece)
            sent += len(piece)


def reset(client: socket.socket) -> None:
    """RST, as a broken network shows itself."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def pieces(source: socket.socket) -> Iterator[bytes]:
    while piece := source.recv(16384):
        yield piece


def read_head(source: socket.socket) -> tuple[bytes, bytes]:
    """The head without its empty line, and what came behind it."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = source.recv(65536)
        if not piece:
            return b"", b""
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def read_exactly(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = source.recv(count - len(data))
        if not piece:
            break
        data += piece
    return data
