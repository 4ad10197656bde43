"""Event streams as clients read them: raw, so that what a connection's end looked like is seen too."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import requests
from gateway import Gateway

WORDS = {"end", "reconnect", "overflow", "gap"}


class Stream:
    """One open stream. `words` has what the stream said of itself; `cut` whether it broke off without a last word."""

    def __init__(self, gateway: Gateway, path: str = "/v1/events", token: str | None = None, frames: bool = False, last_id: str | None = None, **params: object) -> None:
        headers = {
            "Authorization": f"Bearer {token or gateway.token}",
            "Accept": "text/event-stream" if frames else "application/x-ndjson",
            **({"Last-Event-ID": last_id} if last_id else {}),
        }
        query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in params.items()}
        self.frames = frames
        self.answer = requests.get(gateway.url(path), headers=headers, params=query, stream=True, timeout=60)
        self.words: list[dict] = []
        self.rest = b""
        self.pending: list[dict] = []
        self.last_id = self.answer.headers.get("Events-After")
        self.over = False
        self.chunks = self.answer.iter_content(None)

    def __enter__(self) -> Stream:
        assert self.answer.status_code == 200, self.answer.text
        return self

    def __exit__(self, *_: object) -> None:
        self.answer.close()

    @property
    def cut(self) -> bool:
        return self.over and not any(word["type"] != "gap" for word in self.words)

    def parse(self, piece: bytes) -> dict | None:
        if not self.frames:
            return json.loads(piece) if piece.strip() else None
        fields = dict(line.split(": ", 1) for line in piece.decode().split("\n") if line and line[0] != ":")
        if "data" not in fields:
            return None
        body = json.loads(fields["data"])
        assert (body["id"], body["type"]) == (fields["id"], fields["event"])
        return body

    def read_more(self) -> bool:
        try:
            chunk = next(self.chunks, b"")
        except (requests.RequestException, OSError):
            chunk = b""
        if not chunk:
            self.over = True
            return False
        *pieces, self.rest = (self.rest + chunk).split(b"\n\n" if self.frames else b"\n")
        for piece in pieces:
            body = self.parse(piece)
            if body:
                self.pending.append(body)
        return True

    def __iter__(self) -> Iterator[dict]:
        """The events until the stream ends; its own words are kept aside."""
        while True:
            while self.pending:
                body = self.pending.pop(0)
                self.last_id = body["id"]
                if body["type"] in WORDS:
                    self.words.append(body)
                else:
                    yield body
            if not self.read_more():
                return

    def take(self, count: int, job: str | None = None) -> list[dict]:
        """The next so many events, of one job alone when it is given."""
        events: list[dict] = []
        while len(events) < count:
            event = next(iter(self), None)
            if event is None:
                break
            if job is None or event["data"].get("job_id") == job:
                events.append(event)
        return events


def read_all(gateway: Gateway, path: str = "/v1/events", **more: object) -> list[dict]:
    """A finite read to its end."""
    with Stream(gateway, path, follow=False, **more) as stream:
        events = list(stream)
        assert [word["type"] for word in stream.words] == ["end"]
    return events


def open_raw(gateway: Gateway, path: str, token: str | None = None, receive_buffer: int | None = None) -> socket.socket:
    """A stream nobody reads until the caller does; the head is still to come."""
    host, port = gateway.address.split(":")
    connection = socket.socket()
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.connect((host, int(port)))
    head = f"GET {path} HTTP/1.1\r\nHost: {gateway.address}\r\nAuthorization: Bearer {token or gateway.token}\r\n\r\n"
    connection.sendall(head.encode())
    return connection
