"""Elastic training with real PyTorch: torchrun and DDP over gloo, from 1 worker to 3 and back, from POST to success."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import signal
import time

import pytest
from test_examples import EXAMPLES

SECONDS = 240  # torchrun takes up to half a minute to miss an agent that is gone
ELASTIC = {"min": 1, "max": 3, "max_restarts": 8, "rendezvous": {"conf": {"last_call_timeout": "2"}}}


def await_true(gateway, job: str, test, what: str):
    deadline = time.monotonic() + SECONDS
    while not (found := test()):
        seen = gateway.get(f"/v1/jobs/{job}").json()
        logs = [gateway.logs(job, replica=f"worker-{i}").decode(errors="replace")[-3000:] for i in range(3)]
        assert time.monotonic() < deadline and seen["state"] in {"queued", "starting", "running"}, (what, seen, *logs)
        time.sleep(0.1)
    return found


def worlds(gateway, job: str, replica: str) -> list[tuple[int, int]]:
    """World size and first epoch of each start of the script in one worker."""
    found = re.findall(rb"world_size=(\d) rank=\d first_epoch=(\d+)", gateway.logs(job, replica=replica))
    return [(int(size), int(epoch)) for size, epoch in found]


def await_world(gateway, job: str, size: int) -> None:
    for replica in (f"worker-{i}" for i in range(size)):
        test = lambda at=replica: [found for found, _ in worlds(gateway, job, at)[-1:]] == [size]  # noqa: E731
        await_true(gateway, job, test, f"{replica} sees {size}")


def scripts_of(replica: str) -> list[int]:
    """The training processes of a replica, below torchrun."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and f"HOSTNAME={replica}\0".encode() in (entry / "environ").read_bytes():
                script = b"train.py\0" in (entry / "cmdline").read_bytes()
                if script and b"TORCHELASTIC_RUN_ID=" in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="the environment of a replica's processes is its owner's")
def test_a_killed_training_process_is_started_again_by_torchrun(gateway):
    script = (EXAMPLES / "elastic_mlp.py").read_text()
    job = gateway.submit(script=script, name="killed", elastic=ELASTIC, epochs=100000, parameters={"pause": 0.05})
    await_world(gateway, job["id"], 1)
    assert gateway.post(f"/v1/jobs/{job['id']}/scale", {"replicas": 2}).status_code == 202
    await_world(gateway, job["id"], 2)
    before = len(worlds(gateway, job["id"], "worker-0"))
    os.kill(scripts_of(f"{job['object_name']}-worker-1")[0], signal.SIGKILL)
    await_true(gateway, job["id"], lambda: len(worlds(gateway, job["id"], "worker-0")) > before, "worker-0 joins anew")
    await_world(gateway, job["id"], 2)
    assert gateway.get(f"/v1/jobs/{job['id']}").json()["restarts"] == 0, "no replica had to be restarted"
    gateway.post(f"/v1/jobs/{job['id']}/cancel")
    gateway.wait(job["id"], {"cancelled"})


def test_the_group_grows_and_shrinks_and_the_job_goes_on_from_its_checkpoints(gateway):
    script = (EXAMPLES / "elastic_mlp.py").read_text()
    spec = {"script": script, "name": "elastic", "elastic": ELASTIC, "epochs": 400, "parameters": {"pause": 0.2}}
    job = gateway.submit(**spec)["id"]
    await_world(gateway, job, 1)
    for size in (3, 1):
        assert gateway.post(f"/v1/jobs/{job}/scale", {"replicas": size}).status_code == 202
        await_world(gateway, job, size)
    done = gateway.wait(job, seconds=SECONDS)
    assert (done["state"], done["restarts"], done["replicas"]) == ("succeeded", 0, 1), gateway.logs(job).decode()
    seen = worlds(gateway, job, "worker-0")
    assert [size for size, _ in seen][0] == 1 and (3 in [size for size, _ in seen])
    firsts = [epoch for _, epoch in seen]
    assert firsts == sorted(firsts) and firsts[-1] > firsts[0] == 0, "each start goes on where the last one was"
    assert b"epoch=399 " in gateway.logs(job)
    for i in range(1, 3):
        assert 3 in [size for size, _ in worlds(gateway, job, f"worker-{i}")]
