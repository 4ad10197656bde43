"""The examples with real PyTorch, from POST to checkpoint."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "clients/examples"


def run(gateway, script, **spec):
    job = gateway.submit(script=(EXAMPLES / script).read_text(), **spec)
    done = gateway.wait(job["id"], seconds=180)
    assert done["state"] == "succeeded", gateway.logs(job["id"]).decode()
    return done


def losses(gateway, job):
    return [float(value) for value in re.findall(rb"loss=([0-9.]+)", gateway.logs(job["id"]))]


def test_ddp_over_three_replicas_learns_and_saves(gateway):
    job = run(gateway, "ddp_mlp.py", name="mlp", replicas=3, epochs=4)
    found = losses(gateway, job)
    assert len(found) == 4 and found[-1] < found[0] / 2
    assert b"world_size=3" in gateway.logs(job["id"])
    checkpoints = gateway.get(f"/v1/jobs/{job['id']}/checkpoints").json()
    assert checkpoints["latest"] == "epoch-003.pt" and len(checkpoints["items"]) == 4
    model = gateway.get(f"/v1/jobs/{job['id']}/artifacts/model.pth")
    assert model.status_code == 200 and model.content[:2] == b"PK"


def test_training_goes_on_from_the_latest_checkpoint(gateway):
    gateway.post("/v1/volumes", {"name": "mlp-checkpoints", "size": "1Gi"})
    spec = {"replicas": 2, "checkpoints": {"volume": "mlp-checkpoints", "resume": True}}
    first = run(gateway, "ddp_mlp.py", name="first", epochs=2, **spec)
    second = run(gateway, "ddp_mlp.py", name="second", epochs=4, **spec)
    assert b"epochs=0..1" in gateway.logs(first["id"])
    assert b"epochs=2..3" in gateway.logs(second["id"])
    assert losses(gateway, second)[0] < losses(gateway, first)[0]


def test_a_network_learns_pictures(gateway):
    job = run(gateway, "ddp_cnn.py", name="cnn", replicas=2, epochs=2)
    accuracies = [float(value) for value in re.findall(rb"accuracy=([0-9.]+)", gateway.logs(job["id"]))]
    assert accuracies[-1] > 0.8


def test_torchrun_starts_two_processes_a_replica(gateway):
    job = run(gateway, "torchrun_sum.py", name="sum", replicas=2, launcher="torchrun", processes_per_replica=2)
    text = gateway.logs(job["id"]) + gateway.logs(job["id"], replica="worker-0")
    assert sorted(re.findall(rb"rank=(\d) .*world_size=4 sum=6", text)) == [b"0", b"1", b"2", b"3"]


def test_the_curl_script_walks_the_whole_path(gateway, tmp_path):
    result = subprocess.run(
        [EXAMPLES / "whole_path.sh"],
        cwd=tmp_path,
        env={**os.environ, "TRAINYARD_DATA": str(gateway.data)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "state succeeded" in result.stdout and "latest checkpoint epoch-002.pt" in result.stdout
    assert list(tmp_path.glob("model-*.pth"))
