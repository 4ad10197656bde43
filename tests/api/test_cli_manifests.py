"""The client and manifests: render and import without a gateway, submit with one."""

from __future__ import annotations

import json

import pytest
import yaml
from test_cli import REFUSED, USAGE, out, run
from test_import import FOLDER, JOB, NAMES


@pytest.mark.parametrize("name", NAMES)
def test_import_prints_what_a_gateway_would_store(name):
    wanted = json.loads((FOLDER / f"{name}.json").read_text())
    done = run(None, "import", FOLDER / f"{name}.yaml", code=None)
    if "spec" in wanted:
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == wanted["spec"]
        assert yaml.safe_load(out(None, "import", "-o", "yaml", FOLDER / f"{name}.yaml")) == wanted["spec"]
    elif wanted["errors"][0].startswith("line "):
        assert done.returncode == USAGE and wanted["errors"][0] in done.stderr
    else:
        assert done.returncode == REFUSED and done.stdout == ""
        for line in wanted["errors"]:
            place, pointer, *_ = line.split(" ")
            assert f":{place.split(':', 1)[1]}: {pointer or 'the document'}: " in done.stderr


def test_render_needs_no_gateway_and_says_what_a_dry_run_says(gateway, tmp_path):
    spec = {"image": "pytorch/pytorch:2.0.0", "name": "seen", "script": "print('x')\n", "replicas": 2, "env": {"A": "no"}}
    (tmp_path / "job.json").write_text(json.dumps(spec))
    local = list(yaml.safe_load_all(out(None, "render", tmp_path / "job.json", "--namespace", "trainyard-default")))
    listed = json.loads(out(None, "render", "-o", "json", tmp_path / "job.json", "-n", "trainyard-default"))
    assert listed["kind"] == "List" and listed["items"] == local

    answer = gateway.post("/v1/jobs?dry_run=true", spec).json()["manifest"]["items"]
    zeros = "job_" + "0" * 26
    own = {item["metadata"]["labels"]["trainyard.dev/job-id"] for item in answer}.pop()
    name = answer[-1]["metadata"]["name"]
    text = json.dumps(answer).replace(own, zeros).replace(name, local[-1]["metadata"]["name"])
    for item, other in zip(json.loads(text), local, strict=True):
        del item["metadata"]["annotations"]["trainyard.dev/spec-hash"]
        del other["metadata"]["annotations"]["trainyard.dev/spec-hash"]
        item["metadata"]["namespace"] = other["metadata"]["namespace"]
        assert item == other


def test_what_render_prints_import_takes(tmp_path):
    (tmp_path / "job.yaml").write_text("image: a:1\nscript: |\n  print(1)\nepochs: 2\nparameters: {lr: 0.1}\n")
    rendered = out(None, "render", tmp_path / "job.yaml")
    spec = json.loads(out(None, "import", "-", input=rendered))
    assert spec["script"] == {"name": "train.py", "content": "print(1)\n"}
    assert spec["epochs"] == 2 and spec["parameters"] == {"lr": "0.1"}
    (tmp_path / "again.json").write_text(json.dumps(spec))
    assert out(None, "render", tmp_path / "again.json") == rendered


def test_render_tells_faults_of_a_spec(tmp_path):
    (tmp_path / "job.yaml").write_text("image: a:1\nscript: x\nreplicas: 0\n")
    assert "/replicas: " in run(None, "render", tmp_path / "job.yaml", code=REFUSED).stderr
    (tmp_path / "job.yaml").write_text("image: a:1\nscript: x\nresources: {memory: 2Gi, limits: {memory: 1Gi}}\n")
    assert "/resources/limits/memory: " in run(None, "render", tmp_path / "job.yaml", code=REFUSED).stderr


def test_a_manifest_is_submitted_as_it_is(gateway, tmp_path):
    (tmp_path / "job.yaml").write_text(JOB)
    job = out(gateway, "submit", "--no-follow", "-o", "name", tmp_path / "job.yaml").strip()
    assert gateway.wait(job)["state"] == "succeeded"
    job = out(gateway, "submit", "--no-follow", "-o", "name", "-", input=JOB).strip()
    assert gateway.wait(job)["state"] == "succeeded"
    assert list(yaml.safe_load_all(out(gateway, "submit", "--dry-run", tmp_path / "job.yaml")))[-1]["kind"] == "PyTorchJob"

    changed = json.loads(out(gateway, "submit", "--no-follow", "-o", "json", "--name", "other", "-e", "GREETING=bye",
                             tmp_path / "job.yaml"))
    assert changed["name"] == "other"
    assert gateway.wait(changed["id"])["state"] == "succeeded"
    assert gateway.logs(changed["id"], replica="master-0") == b"rank 0 bye\n"

    (tmp_path / "job.yaml").write_text(JOB.replace("replicas: 1", "replicas: 2", 1))
    refused = run(gateway, "submit", tmp_path / "job.yaml", code=REFUSED)
    assert "job.yaml:8:7: /spec/pytorchReplicaSpecs/Master/replicas: must be 1" in refused.stderr
