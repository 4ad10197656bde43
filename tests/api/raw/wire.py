"""A client that says exactly the bytes it is told and judges exactly the bytes it gets."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass, field


class Closed(Exception):
    """The server closed the connection where an answer was expected."""


@dataclass
class Answer:
    status: int
    reason: str
    fields: list[tuple[str, str]]
    body: bytes
    raw_head: bytes = b""
    complete: bool = True
    extra: dict = field(default_factory=dict)

    def get(self, name: str) -> str | None:
        values = [value for key, value in self.fields if key.lower() == name.lower()]
        return ", ".join(values) if values else None

    def count(self, name: str) -> int:
        return sum(key.lower() == name.lower() for key, _ in self.fields)

    def json(self) -> dict:
        return json.loads(self.body)


class Wire:
    """One connection."""

    def __init__(self, port: int, timeout: float = 60.0, receive_buffer: int = 0):
        self.socket = socket.socket()
        self.socket.settimeout(timeout)
        if receive_buffer:  # before connecting, so that the window is small from the start
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pending = b""

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def _more(self) -> bool:
        data = self.socket.recv(65536)
        self.pending += data
        return bool(data)

    def _until(self, mark: bytes) -> bytes:
        while mark not in self.pending:
            if not self._more():
                raise Closed(self.pending)
        head, _, self.pending = self.pending.partition(mark)
        return head + mark

    def _exactly(self, count: int) -> bytes:
        while len(self.pending) < count:
            if not self._more():
                raise Closed(self.pending)
        data, self.pending = self.pending[:count], self.pending[count:]
        return data

    def line(self) -> bytes:
        return self._until(b"\r\n")

    def chunk(self) -> bytes:
        """One chunk of a chunked answer; b"" is the last."""
        size = int(self.line(), 16)
        data = self._exactly(size)
        assert self._exactly(2) == b"\r\n"
        return data

    def head(self) -> Answer:
        raw = self._until(b"\r\n\r\n")
        assert b"\n" not in raw.replace(b"\r\n", b""), "a bare line feed in an answer"
        status_line, *lines = raw.decode("latin-1").split("\r\n")[:-2]
        version, status, reason = status_line.split(" ", 2)
        assert version == "HTTP/1.1"
        fields = [tuple(line.split(": ", 1)) for line in lines]
        return Answer(int(status), reason, fields, b"", raw)

    def answer(self, head_only: bool = False) -> Answer:
        """The next final answer; 100 Continue is passed over and noted."""
        answer = self.head()
        while answer.status == 100:
            answer = self.head()
            answer.extra["continued"] = True
        if head_only or answer.status in (204, 304):
            return answer
        if (answer.get("Transfer-Encoding") or "").lower() == "chunked":
            chunks = []
            while data := self.chunk():
                chunks.append(data)
            answer.body = b"".join(chunks)
        else:
            length = answer.get("Content-Length")
            assert length is not None, "an answer without a length"
            answer.body = self._exactly(int(length))
        return answer

    def closed(self, timeout: float = 20.0) -> bool:
        """Whether the server ends the connection, with nothing more to say."""
        self.socket.settimeout(timeout)
        try:
            while self._more():
                pass
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return True

    def half_close(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)


def ask(port: int, data: bytes, head_only: bool = False) -> Answer:
    with Wire(port) as wire:
        wire.send(data)
        return wire.answer(head_only)


def get(path: str, *fields: str, method: str = "GET", version: str = "HTTP/1.1") -> bytes:
    lines = [f"{method} {path} {version}", "Host: t", *fields, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def post(path: str, body: bytes, *fields: str, method: str = "POST", kind: str = "application/json") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: t", f"Content-Length: {len(body)}", *fields]
    if kind:
        lines.append(f"Content-Type: {kind}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def check_problem(answer: Answer, status: int, code: str | None = None) -> dict:
    """An error is a whole problem document (H1), whoever wrote it."""
    assert answer.status == status, (answer.status, answer.body)
    assert answer.get("Content-Type") == "application/problem+json"
    assert answer.get("Request-Id").startswith("req_")
    for name, value in SECURITY.items():
        assert answer.get(name) == value, name
    document = answer.json()
    assert document["status"] == status
    assert document["request_id"] == answer.get("Request-Id")
    assert document["type"] == "/docs/errors#" + document["code"]
    for member in ("title", "detail", "instance"):
        assert isinstance(document[member], str) and document[member], member
    if code is not None:
        assert document["code"] == code, document
    return document
