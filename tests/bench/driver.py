"""What the measurements share: pinned servers, load programs, rounds that alternate, and the table."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRAINYARD_BENCH_BUILD", TOP / "build/bench"))
os.environ["TRAINYARD_BIN"] = str(BUILD / "bin")
sys.path.insert(0, str(TOP / "tests/support"))

from gateway import Gateway  # noqa: E402 - found by the path above

ROUNDS = int(os.environ.get("TRAINYARD_BENCH_ROUNDS", "5"))
SECONDS = int(os.environ.get("TRAINYARD_BENCH_SECONDS", "2"))  # whole ones, as wrk takes them
CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU = {CPUS[0]}
CLIENT_CPU = {CPUS[-1]}


@contextlib.contextmanager
def on_cpus(cpus: set[int]) -> Iterator[None]:
    """Processes started inside run on these CPUs, and stay there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def median(values: list[float]) -> float:
    return statistics.median(values)


def part(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mib(pid: int) -> float:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found
    return int(found[1]) / 1024


@contextlib.contextmanager
def bare_server(*more: str) -> Iterator[tuple[str, int]]:
    """http_floor on the server's CPU: its address and process."""
    with on_cpus(SERVER_CPU):
        process = subprocess.Popen([BUILD / "bench/http_floor", "0", *more], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/", process.pid
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def gateway(
    data: pathlib.Path | None = None, cpus: set[int] | None = None, flags: tuple[str, ...] = (), **quota: int
) -> Iterator[Gateway]:
    """A gateway on the server's CPU. Its own folder is removed without ending what waits there."""
    folder = data or pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=BUILD))
    server = Gateway("--log-level", "error", *flags, data=str(folder))
    with on_cpus(cpus or SERVER_CPU):
        server.start(wait=120)
    try:
        if quota:
            answer = server.patch("/v1/tenants/default", {"quota": quota})
            assert answer.status_code == 200, answer.text
        yield server
    finally:
        server.stop()
        if not data:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def commit_floor(cpus: set[int] | None = None) -> Iterator[Callable[[int, int], tuple[float, float]]]:
    """Raw group commit on the server's CPU: a function of group and count that gives rows a second and CPU us a row."""
    folder = tempfile.mkdtemp(prefix="bench-floor-", dir=BUILD)
    with on_cpus(cpus or SERVER_CPU):
        process = subprocess.Popen(
            [BUILD / "bench/commit_floor", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    assert process.stdin and process.stdout

    def run(group: int, count: int) -> tuple[float, float]:
        before = cpu_seconds(process.pid)
        process.stdin.write(f"{group} {count}\n")
        process.stdin.flush()
        rate = float(process.stdout.readline())
        return rate, (cpu_seconds(process.pid) - before) / count * 1e6

    try:
        yield run
    finally:
        process.stdin.close()
        process.wait()
        shutil.rmtree(folder)


class Load:
    """What wrk found in one round."""

    def __init__(self, text: str, cpu: float) -> None:
        bad = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
        if bad or "Socket errors" in text:
            print(f"warning: the load met errors: {text}", file=sys.stderr)
        found = re.search(r"(\d+) requests in ([\d.]+)(ms|s|m)", text)
        assert found, text
        self.requests = int(found[1])
        self.seconds = float(found[2]) * {"ms": 0.001, "s": 1, "m": 60}[found[3]]
        self.rate = self.requests / self.seconds
        self.cpu_us = cpu / max(self.requests, 1) * 1e6


def load(
    url: str,
    pid: int,
    clients: int,
    headers: dict[str, str],
    body: str | None = None,
    cpus: set[int] | None = None,
) -> Load:
    """One round of wrk from the client's CPU; a body makes it POST."""
    script = tempfile.NamedTemporaryFile("w", suffix=".lua", dir=BUILD)
    if body is not None:
        script.write(f"wrk.method = 'POST'\nwrk.body = [==[{body}]==]\n")
        script.flush()
    fields = [part for key, value in headers.items() for part in ("-H", f"{key}: {value}")]
    command = ["wrk", "-t1", f"-c{clients}", f"-d{SECONDS}s", "--timeout", "30s", *fields]
    if body is not None:
        command += ["-s", script.name]
    before = cpu_seconds(pid)
    with on_cpus(cpus or CLIENT_CPU):
        text = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    script.close()
    return Load(text, cpu_seconds(pid) - before)


def alternate(*measures: Callable[[], object]) -> list[list]:
    """Each in turn, ROUNDS times: what each gave."""
    results: list[list] = [[] for _ in measures]
    for _ in range(ROUNDS):
        for measure, found in zip(measures, results):
            found.append(measure())
    return results


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def first_answer(port: int, path: str, process: subprocess.Popen) -> None:
    """Ask until the first 200."""
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
    while process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                connection.sendall(request)
                if b" 200 " in connection.recv(4096):
                    return
        except ConnectionError:
            pass
        time.sleep(0.0002)
    raise RuntimeError(f"ended with {process.returncode} before an answer")


class Table:
    """name, product, floor, ratio, target, met."""

    def __init__(self) -> None:
        self.rows = [("name", "product", "floor", "ratio", "target", "met")]

    def add(self, name: str, product: str, floor: str, ratio: float | None = None, target: str = "") -> None:
        """`target` is "ratio >= 0.6" or, with the number judged, "0.084 <= 0.1"."""
        met = ""
        if target:
            left, sign, right = target.split()
            value = ratio if left == "ratio" else float(left)
            assert value is not None
            met = "yes" if (value >= float(right) if sign == ">=" else value <= float(right)) else "NO"
            target = f"{sign} {right}"
        self.rows.append((name, product, floor, "" if ratio is None else f"{ratio:.2f}", target, met))
        print("  ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def print(self) -> None:
        widths = [max(len(row[column]) for row in self.rows) for column in range(6)]
        for row in self.rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
