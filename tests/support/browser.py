"""A real Chromium without a screen, spoken to through its DevTools pipe: NUL-ended JSON on two descriptors."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from typing import Any

FLAGS = (
    "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
)  # fmt: skip


def chromium() -> str | None:
    return shutil.which("chromium")


def high_pipe() -> tuple[int, int]:
    """A pipe whose descriptors are not those that the browser wants it at."""
    low = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low]
    for end in low:
        os.close(end)
    return high[0], high[1]


class Browser:
    """One browser with one page. `requests` and `complaints` grow while the page is driven."""

    def __init__(self) -> None:
        self.requests: list[str] = []  # addresses that the page asked for, also those that its policy then forbade
        self.complaints: list[str] = []  # errors that the console shows, and exceptions nobody caught
        self.pending = b""
        self.last_id = 0

    def __enter__(self) -> "Browser":
        self.profile = tempfile.mkdtemp(prefix="trainyard-browser-")
        its_input, self.to_browser = high_pipe()
        self.from_browser, its_output = high_pipe()
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{its_input} 4>&{its_output}', "bash", chromium() or "chromium", *FLAGS, *sandbox,
             f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(its_input, its_output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(its_input)
        os.close(its_output)
        self.session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Network", "Log", "Page", "Runtime"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)

    # --- the protocol ---

    def call(self, method: str, /, **params: Any) -> dict[str, Any]:
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self.read(deadline)
            if answer.get("id") == self.last_id:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self.pending:
            ready, _, _ = select.select([self.from_browser], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser says nothing"
            data = os.read(self.from_browser, 1 << 16)
            assert data, "the browser is gone"
            self.pending += data
        text, _, self.pending = self.pending.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, event: str | None, params: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(params["entry"]["text"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"])[:1000])

    # --- what a person does ---

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str, seconds: float = 60) -> Any:
        """What the expression gives once it is true."""
        deadline = time.monotonic() + seconds
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            assert time.monotonic() < deadline, f"never true: {expression}; {self.complaints}"
            time.sleep(0.1)
