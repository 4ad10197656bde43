"""Starts http_probe (tests/support/http_probe.c), the HTTP room's own server, with the limits a test asks for."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
ROOT = pathlib.Path(__file__).resolve().parents[3]


def find_probe() -> pathlib.Path:
    named = os.environ.get("TRAINYARD_HTTP_PROBE")
    if named:
        return pathlib.Path(named)
    if "TRAINYARD_BIN" in os.environ:
        return pathlib.Path(os.environ["TRAINYARD_BIN"]) / "http_probe"
    built = sorted(ROOT.glob("build/*/bin/http_probe"), key=lambda path: path.stat().st_mtime)
    if not built:
        pytest.skip("http_probe is not built")
    return built[-1]


class Probe:
    def __init__(self, path: pathlib.Path, *options: object):
        self.file = path
        command = [str(find_probe()), "--file", str(path), *map(str, options)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.process.stderr.read())
        self.port = int(line)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def stop(self) -> str:
        """End it and return what it printed last; a crash or a sanitizer's finding fails the test."""
        if self.process.poll() is None:
            self.terminate()
        try:
            out, err = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            raise AssertionError("http_probe did not stop: " + err) from None
        assert self.process.returncode == 0, f"exit {self.process.returncode}: {err}"
        return out.strip()


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("probe") / "model.pt"
    path.write_bytes(bytes(range(250)) * 4)
    return path


@pytest.fixture(scope="session")
def probe(sample: pathlib.Path):
    """Default limits; shared by all cases that do not change the server."""
    running = Probe(sample, "--threads", 2, "--drain", 1)
    yield running
    running.stop()


@pytest.fixture
def start(sample: pathlib.Path):
    """start("--header-ms", 300): a server of this test's own."""
    running: list[Probe] = []

    def starter(*options: object, file: pathlib.Path = sample) -> Probe:
        running.append(Probe(file, *options))
        return running[-1]

    yield starter
    for one in running:
        one.stop()
