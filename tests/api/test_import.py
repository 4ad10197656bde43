"""Manifests in, manifests out: POST /v1/jobs in YAML, what comes of it, and the way back through /manifest."""

from __future__ import annotations

import json
import pathlib

import pytest
import yaml

FOLDER = pathlib.Path(__file__).parents[1] / "unit" / "render" / "manifests"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
SEEDS = [name for name in NAMES if name.startswith("seed_")]

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: from-yaml}
spec:
  runPolicy: {backoffLimit: 1}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
            - name: pytorch
              image: pytorch/pytorch:2.0.0
              workingDir: /workspace
              command: [python3, -c, "import os; print('rank', os.environ['RANK'], os.environ['GREETING'])"]
              env: [{name: GREETING, value: hello}]
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: pytorch
              image: pytorch/pytorch:2.0.0
              workingDir: /workspace
              command: [python3, -c, "import os; print('rank', os.environ['RANK'], os.environ['GREETING'])"]
              env: [{name: GREETING, value: hello}]
"""


def send(gateway, text, path="/v1/jobs", content_type="application/yaml", **headers):
    data = text if isinstance(text, bytes) else text.encode()
    return gateway.request("POST", path, data=data, headers={"Content-Type": content_type, **headers})


def dry_run(gateway, text):
    return send(gateway, text, "/v1/jobs?dry_run=true")


def faults(answer, status=422):
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    found = answer.json()["errors"]
    assert all(fault["line"] >= 1 and fault["column"] >= 1 and fault["document"] >= 0 for fault in found), found
    return found


def needs_entry_point(spec):
    """The local executor knows no image, so it cannot know what an empty command stands for."""
    return spec.get("command") == [] or [] in (spec.get(role, {}).get("command") for role in ("master", "worker"))


@pytest.mark.parametrize("name", NAMES)
def test_every_manifest_is_judged_as_its_file_says(gateway, name):
    wanted = json.loads((FOLDER / f"{name}.json").read_text())
    answer = dry_run(gateway, (FOLDER / f"{name}.yaml").read_bytes())
    if "spec" not in wanted:
        status = 400 if wanted["errors"][0].startswith("line ") else 422
        told = {fault["pointer"] for fault in faults(answer, status)}
        if status == 422:
            assert told >= {line.split(" ")[1] for line in wanted["errors"]}
    elif needs_entry_point(wanted["spec"]) and answer.status_code == 422:
        assert all("/containers/0" in fault["pointer"] for fault in faults(answer))
    else:
        assert answer.status_code == 200, answer.text
        assert answer.json()["spec"] == wanted["spec"]
        told = {f"{warning['code']} {warning.get('pointer')}" for warning in answer.json()["warnings"]}
        assert told >= {line for line in wanted["warnings"] if not line.startswith("namespace_replaced")}


# --- nothing is lost: what a manifest says stands in what is made of it ---

ADDED_BY_US = {"namespace", "imagePullPolicy", "name", "defaultMode"}


def carried(given, made, path=""):
    """What of `given` does not stand in `made`: [] when all of it does."""
    if isinstance(given, dict):
        if not isinstance(made, dict):
            return [path]
        return [lost for key, value in given.items() if key not in ADDED_BY_US and value is not None
                for lost in carried(value, made.get(key), f"{path}/{key}")]
    if isinstance(given, list) and given and isinstance(given[0], dict):
        rest = list(made or [])
        lost = []
        for item in given:
            twin = next((other for other in rest if not carried(item, other)
                         and ("value" not in item or item["name"] == other["name"])), None)
            lost += [f"{path}: {item}"] if twin is None else []
        return lost
    if isinstance(given, int) and isinstance(made, str):
        given = str(given)
    return [] if given == made else [f"{path}: {given!r} is {made!r}"]


def expected(document):
    """A manifest of the seeds as it is after what the README says is done to it."""
    spec = document["spec"]
    if "cleanPodPolicy" in spec:
        spec["runPolicy"] = {**spec.get("runPolicy", {}), "cleanPodPolicy": spec.pop("cleanPodPolicy")}
    for role in spec["pytorchReplicaSpecs"].values():
        for container in role["template"]["spec"]["containers"]:
            container.pop("envFrom", None)  # the ConfigMap is the job's own, under a name of the job
            resources = container.get("resources", {})
            if "requests" in resources and "limits" not in resources:
                resources["limits"] = resources["requests"]
    return document


@pytest.mark.parametrize("name", SEEDS)
def test_nothing_of_a_published_manifest_is_lost(gateway, name):
    documents = list(yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text()))
    wanted = json.loads((FOLDER / f"{name}.json").read_text())["spec"]
    if needs_entry_point(wanted):  # a program in its place, since this machine has no image to ask
        for role in documents[-1]["spec"]["pytorchReplicaSpecs"].values():
            role["template"]["spec"]["containers"][0]["command"] = ["true"]
    answer = dry_run(gateway, yaml.safe_dump_all(documents))
    assert answer.status_code == 200, answer.text
    made = {item["kind"]: item for item in answer.json()["manifest"]["items"]}
    for document in documents:
        if document["kind"] == "PyTorchJob":
            assert carried(expected(document)["spec"], made["PyTorchJob"]["spec"]) == []
        elif document["kind"] == "ConfigMap":
            assert carried(document["data"], made["ConfigMap"]["data"]) == []
        else:
            claims = [item for item in answer.json()["manifest"]["items"] if item["kind"] == document["kind"]]
            assert any(claim["metadata"]["name"] == document["metadata"]["name"]
                       and carried(document["spec"], claim["spec"]) == [] for claim in claims)


# --- jobs of manifests ---


def test_a_manifest_makes_a_job_that_runs(gateway):
    answer = send(gateway, JOB)
    assert answer.status_code == 201, answer.text
    job = gateway.wait(answer.json()["id"])
    assert job["state"] == "succeeded", job
    assert job["name"] == "from-yaml" and job["replicas"] == 3
    assert gateway.logs(job["id"], replica="worker-1") == b"rank 2 hello\n"


def test_a_repeated_manifest_is_the_same_job(gateway):
    first = send(gateway, JOB, **{"Idempotency-Key": "yaml-1"})
    again = send(gateway, "# the same in other words\n" + JOB, **{"Idempotency-Key": "yaml-1"})
    other = send(gateway, JOB.replace("hello", "bye"), **{"Idempotency-Key": "yaml-1"})
    assert first.status_code == 201 and again.status_code == 201, again.text
    assert again.json()["id"] == first.json()["id"] and again.headers["Idempotency-Replayed"] == "true"
    assert other.status_code == 422 and other.json()["code"] == "idempotency_key_reused", other.text


@pytest.mark.parametrize("content_type", [
    "application/yaml", "application/x-yaml", "text/yaml", "application/yaml; charset=utf-8", 'TEXT/YAML;charset="UTF-8"'])
def test_yaml_goes_by_several_names(gateway, content_type):
    assert send(gateway, JOB, "/v1/jobs?dry_run=true", content_type).status_code == 200


@pytest.mark.parametrize("content_type", ["application/yaml; charset=iso-8859-1", "text/plain", "application/yaml+json"])
def test_other_types_are_415(gateway, content_type):
    assert send(gateway, JOB, "/v1/jobs?dry_run=true", content_type).status_code == 415


def test_a_spec_may_be_written_in_yaml(gateway):
    answer = dry_run(gateway, "image: pytorch/pytorch:2.0.0\nscript: |\n  import torch\nepochs: 3\n")
    assert answer.status_code == 200, answer.text
    assert answer.json()["spec"] == {"image": "pytorch/pytorch:2.0.0", "script": "import torch\n", "epochs": 3}
    found = faults(dry_run(gateway, "image: 5\nscript: x\nresources:\n  limits: {cpu: 1, disk: 2}\n"))
    assert [(fault["pointer"], fault["line"], fault["column"]) for fault in found] == [
        ("/image", 1, 1), ("/resources/limits/disk", 4, 20)]


def test_a_job_in_json_is_no_manifest(gateway):
    answer = send(gateway, json.dumps(yaml.safe_load(JOB)), content_type="application/json")
    assert answer.status_code == 422
    assert "line" not in answer.json()["errors"][0]


# --- what is refused, and where ---


@pytest.mark.parametrize(("text", "line"), [
    (b"a: [1\nb: 2\n", 2), (b"a: 1\na: 2\n", 2), (b"\xff", 1), (b"a: *x\n", 1), (b"? [a]\n: b\n", 1), (b"a: \x00", 1),
    (b"a: &x [*x]\n", 1), (b"[" * 100, 1), (b"a: .inf\n", 1), (b"a: 99999999999999999999\n", 1),
    (b"\n".join(b"a%d: &a%d [%s]" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 10 if i else [b"x"] * 10))
                for i in range(9)), None),
])
def test_broken_yaml_is_400_with_its_line(gateway, text, line):
    found = faults(dry_run(gateway, text), 400)
    assert found[0]["code"] == "yaml_syntax"
    assert line in (None, found[0]["line"])


BOMBS = {
    "volumes": ("volumeMounts: [%s]" % ", ".join(f"{{name: v{i}, mountPath: /m{i}}}" for i in range(60)),
                "volumes: [%s]" % ", ".join(f"{{name: v{i}, configMap: {{name: big}}}}" for i in range(60))),
    "many volumes": ("volumeMounts: [%s]" % ", ".join(f"{{name: v{i}, mountPath: /m{i}}}" for i in range(5000)),
                     "volumes: [%s]" % ", ".join(f"{{name: v{i}, emptyDir: {{}}}}" for i in range(5000))),
    "references": ("env: [%s]" % ", ".join(
        f"{{name: V{i}, valueFrom: {{configMapKeyRef: {{name: big, key: text}}}}}}" for i in range(3000)), "nodeSelector: {}"),
    "doubling": ("env: [{name: V0, value: xxxxxxxx}, %s]" % ", ".join(
        f'{{name: V{i}, value: "$(V{i - 1})$(V{i - 1})"}}' for i in range(1, 64)), "nodeSelector: {}"),
    "arguments": ("envFrom: [{configMapRef: {name: big}}], args: [%s]" % ", ".join(['"$(text)$(text)"'] * 5000),
                  "nodeSelector: {}"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_is_used_again_and_again_is_not_copied_without_end(gateway, name):
    container, pod = BOMBS[name]
    data = "x" * 900_000
    answer = dry_run(gateway, f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: big}}
data: {{text: {data}}}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: bomb}}
spec: {{pytorchReplicaSpecs: {{Master: {{template: {{spec: {{
  {pod}, containers: [{{name: pytorch, image: "a:1", {container}}}]}}}}}}}}}}
""")
    assert {fault["code"] for fault in faults(answer)} & {"too_long", "too_many_items", "too_many_members"}


def test_a_body_beyond_the_limit_is_413(gateway):
    assert send(gateway, b"# " + b"x" * (4 * 1024 * 1024)).status_code == 413


def test_faults_of_every_layer_are_told_at_once_by_the_manifest(gateway):
    text = JOB.replace("from-yaml", "x" * 60).replace("image: pytorch/pytorch:2.0.0", "image: Not An Image", 1)
    text = text.replace("        spec:\n", "        spec:\n          hostNetwork: true\n", 1)
    found = faults(dry_run(gateway, text))
    assert [(fault["pointer"], fault["line"]) for fault in found] == [
        ("/metadata/name", 3),
        ("/spec/pytorchReplicaSpecs/Master/template/spec/hostNetwork", 11),
        ("/spec/pytorchReplicaSpecs/Master/template/spec/containers/0/image", 14)]


def test_a_rule_between_members_is_told_where_the_manifest_breaks_it(gateway):
    text = JOB.replace("env: [", "resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}\n              env: [", 1)
    found = faults(dry_run(gateway, text))
    assert [(fault["pointer"], fault["code"], fault["line"]) for fault in found] == [
        ("/spec/pytorchReplicaSpecs/Master/template/spec/containers/0/resources/limits/memory", "limit_below_request", 16)]


def test_what_is_wrong_with_a_claim_is_told_in_its_own_document(gateway):
    text = JOB.replace("              env: [", "              volumeMounts: [{name: data, mountPath: /data}]\n              env: [", 1)
    text = text.replace("          containers:", "          volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n          containers:", 1)
    lines = text.count("\n")
    text += """---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: Fast
  resources: {requests: {storage: ten}}
"""
    found = faults(dry_run(gateway, text))
    assert [(fault["pointer"], fault["line"]) for fault in found] == [
        ("/spec/storageClassName", lines + 7), ("/spec/resources/requests/storage", lines + 8)]


def test_what_a_policy_forbids_is_told_by_the_manifest_and_the_namespace_is_the_tenants(gateway):
    gateway.post("/v1/tenants", {"name": "closed", "policy": {"images": ["registry.example.com/*"]}})
    text = JOB.replace("{name: from-yaml}", "{name: from-yaml, namespace: elsewhere}")
    found = faults(send(gateway, text, **{"Trainyard-Tenant": "closed"}))
    assert [(fault["pointer"], fault["code"], fault["line"]) for fault in found] == [
        ("/spec/pytorchReplicaSpecs/Master/template/spec/containers/0/image", "image_not_allowed", 13)]

    gateway.patch("/v1/tenants/closed", {"policy": {"images": ["*"]}})
    answer = send(gateway, text, "/v1/jobs?dry_run=true", **{"Trainyard-Tenant": "closed"})
    assert answer.status_code == 200, answer.text
    assert ("namespace_replaced", "/metadata/namespace") in {
        (warning["code"], warning.get("pointer")) for warning in answer.json()["warnings"]}
    assert {item["metadata"]["namespace"] for item in answer.json()["manifest"]["items"]} != {"elsewhere"}


def test_a_replica_may_ask_for_room_on_the_nodes_disk(gateway):
    text = JOB.replace("env: [", "resources: {requests: {ephemeral-storage: 1Gi}, limits: {ephemeral-storage: 2Gi}}\n              env: [")
    answer = dry_run(gateway, text)
    assert answer.status_code == 200, answer.text
    resources = {"ephemeral_storage": "1Gi", "limits": {"ephemeral_storage": "2Gi"}}
    assert answer.json()["spec"]["resources"] == resources
    assert "ephemeral-storage: 2Gi" in yaml.safe_dump(answer.json()["manifest"])


@pytest.mark.parametrize("text", [
    "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n",
    "apiVersion: kubeflow.org/v2\nkind: PyTorchJob\nmetadata: {name: x}\n"])
def test_an_object_that_is_no_job_is_the_only_fault(gateway, text):
    assert [(fault["pointer"], fault["code"], fault["line"]) for fault in faults(dry_run(gateway, text))] == [
        ("/kind", "not_supported", 2)]


def test_nothing_is_made_of_a_refused_manifest(gateway):
    before = len(gateway.get("/v1/jobs?limit=500").json()["items"])
    assert send(gateway, JOB.replace("replicas: 1", "replicas: 2", 1)).status_code == 422
    assert len(gateway.get("/v1/jobs?limit=500").json()["items"]) == before


# --- and out again ---


def test_a_manifest_taken_out_goes_in_again(gateway):
    spec = {"image": "pytorch/pytorch:2.0.0", "name": "there-and-back", "replicas": 3, "epochs": 2, "parameters": {"lr": 0.1},
            "script": "print('x')\n", "labels": {"team": "vision"}, "description": "twice: no", "dataset": "data",
            "env": {"A": "no", "B": "1e3", "C": "$(RANK)"}, "suspended": True}
    job = gateway.submit(**spec)
    manifest = gateway.get(f"/v1/jobs/{job['id']}/manifest?format=yaml")
    assert manifest.headers["Content-Type"] == "application/yaml"
    assert manifest.text == gateway.get(f"/v1/jobs/{job['id']}/manifest", headers={"Accept": "application/yaml"}).text
    assert list(yaml.safe_load_all(manifest.text)) == gateway.get(f"/v1/jobs/{job['id']}/manifest").json()["items"]
    assert gateway.get(f"/v1/jobs/{job['id']}/manifest?format=json", headers={"Accept": "application/yaml"}).json()
    assert gateway.get(f"/v1/jobs/{job['id']}/manifest?format=toml").status_code == 400

    again = send(gateway, manifest.text)
    assert again.status_code == 201, again.text
    second = gateway.get(f"/v1/jobs/{again.json()['id']}/manifest").text
    known = gateway.get(f"/v1/jobs/{job['id']}/manifest").text
    assert again.json()["id"] != job["id"]

    def plain(text, job_id):
        """Without the names that are each job's own."""
        value = json.loads(text)
        own = value["items"][-1]["metadata"]["name"]
        for item in value["items"]:
            del item["metadata"]["annotations"]["trainyard.dev/spec-hash"]
        return json.dumps(value).replace(own, "own").replace(job_id, "id")

    assert plain(second, again.json()["id"]) == plain(known, job["id"])
