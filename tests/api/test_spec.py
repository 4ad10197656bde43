"""What a job spec can say beyond an image and a script, with real jobs on this machine."""

from __future__ import annotations

import hashlib
import pathlib
import time

import pytest


@pytest.fixture(scope="module")
def namespace(gateway) -> str:
    """The namespace of the tenant whose token the tests use."""
    return gateway.get("/v1/tenants/default").json()["namespace"]


def put_secret(gateway, namespace: str, name: str, key: str, value: bytes) -> pathlib.Path:
    """What an administrator does: a file a key."""
    folder = gateway.data / "secrets" / namespace / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / key
    path.write_bytes(value)
    path.chmod(0o600)
    return path


def await_cause(gateway, job_id: str, cause: str, seconds: float = 60.0) -> dict:
    deadline = time.monotonic() + seconds
    while True:
        job = gateway.get(f"/v1/jobs/{job_id}").json()
        if job["cause"] == cause:
            return job
        assert time.monotonic() < deadline, f"{job['state']} ({job['cause']}), wanted {cause}"
        time.sleep(0.05)


# --- secrets ---


def test_a_secret_reaches_the_program_as_variable_and_as_file_and_nobody_else(gateway, namespace):
    value = "s3cret-$(RANK)-\u00fc\u2713 with 'quotes'"
    put_secret(gateway, namespace, "wandb", "api-key", value.encode())
    put_secret(gateway, namespace, "wandb", "TOKEN", b"plain")
    put_secret(gateway, namespace, "tls", "cert.pem", b"\x00\x01binary\xff")
    script = (
        "import os, hashlib, pathlib\n"
        "print(hashlib.sha256(os.environb[b'WANDB_API_KEY']).hexdigest(), os.environ['TOKEN'] == 'plain')\n"
        "file = pathlib.Path('/run/secrets/cert')\n"
        "print(file.read_bytes() == b'\\x00\\x01binary\\xff')\n"
        "try: file.write_text('x'); print('written')\n"
        "except OSError: print('read-only')\n"
    )
    job = gateway.submit(
        name="with-secrets",
        script=script,
        secrets=[
            {"name": "wandb", "key": "api-key", "env": "WANDB_API_KEY"},
            {"name": "wandb", "key": "TOKEN"},
            {"name": "tls", "key": "cert.pem", "path": "/run/secrets/cert"},
        ],
    )
    done = gateway.wait(job["id"])
    assert done["state"] == "succeeded", gateway.logs(job["id"])
    digest = hashlib.sha256(value.encode()).hexdigest()
    assert gateway.logs(job["id"]).decode().splitlines() == [f"{digest} True", "True", "read-only"]
    paths = ("", "/manifest", "/manifest?format=yaml", "/transitions", "/events?follow=false", "/replicas", "/checkpoints")
    shown = [gateway.get(f"/v1/jobs/{job['id']}{path}") for path in paths]
    assert [answer.status_code for answer in shown] == [200] * len(paths)
    assert all("s3cret" not in answer.text for answer in shown)
    assert '"name":"wandb"' in shown[0].text.replace(" ", "")
    kept = [path for path in gateway.data.rglob("*") if path.is_file() and "secrets" not in path.parts]
    assert all(b"s3cret" not in path.read_bytes() for path in kept)


def test_a_missing_secret_is_waited_for(gateway, namespace):
    job = gateway.submit(
        script="import os; print(os.environ['LATE'])", secrets=[{"name": "later", "key": "k", "env": "LATE"}]
    )
    waiting = await_cause(gateway, job["id"], "secret_not_found")
    assert waiting["state"] == "starting" and "later" in waiting["message"] and "key k" in waiting["message"]
    put_secret(gateway, namespace, "later", "k", b"here")
    assert gateway.wait(job["id"])["state"] == "succeeded"
    assert gateway.logs(job["id"]) == b"here\n"


def test_a_secret_that_is_no_text_cannot_be_a_variable(gateway, namespace):
    put_secret(gateway, namespace, "binary", "k", b"a\x00b")
    job = gateway.submit(script="print(1)", secrets=[{"name": "binary", "key": "k", "env": "S"}], restart="never")
    done = gateway.wait(job["id"])
    assert done["state"] == "failed" and "binary/k" in done["message"]


def test_the_secrets_of_another_namespace_are_out_of_reach(gateway):
    put_secret(gateway, "someone-else", "theirs", "k", b"x")
    job = gateway.submit(command=["true"], secrets=[{"name": "theirs", "key": "k", "env": "S"}])
    await_cause(gateway, job["id"], "secret_not_found")
    assert gateway.post(f"/v1/jobs/{job['id']}/cancel").status_code in (200, 202)


# --- volumes ---


def test_scratch_space_is_empty_writable_and_each_replicas_own(gateway):
    script = (
        "import os, pathlib\n"
        "for folder in ('/scratch', '/fast'):\n"
        "    path = pathlib.Path(folder)\n"
        "    assert list(path.iterdir()) == [], list(path.iterdir())\n"
        "    (path / os.environ['RANK']).write_text('x')\n"
        "print(open('/proc/mounts').read().count(' /fast tmpfs '))\n"
    )
    job = gateway.submit(
        replicas=2,
        script=script,
        volumes=[
            {"scratch": {"size": "1Gi"}, "mount_path": "/scratch"},
            {"scratch": {"memory": True, "size": "16Mi"}, "mount_path": "/fast"},
        ],
    )
    assert gateway.wait(job["id"])["state"] == "succeeded", gateway.logs(job["id"])
    assert gateway.logs(job["id"]) == b"1\n"


def test_files_lie_below_their_volume_as_they_were_sent(gateway):
    script = (
        "import pathlib\n"
        "root = pathlib.Path('/etc-of-job')\n"
        "print(sorted(str(p.relative_to(root)) for p in root.rglob('*') if p.is_file()))\n"
        "print((root / 'conf/a b.yaml').read_text(), (root / 'raw').read_bytes() == bytes([0, 255]))\n"
        "try: (root / 'new').write_text('x'); print('written')\n"
        "except OSError: print('read-only')\n"
    )
    files = [
        {"path": "conf/a b.yaml", "content": "lr: 1"},
        {"path": "raw", "content": "AP8=", "encoding": "base64"},
    ]
    job = gateway.submit(script=script, volumes=[{"files": files, "mount_path": "/etc-of-job"}])
    assert gateway.wait(job["id"])["state"] == "succeeded", gateway.logs(job["id"])
    assert gateway.logs(job["id"]).decode().splitlines() == ["['conf/a b.yaml', 'raw']", "lr: 1 True", "read-only"]


def test_a_claim_that_a_job_makes_by_name_outlives_the_job(gateway):
    volumes = [{"claim": "kept-by-name", "create": {"size": "1Gi"}, "mount_path": "/kept"}]
    own = [{"create": {"size": "1Gi"}, "mount_path": "/own"}]
    write = "open('/kept/a', 'w').write('first'); open('/own/a', 'w').write('x')"
    first = gateway.submit(script=write, volumes=[*volumes, *own])
    assert gateway.wait(first["id"])["state"] == "succeeded", gateway.logs(first["id"])
    registered = gateway.get("/v1/volumes/kept-by-name")
    assert registered.status_code == 200 and registered.json()["size"] == "1Gi"
    folders = {path.name for path in (gateway.data / "volumes").glob("*/*")}
    assert f"{first['object_name']}-volume-1" in folders and f"{first['object_name']}-output" in folders
    assert gateway.delete(f"/v1/jobs/{first['id']}").status_code == 204
    deadline = time.monotonic() + 60
    while any(name.startswith(first["object_name"]) for name in folders) and time.monotonic() < deadline:
        folders = {path.name for path in (gateway.data / "volumes").glob("*/*")}
        time.sleep(0.05)
    assert not any(name.startswith(first["object_name"]) for name in folders)
    assert "kept-by-name" in folders
    second = gateway.submit(script="print(open('/kept/a').read())", volumes=volumes)
    assert gateway.wait(second["id"])["state"] == "succeeded"
    assert gateway.logs(second["id"]) == b"first\n"


# --- roles ---


def test_each_role_may_run_what_is_its_own(gateway):
    job = gateway.submit(
        replicas=2,
        script="import os; print('script', os.getcwd())",
        env={"COMMON": "1"},
        worker={
            "command": ["sh", "-c", 'echo "worker $COMMON $OWN $(df -k /dev/shm | tail -n 1 | cut -c 1-5) $PWD"'],
            "working_dir": "/elsewhere",
            "env": {"OWN": "2"},
            "shared_memory": "8Mi",
        },
        clean_pods="none",
    )
    assert gateway.wait(job["id"])["state"] == "succeeded"
    assert gateway.logs(job["id"], replica="master-0") == b"script /workspace\n"
    assert gateway.logs(job["id"], replica="worker-0") == b"worker 1 2 tmpfs /elsewhere\n"


# --- where training reports to ---


def test_tensorboard_and_mlflow_are_told_by_variables(gateway):
    script = (
        "import os\n"
        "folder = os.environ['TRAINYARD_TENSORBOARD_DIR']\n"
        "print(folder, os.path.isdir(folder))\n"
        "open(folder + '/events.out', 'w').write('x')\n"
        "print(*(os.environ.get('MLFLOW_' + name) for name in ('TRACKING_URI', 'EXPERIMENT_NAME', 'RUN_NAME')))\n"
    )
    job = gateway.submit(
        name="reported",
        script=script,
        tensorboard={"path": "runs/tb"},
        mlflow={"tracking_uri": "http://mlflow:5000", "experiment": "digits"},
    )
    assert gateway.wait(job["id"])["state"] == "succeeded", gateway.logs(job["id"])
    assert gateway.logs(job["id"]).decode().splitlines() == [
        "/output/runs/tb True",
        "http://mlflow:5000 digits reported",
    ]
    assert gateway.get(f"/v1/jobs/{job['id']}/artifacts/runs/tb/events.out").content == b"x"


# --- what this machine cannot do ---


def test_what_a_machine_cannot_do_is_warned_of_by_its_pointer(gateway):
    answer = gateway.post(
        "/v1/jobs?dry_run=true",
        {
            "image": "a/b:1",
            "script": "x",
            "replicas": 2,
            "node_selector": {"gpu": "a100"},
            "affinity": {"node": {"required": [{"match": [{"key": "k", "operator": "exists"}]}]}},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "exists"}],
            "priority_class": "high",
            "queue": "team",
            "scheduler": "volcano",
            "gang": {"timeout_seconds": 60},
            "resources": {"cpu": "1", "ephemeral_storage": "1Gi"},
            "worker": {"node_selector": {"gpu": "t4"}, "resources": {"limits": {"ephemeral_storage": "2Gi"}}},
            "dataset": "data",
            "volumes": [
                {"scratch": {"size": "1Gi"}, "mount_path": "/s"},
                {"create": {"size": "1Gi", "storage_class": "fast"}, "mount_path": "/c"},
            ],
        },
    )
    assert answer.status_code == 200, answer.text
    ignored = {w.get("pointer") for w in answer.json()["warnings"] if w["code"] == "ignored_on_this_machine"}
    assert ignored == {
        "/node_selector",
        "/affinity",
        "/tolerations",
        "/priority_class",
        "/queue",
        "/scheduler",
        "/gang",
        "/resources",
        "/worker/resources",
        "/worker/node_selector",
        "/volumes/0/scratch/size",
        "/volumes/1/create/storage_class",
    }


@pytest.mark.parametrize(
    ("spec", "pointers"),
    [
        ({"command": []}, ["/command"]),
        ({"command": ["true"], "master": {"command": []}}, ["/master/command"]),
        (
            {"command": [], "worker": {"command": []}, "replicas": 2, "gang": {"min_available": 3}},
            ["/command", "/gang/min_available", "/worker/command"],
        ),
    ],
)
def test_an_entry_point_is_refused_before_a_job_is_made(gateway, spec, pointers):
    before = gateway.get("/v1/jobs?limit=500").json()["items"]
    for path in ("/v1/jobs", "/v1/jobs?dry_run=true"):
        answer = gateway.post(path, {"image": "a/b:1", **spec})
        assert answer.status_code == 422, answer.text
        assert sorted(fault["pointer"] for fault in answer.json()["errors"]) == pointers
    assert len(gateway.get("/v1/jobs?limit=500").json()["items"]) == len(before)


# --- changed copies ---


def test_a_copy_may_change_add_and_drop_every_new_member(gateway):
    first = gateway.submit(
        command=["true"],
        suspended=True,
        secrets=[{"name": "s", "key": "k", "env": "S"}],
        node_selector={"a": "1", "b": "2"},
        affinity={"node": {"required": [{"match": [{"key": "k", "operator": "exists"}]}]}},
        tolerations=[{"operator": "exists"}],
        elastic={"min": 1, "max": 4, "max_restarts": 2},
        gang={"timeout_seconds": 60},
        mlflow={"experiment": "one"},
        worker={"gpus": 1, "command": ["false"]},
    )
    patch = {
        "secrets": None,
        "node_selector": {"a": None, "c": "3"},
        "affinity": {"node": None, "pods_apart": {"required": [{"labels": {}, "topology_key": "t"}]}},
        "tolerations": None,
        "elastic": {"max": 6, "max_restarts": None},
        "gang": None,
        "queue": "team-a",
        "tensorboard": {},
        "mlflow": {"experiment": None, "run_name": "two"},
        "worker": {"gpus": None, "shared_memory": "1Gi"},
    }
    answer = gateway.post(f"/v1/jobs/{first['id']}/clone", patch)
    assert answer.status_code == 201, answer.text
    spec = answer.json()["spec"]
    assert {key: spec.get(key) for key in patch} == {
        "secrets": None,
        "node_selector": {"b": "2", "c": "3"},
        "affinity": {"pods_apart": {"required": [{"labels": {}, "topology_key": "t"}]}},
        "tolerations": None,
        "elastic": {"min": 1, "max": 6},
        "gang": None,
        "queue": "team-a",
        "tensorboard": {},
        "mlflow": {"run_name": "two"},
        "worker": {"command": ["false"], "shared_memory": "1Gi"},
    }
    for change, pointer in (({"elastic": {"min": 5}}, "/elastic/max"), ({"master": {"gpus": 1}}, "/master")):
        refused = gateway.post(f"/v1/jobs/{first['id']}/clone", change)
        assert refused.status_code == 422
        assert [fault["pointer"] for fault in refused.json()["errors"]] == [pointer]
    for job in (first, answer.json()):
        assert gateway.post(f"/v1/jobs/{job['id']}/cancel").status_code in (200, 202)


def test_the_jobs_of_a_batch_are_judged_by_the_machine_each_for_itself(gateway):
    items = [{"image": "a:1", "command": []}, {"image": "a:1", "command": ["true"], "node_selector": {"a": "b"}}]
    results = gateway.post("/v1/jobs:batch", {"items": items}).json()["items"]
    assert [result["status"] for result in results] == [422, 201]
    assert results[0]["problem"]["errors"][0]["pointer"] == "/command"
    assert any(warning.get("pointer") == "/node_selector" for warning in results[1]["job"]["warnings"])
