"""Disks that are full, read-only or damaged: clear words, and nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator

import pytest
from gateway import BIN, Gateway

IMAGE = "pytorch/pytorch:2.0.0"
NOBODY = pwd.getpwnam("nobody").pw_uid


@pytest.fixture
def disk() -> Iterator[pathlib.Path]:
    """A small file system of its own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="trainyard-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    if os.getuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        folder.rmdir()
        pytest.skip("a small file system cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def fill(file: pathlib.Path) -> None:
    """To the last byte."""
    with contextlib.suppress(OSError), file.open("ab", buffering=0) as out:
        for size in (1 << 20, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    out.write(bytes(size))


def submit(gateway: Gateway, **spec: object):
    return gateway.post("/v1/jobs", {"image": IMAGE, "command": ["true"], "suspended": True, **spec})


def await_status(gateway: Gateway, path: str, status: int) -> None:
    deadline = time.monotonic() + 60
    while (seen := gateway.get(path).status_code) != status:
        assert time.monotonic() < deadline, f"{path} stays {seen}"
        time.sleep(0.05)


def test_a_full_disk_refuses_writes_serves_reads_and_recovers_by_itself(disk):
    with Gateway(data=str(disk)) as gateway:
        accepted = [gateway.submit(command=["true"], suspended=True)["id"] for _ in range(5)]
        filler = disk / "filler"
        for _ in range(3):
            fill(filler)
            answer = submit(gateway)
            for _ in range(500):  # the room in files that are there already may hold some more
                if answer.status_code != 201:
                    break
                accepted.append(answer.json()["id"])
                fill(filler)
                answer = submit(gateway)
            assert (answer.status_code, answer.json()["code"]) == (503, "storage_full")
            assert answer.headers["Retry-After"]
            await_status(gateway, "/readyz", 503)
            assert gateway.get("/livez").status_code == 200
            assert gateway.get("/v1/jobs").status_code == 200
            assert gateway.get(f"/v1/jobs/{accepted[-1]}").json()["state"] == "suspended"
            refused = gateway.post(f"/v1/jobs/{accepted[0]}/resume")
            assert (refused.status_code, refused.json()["code"]) == (503, "storage_full")
            filler.unlink()
            await_status(gateway, "/readyz", 200)
        after = gateway.submit(command=["true"])
        assert gateway.wait(after["id"])["state"] == "succeeded"
        gateway.kill()
        gateway.start()
        jobs = {job["id"] for job in gateway.get("/v1/jobs?limit=500").json()["items"]}
        assert jobs == {*accepted, after["id"]}, "lost or invented"
        for job in accepted:
            assert gateway.get(f"/v1/jobs/{job}").json()["state"] == "suspended"
            assert gateway.post(f"/v1/jobs/{job}/cancel").status_code in (200, 202)


def serve(data: pathlib.Path, *prefix: str) -> subprocess.CompletedProcess[str]:
    """A start that must fail by itself."""
    command = [*prefix, str(BIN / "trainyardd"), "serve", "--listen", "127.0.0.1:0", "--data", str(data)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd="/")


def make_used(data: pathlib.Path) -> str:
    """A data folder with one job in it."""
    gateway = Gateway(data=str(data))
    gateway.start()
    job = gateway.submit(command=["true"])["id"]
    gateway.wait(job)
    assert gateway.stop() == 0
    return job


def test_a_read_only_disk_is_named_at_start_and_harmless(disk):
    job = make_used(disk)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    done = serve(disk)
    assert done.returncode == 1
    assert "Read-only file system" in done.stderr
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    with Gateway(data=str(disk)) as gateway:
        assert gateway.get(f"/v1/jobs/{job}").json()["state"] == "succeeded"


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_a_folder_without_the_right_to_write_is_named_at_start():
    data = pathlib.Path(tempfile.mkdtemp(prefix="trainyard-rights-"))
    data.chmod(0o555)
    try:
        done = serve(data, "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        assert done.returncode == 1
        assert "Permission denied" in done.stderr
        assert list(data.iterdir()) == []
    finally:
        data.rmdir()


def overwrite(file: pathlib.Path, at: int, length: int) -> None:
    with file.open("r+b") as out:
        out.seek(at)
        out.write(os.urandom(length))


DAMAGES = {
    "its head is another's": lambda file: file.write_bytes(b"no database at all\n" * 1000),
    "its head is noise": lambda file: overwrite(file, 0, 512),
    "all but its head is noise": lambda file: overwrite(file, 4096, file.stat().st_size - 4096),
    "it is cut off": lambda file: os.truncate(file, 3 * 4096),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_is_named_at_start_and_left_alone(damage):
    data = pathlib.Path(tempfile.mkdtemp(prefix="trainyard-damage-"))
    try:
        make_used(data)
        database = data / "trainyard.db"
        DAMAGES[damage](database)
        before = database.read_bytes()
        done = serve(data)
        assert done.returncode == 1
        assert any(word in done.stderr for word in ("damaged", "malformed", "not a database", "another program")), done.stderr
        assert database.read_bytes() == before
    finally:
        shutil.rmtree(data)
