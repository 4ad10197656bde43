"""What a job's program may reach of the machine: its mounts, and nothing beside them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile

import pytest

from gateway import Gateway


@pytest.fixture(scope="module", autouse=True)
def sandboxed(gateway: Gateway) -> None:
    """Where namespaces are forbidden, jobs are plain processes and there is nothing to test."""
    first = gateway.wait(gateway.submit(script="import os; print(os.getppid())")["id"])
    if gateway.logs(first["id"]).strip() != b"1":
        pytest.skip("no sandbox on this machine")


def ask(gateway: Gateway, script: str, **spec: object) -> object:
    """Run a script that prints one JSON value and give that value."""
    job = gateway.wait(gateway.submit(script=script, **spec)["id"])
    text = gateway.logs(job["id"])
    assert job["state"] == "succeeded", text
    return json.loads(text)


# The folders and files that were open for making the sandbox are outside of it: "..", from one of
# them, leads to every tenant's files and the administrator's token.
OPEN_OF_INIT = """
import json, os
found = []
for name in ("cwd", "root", "exe", *(f"fd/{number}" for number in range(64))):
    try:
        found.append(os.readlink(f"/proc/1/{name}"))
    except OSError:
        pass
own = sorted(int(fd) for fd in os.listdir("/proc/self/fd"))
print(json.dumps([found, own[:3], len(own)]))
"""


def test_the_first_process_is_closed_to_the_program(gateway: Gateway) -> None:
    found, first, count = ask(gateway, OPEN_OF_INIT)
    assert found == []
    assert (first, count) == ([0, 1, 2], 4)  # the fourth is the listing's own


def test_a_job_that_attaches_to_the_first_process_still_ends(gateway: Gateway) -> None:
    script = "import ctypes; print(ctypes.CDLL(None).ptrace(16, 1, 0, 0))"  # 16 = PTRACE_ATTACH
    assert ask(gateway, script) == -1


WRITABLE = """
import json, os
found = []
for top in ("acpi", "bus", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger"):
    path = f"/proc/{top}"
    if os.path.isfile(path):
        found += [path] * os.access(path, os.W_OK)
    for folder, _, names in os.walk(path):
        found += [f"{folder}/{name}" for name in names if os.access(f"{folder}/{name}", os.W_OK)]
print(json.dumps(found))
"""


def test_the_machines_settings_cannot_be_written(gateway: Gateway) -> None:
    assert ask(gateway, WRITABLE) == []


def test_nothing_of_the_gateway_is_in_sight(gateway: Gateway) -> None:
    script = f"import json, os; print(json.dumps([os.path.exists({str(gateway.data)!r}), os.listdir('/proc/1/task')]))"
    assert ask(gateway, script) == [False, ["1"]]


@pytest.mark.skipif(not os.access("/opt", os.W_OK), reason="/opt belongs to somebody else")
def test_data_in_a_shown_part_of_the_machine_are_not_shown() -> None:
    data = tempfile.mkdtemp(prefix="trainyard-test-", dir="/opt")
    script = f"import json, os; print(json.dumps([os.listdir({data!r}), os.access({data!r}, os.W_OK)]))"
    try:
        with Gateway(data=data) as gateway:
            assert ask(gateway, script) == [[], False]
    finally:
        shutil.rmtree(data, ignore_errors=True)
