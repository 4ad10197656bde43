"""A real gateway for tests: the built daemon on a data folder of its own, on a free port."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence

import requests

TOP = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TRAINYARD_BIN", TOP / "build/dev/bin"))
# What a tenant's policy must say so that its jobs may ask for everything.
OPEN = {
    name: ["*"]
    for name in (
        "images",
        "volumes",
        "storage_classes",
        "node_labels",
        "tolerations",
        "namespaces",
        "priority_classes",
        "queues",
        "schedulers",
        "secrets",
    )
}
TERMINAL = {"succeeded", "failed", "cancelled", "lost"}
# The first line of a script that goes on when `Gateway.let_go` says so.
HELD = "import os, time\nwhile not os.path.exists('/output/go'): time.sleep(0.01)\n"


class Gateway:
    """Start, kill and restart one daemon; speak to it with the administrator's token."""

    def __init__(self, *flags: str, data: str | None = None, env: dict[str, str] | None = None) -> None:
        self.own_data = data is None
        self.data = pathlib.Path(data or tempfile.mkdtemp(prefix="trainyard-test-"))
        self.flags = flags
        self.env = {**os.environ, **(env or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self.address = ""
        self.session = requests.Session()

    # --- the process ---

    def start(self, wait: float = 60.0, program: Sequence[str | pathlib.Path] = (BIN / "trainyardd",)) -> "Gateway":
        """Start and wait until it is ready. `program` may have a command before it that it is run by."""
        (self.data / "address").unlink(missing_ok=True)
        self.log = open(self.data / "daemon.log", "ab")  # noqa: SIM115 - closed in stop
        self.process = subprocess.Popen(
            [*program, "serve", "--listen", "127.0.0.1:0", "--data", self.data, *self.flags],
            stderr=self.log,
            env=self.env,
        )
        deadline = time.monotonic() + wait
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"trainyardd ended with {self.process.returncode}: {self.tail()}")
            if (self.data / "address").exists() and self.ready():
                return self
            time.sleep(0.01)
        raise RuntimeError(f"trainyardd is not ready: {self.tail()}")

    def ready(self) -> bool:
        self.address = (self.data / "address").read_text().strip()
        try:
            return requests.get(self.url("/readyz"), timeout=60).status_code == 200
        except requests.ConnectionError:
            return False

    def kill(self) -> None:
        """SIGKILL: what a crash does."""
        assert self.process
        self.process.kill()
        self.process.wait()
        self.session.close()
        self.session = requests.Session()

    def stop(self, wait: float = 60.0) -> int:
        """SIGTERM and wait for the end."""
        assert self.process
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.session.close()
        status = self.process.wait(wait)
        self.log.close()
        return status

    def close(self) -> None:
        """Stop whatever runs and remove the data folder."""
        for job in self.live_jobs():
            self.post(f"/v1/jobs/{job['id']}/cancel")
        deadline = time.monotonic() + 60
        while self.live_jobs() and time.monotonic() < deadline:
            time.sleep(0.05)
        if self.process and self.process.poll() is None:
            self.stop()
        findings = self.findings()
        if self.own_data:
            shutil.rmtree(self.data, ignore_errors=True)
        assert not findings, findings

    def findings(self) -> str:
        """What a sanitizer said of the daemon or of a supervisor; leaks are told at the end of each."""
        words = [file.read_text(errors="replace") for file in self.data.glob("daemon.log")]
        words += [file.read_text(errors="replace") for file in self.data.glob("runs/*/supervisor.log")]
        return "\n".join(text[-20000:] for text in words if "Sanitizer" in text or "runtime error" in text)

    def live_jobs(self) -> list[dict]:
        if not self.process or self.process.poll() is not None:
            return []
        states = "queued,starting,running,restarting,suspended,cancelling"
        return self.get("/v1/jobs", params={"state": states, "limit": "500"}).json()["items"]

    def tail(self) -> str:
        return (self.data / "daemon.log").read_text(errors="replace")[-2000:]

    def __enter__(self) -> "Gateway":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- speaking to it ---

    @property
    def token(self) -> str:
        return (self.data / "admin.token").read_text().strip()

    def url(self, path: str) -> str:
        return f"http://{self.address}{path}"

    def request(self, method: str, path: str, token: str | None = None, **more) -> requests.Response:
        own = {"Authorization": f"Bearer {token or self.token}", "Accept-Encoding": "identity"}
        headers = {**own, **more.pop("headers", {})}
        return self.session.request(method, self.url(path), headers=headers, timeout=more.pop("timeout", 60), **more)

    def get(self, path: str, **more) -> requests.Response:
        return self.request("GET", path, **more)

    def post(self, path: str, body: object = None, **more) -> requests.Response:
        return self.request("POST", path, **({"json": body} if body is not None else {}), **more)

    def patch(self, path: str, body: object, **more) -> requests.Response:
        return self.request("PATCH", path, json=body, **more)

    def delete(self, path: str, **more) -> requests.Response:
        return self.request("DELETE", path, **more)

    def tenant(self, name: str, **more: object) -> dict:
        """Make a tenant; its policy is open unless `policy` says otherwise."""
        answer = self.post("/v1/tenants", {"name": name, "policy": OPEN, **more})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def submit(self, **spec) -> dict:
        """Create a job that must be accepted; the image has a default."""
        answer = self.post("/v1/jobs", {"image": "pytorch/pytorch:2.0.0", **spec})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def wait(self, job_id: str, states: set[str] = frozenset(TERMINAL), seconds: float = 60.0) -> dict:
        """Poll until the job is in one of the states."""
        deadline = time.monotonic() + seconds
        while True:
            job = self.get(f"/v1/jobs/{job_id}").json()
            if job["state"] in states:
                return job
            if job["state"] in TERMINAL or time.monotonic() > deadline:
                raise AssertionError(f"job is {job['state']} ({job['cause']}: {job['message']}), wanted {states}")
            time.sleep(0.02)

    def let_go(self, job: dict) -> None:
        """The script of a job that begins with HELD goes on, whether the daemon runs or not."""
        (self.data / "volumes/default" / f"{job['object_name']}-output" / "go").touch()

    def logs(self, job_id: str, **params: object) -> bytes:
        answer = self.get(f"/v1/jobs/{job_id}/logs", params={k: str(v) for k, v in params.items()})
        assert answer.status_code == 200, answer.text
        return answer.content
