"""What is refused for its size before a cluster would refuse it: at the limit it passes, a little beyond it is told where."""

from __future__ import annotations

import pytest

SPEC = {"image": "a:1", "command": ["true"], "suspended": True}
QUOTES = '"' * 32768  # two bytes each once they stand in JSON


def faults(answer):
    assert answer.status_code == 422, answer.text
    return {(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]}


def values(count, text):
    return {f"V{n}": text for n in range(count)}


def test_an_object_of_more_than_512_kib_is_refused(gateway):
    large = {**SPEC, "env": values(3, QUOTES), "args": [QUOTES] * 3}
    assert gateway.post("/v1/jobs", large).status_code == 201, "one replica: the object is within"
    for path in ("/v1/jobs", "/v1/jobs?dry_run=true"):
        assert faults(gateway.post(path, {**large, "replicas": 2})) == {("", "spec_too_large")}
    job = gateway.post("/v1/jobs", large).json()["id"]
    assert faults(gateway.post(f"/v1/jobs/{job}/clone", {"replicas": 2})) == {("", "spec_too_large")}


def test_script_and_files_do_not_count_to_the_object(gateway):
    spec = {"image": "a:1", "script": "#" * (1000 * 1024), "suspended": True}
    assert gateway.post("/v1/jobs", spec).status_code == 201
    over = {**spec, "script": "#" * (1024 * 1024)}
    assert faults(gateway.post("/v1/jobs", over)) == {("/script", "configmap_too_large")}


@pytest.mark.parametrize("style", ["both", "flags", "environment"])
def test_env_and_parameters_share_128_kib(gateway, style):
    spec = {**SPEC, "env": values(3, "x" * 30000), "parameter_style": style}
    over = {**spec, "parameters": {f"p{n}": "y" * 4000 for n in range(12)}}
    assert gateway.post("/v1/jobs", spec).status_code == 201
    answer = gateway.post("/v1/jobs", over)
    if style == "flags":
        assert answer.status_code == 201
    else:
        assert faults(answer) == {("/env", "env_too_large")}


def test_arguments_have_128_kib(gateway):
    assert gateway.post("/v1/jobs", {**SPEC, "args": ["x" * 32000] * 4}).status_code == 201
    assert faults(gateway.post("/v1/jobs", {**SPEC, "args": ["x" * 32000] * 5})) == {("/args", "arguments_too_large")}


def test_a_job_has_32_labels_however_they_come(gateway):
    labels = {f"l{n}": "v" * 63 for n in range(32)}
    job = gateway.post("/v1/jobs", {**SPEC, "labels": labels}).json()
    more = {**labels, "one-more": ""}
    assert gateway.post("/v1/jobs", {**SPEC, "labels": more}).status_code == 422
    patched = gateway.patch(f"/v1/jobs/{job['id']}", {"labels": {"one-more": ""}})
    assert (patched.status_code, patched.json()["code"]) == (422, "too_many_labels")
    swapped = gateway.patch(f"/v1/jobs/{job['id']}", {"labels": {"l0": None, "one-more": ""}})
    assert swapped.status_code == 200 and len(swapped.json()["labels"]) == 32


@pytest.mark.parametrize(
    ("member", "value", "pointer"),
    [
        ("labels", {"k" * 64: "v"}, "/labels/" + "k" * 64),
        ("labels", {"k": "v" * 64}, "/labels/k"),
        ("labels", {"kueue.x-k8s.io/queue-name": "q"}, "/labels/kueue.x-k8s.io~1queue-name"),
        ("node_selector", {"k" * 64: "v"}, "/node_selector/" + "k" * 64),
        ("node_selector", {"p" * 254 + "/k": "v"}, "/node_selector/" + "p" * 254 + "~1k"),
        ("name", "n" * 44, "/name"),
        ("dataset", "c" * 254, "/dataset"),
        ("priority_class", "c" * 254, "/priority_class"),
        ("queue", "q" * 64, "/queue"),
        ("description", "d" * 1001, "/description"),
    ],
)
def test_names_labels_and_texts_have_the_lengths_of_kubernetes(gateway, member, value, pointer):
    answer = gateway.post("/v1/jobs", {**SPEC, member: value})
    where = {found for found, _ in faults(answer)}
    assert any(pointer.startswith(found.rstrip("…")) for found in where), answer.text


def test_a_name_is_judged_with_its_longest_child(gateway):
    for length, replicas, status in ((43, 1000, 201), (43, 1, 201), (44, 1, 422)):
        spec = {**SPEC, "name": "n" * length, "replicas": replicas}
        assert gateway.post("/v1/jobs", spec).status_code == status, (length, replicas)


@pytest.mark.parametrize(
    "member",
    [
        "serviceAccountName", "service_account", "hostNetwork", "host_network", "privileged", "securityContext", "nodeName",
        "runtimeClassName", "hostAliases", "initContainers", "template", "annotations", "ownerReferences", "finalizers",
        "generateName", "namespace", "managedBy", "imagePullSecrets", "volumeDevices", "shareProcessNamespace", "lifecycle",
    ],
)  # fmt: skip
def test_what_a_tenant_never_says_is_refused_as_unknown(gateway, member):
    for spec, pointer in (
        ({**SPEC, member: "x"}, f"/{member}"),
        ({**SPEC, "master": {member: "x"}}, f"/master/{member}"),
        ({**SPEC, "volumes": [{"claim": "c", "mount_path": "/c", member: "x"}]}, f"/volumes/0/{member}"),
    ):
        assert pointer in {where for where, _ in faults(gateway.post("/v1/jobs?dry_run=true", spec))}
