"""Many clients, slow clients, other users, killed supervisors and jumping clocks, against the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import pwd
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest
import requests
from gateway import BIN, Gateway

FOLLOWERS = 1000
SANITIZED = b"__asan_init" in (BIN / "trainyardd").read_bytes() or b"__tsan_init" in (BIN / "trainyardd").read_bytes()
NOBODY = pwd.getpwnam("nobody").pw_uid


def open_more_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * FOLLOWERS
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


def peak_memory(gateway: Gateway) -> int:
    """In bytes, of the daemon since it started."""
    assert gateway.process
    for line in pathlib.Path(f"/proc/{gateway.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def place(gateway: Gateway) -> tuple[str, int]:
    host, port = gateway.address.rsplit(":", 1)
    return host, int(port)


# --- a thousand followers ---


async def read_chunks(reader: asyncio.StreamReader) -> tuple[bytes, bool]:
    """A chunked body, and whether it came to its end."""
    body = bytearray()
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
            body += (await reader.readexactly(size + 2))[:-2]
            if size == 0:
                return bytes(body), True
    return bytes(body), False


async def follow(gateway: Gateway, job: str, begun: asyncio.Semaphore, count: list[int]) -> tuple[int, bytes, bool]:
    async with begun:
        reader, writer = await asyncio.open_connection(*place(gateway), limit=1 << 18)
        writer.write(
            f"GET /v1/jobs/{job}/logs?follow=true HTTP/1.1\r\nHost: t\r\nAccept: text/plain\r\n"
            f"Authorization: Bearer {gateway.token}\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        count[0] += 1
    body, whole = await read_chunks(reader)
    writer.close()
    return int(head.split()[1]), body, whole


async def follow_all(gateway: Gateway, job: str, go: pathlib.Path) -> list[tuple[int, bytes, bool]]:
    begun = asyncio.Semaphore(64)
    count = [0]
    tasks = [asyncio.create_task(follow(gateway, job, begun, count)) for _ in range(FOLLOWERS)]
    while count[0] < FOLLOWERS and not any(task.done() for task in tasks):
        await asyncio.sleep(0.02)
    go.touch()  # the job prints when all follow
    return await asyncio.gather(*tasks)


def test_a_thousand_followers_of_one_log_get_every_byte():
    open_more_files()
    log = b"first\n" + b"".join(b"%06d %s\n" % (i, b"x" * 90) for i in range(500))
    script = (
        "import os, time\nprint('first', flush=True)\n"
        "while not os.path.exists('/go/go'): time.sleep(0.05)\n"
        "for i in range(500): print('%06d %s' % (i, 'x' * 90), flush=True)\n"
    )
    flags = ("--max-connections-per-address", "2000", "--streams-per-token", "2000", "--streams-per-tenant", "2000")
    with Gateway(*flags) as gateway:
        assert gateway.post("/v1/volumes", {"name": "go", "size": "1Mi"}).status_code == 201
        job = gateway.submit(script=script, volumes=[{"claim": "go", "mount_path": "/go"}])["id"]
        gateway.wait(job, {"running"})
        before = peak_memory(gateway)
        answers = asyncio.run(follow_all(gateway, job, gateway.data / "volumes/default/go/go"))
        assert {status for status, _, _ in answers} == {200}
        assert all(whole for _, _, whole in answers)
        assert {body for _, body, _ in answers} == {log}
        grown = peak_memory(gateway) - before
        print(f"{FOLLOWERS} followers: {grown / 1024 / FOLLOWERS:.0f} KiB each")
        assert SANITIZED or grown < FOLLOWERS * 128 * 1024
        assert gateway.get("/livez").status_code == 200


# --- slow and many ---


def drip(gateway: Gateway, sent: bytes, stop: threading.Event, count: int) -> threading.Thread:
    """`count` connections that send `sent` a byte at a time without ever coming to its end."""

    def run() -> None:
        wires = [socket.create_connection(place(gateway)) for _ in range(count)]
        at = 0
        while not stop.wait(0.05):
            for wire in wires:
                with contextlib.suppress(OSError):
                    wire.send(sent[at : at + 1], socket.MSG_DONTWAIT)
            at = min(at + 1, len(sent) - 2)
        for wire in wires:
            wire.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_clients_that_drip_do_not_hold_up_the_others(own_gateway):
    gateway = own_gateway
    stop = threading.Event()
    head = b"GET /livez HTTP/1.1\r\nHost: t\r\nX-Slow: " + b"y" * 4000
    body = (
        f"POST /v1/jobs HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n"
        f"Authorization: Bearer {gateway.token}\r\n\r\n".encode()
    )
    drips = [drip(gateway, head, stop, 200), drip(gateway, body + b" " * 4000, stop, 200)]
    try:
        time.sleep(0.5)
        for _ in range(20):
            assert gateway.get("/v1/jobs").status_code == 200
        job = gateway.submit(command=["sh", "-c", "echo good"])["id"]
        assert gateway.wait(job)["state"] == "succeeded"
        assert gateway.logs(job) == b"good\n"
    finally:
        stop.set()
        for thread in drips:
            thread.join()


def test_a_full_house_says_503_and_recovers():
    with Gateway("--max-connections", "40") as gateway:
        wires = [socket.create_connection(place(gateway)) for _ in range(60)]
        time.sleep(0.3)
        refused = 0
        for wire in wires:
            wire.settimeout(60)
            with contextlib.suppress(OSError):
                wire.sendall(b"GET /livez HTTP/1.1\r\nHost: t\r\n\r\n")
            with contextlib.suppress(OSError):
                refused += wire.recv(4096).startswith(b"HTTP/1.1 503")
        assert 60 - 40 <= refused < 60
        for wire in wires:
            wire.close()
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(requests.RequestException):
                if requests.get(gateway.url("/livez"), timeout=60).status_code == 200:
                    break
            assert time.monotonic() < deadline, "it does not recover"
            time.sleep(0.05)


# --- supervisors, users, clocks ---


def find_processes(*words: str) -> list[int]:
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes().decode(errors="replace") if entry.name.isdigit() else ""
            if line and all(word in line for word in words):
                found.append(int(entry.name))
    return found


def await_none(*words: str) -> None:
    deadline = time.monotonic() + 60
    while left := find_processes(*words):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def test_a_job_whose_supervisor_is_killed_is_lost_and_nothing_of_it_runs_on(own_gateway):
    gateway = own_gateway
    mark = f"86400.{os.getpid()}"
    script = f"sleep {mark} & sleep {mark} & setsid sleep {mark}"
    job = gateway.submit(command=["sh", "-c", script], replicas=2)
    gateway.wait(job["id"], {"running"})
    (supervisor,) = find_processes("trainyard-supervisor", job["object_name"])
    os.kill(supervisor, signal.SIGKILL)
    done = gateway.wait(job["id"])
    assert done["state"] == "lost"
    await_none("sleep", mark)
    again = gateway.submit(command=["true"])
    assert gateway.wait(again["id"])["state"] == "succeeded"


@pytest.mark.skipif(os.getuid() != 0, reason="already an ordinary user")
def test_the_gateway_of_an_ordinary_user_runs_jobs():
    data = pathlib.Path(tempfile.mkdtemp(prefix="trainyard-user-"))
    programs = pathlib.Path(tempfile.mkdtemp(prefix="trainyard-bin-"))  # where any user may look
    try:
        os.chown(data, NOBODY, NOBODY)
        programs.chmod(0o755)
        for name in ("trainyardd", "trainyard-supervisor", "trainyard-init"):
            shutil.copy(BIN / name, programs)
        gateway = Gateway(data=str(data))
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        gateway.start(program=[*user, programs / "trainyardd"])
        script = "import os; open('/output/made', 'w').write('x'); print('user', flush=True)"
        job = gateway.submit(script=script, replicas=2)
        assert gateway.wait(job["id"])["state"] == "succeeded"
        assert gateway.logs(job["id"]) == b"user\n"
        assert [item["path"] for item in gateway.get(f"/v1/jobs/{job['id']}/artifacts").json()["items"]] == ["made"]
        made = data / "volumes/default" / f"{job['object_name']}-output/made"
        assert made.stat().st_uid == NOBODY
        gateway.close()
    finally:
        shutil.rmtree(data, ignore_errors=True)
        shutil.rmtree(programs)


FAKETIME = next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)


@pytest.mark.skipif(FAKETIME is None, reason="faketime is not installed")
@pytest.mark.skipif(SANITIZED, reason="a sanitizer must be loaded before faketime")
def test_a_clock_that_jumps_changes_no_result_and_no_order(tmp_path):
    """Moments that were promised by the clock on the wall (deadlines, keeping times) do follow it."""
    offset = tmp_path / "offset"
    offset.write_text("+0\n")
    env = {
        "LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(offset), "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }  # fmt: skip
    with Gateway("--grace-seconds", "2", env=env) as gateway:
        jobs = []
        for jump in ("+0", "-2d", "+3d", "-10y", "+0"):
            offset.write_text(jump + "\n")
            job = gateway.submit(command=["sh", "-c", "echo begun; sleep 0.5; echo end"])
            jobs.append(job["id"])
        days = {gateway.get(f"/v1/jobs/{job}").json()["created_at"][:10] for job in jobs}
        assert len(days) >= 4, "the clock did not jump"
        for job in jobs:
            assert gateway.wait(job)["state"] == "succeeded"
            assert gateway.logs(job) == b"begun\nend\n"
            steps = gateway.get(f"/v1/jobs/{job}/transitions").json()["items"]
            assert [step["sequence"] for step in steps] == list(range(1, len(steps) + 1))
        assert {item["id"] for item in gateway.get("/v1/jobs").json()["items"]} == set(jobs)
        gateway.kill()
        offset.write_text("-1d\n")
        gateway.start()
        job = gateway.submit(command=["true"])
        assert gateway.wait(job["id"])["state"] == "succeeded"
