"""What a tenant's policy lets through, on every way into the queue; and an oracle that reads it another way."""

from __future__ import annotations

import fnmatch
import random
import threading
import time

import pytest
import requests
from gateway import OPEN

SPEC = {"image": "pytorch/pytorch:2.0.0", "command": ["true"]}
EVIL = {"image": "ghcr.io/evil/miner", "dataset": "theirs", "gpus": 4}
CLOSED = {"images": ["pytorch/*"], "limits": {"gpus": 2}}
ALL = {("/image", "image_not_allowed"), ("/dataset", "volume_not_allowed"), ("/gpus", "limit_exceeded")}


class Tenant:
    """One tenant and the calls in it."""

    def __init__(self, gateway, name, policy=None):
        self.gateway, self.name = gateway, name
        self.headers = {"Trainyard-Tenant": name}
        body = {"name": name} if policy is None else {"name": name, "policy": policy}
        answer = gateway.post("/v1/tenants", body)
        assert answer.status_code == 201, answer.text
        self.policy = answer.json()["policy"]

    def set(self, policy):
        answer = self.gateway.patch(f"/v1/tenants/{self.name}", {"policy": None})
        assert answer.json()["policy"] == {}
        answer = self.gateway.patch(f"/v1/tenants/{self.name}", {"policy": policy})
        assert answer.status_code == 200, answer.text
        assert answer.json()["policy"] == policy

    def post(self, path, body=None):
        return self.gateway.post(path, body, headers=self.headers)

    def get(self, path):
        return self.gateway.get(path, headers=self.headers)


def faults(answer, code="policy_violation"):
    assert answer.status_code == 422, answer.text
    assert answer.json()["code"] == code, answer.text
    return {(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]}


def warnings(job):
    return {(warning["code"], warning.get("pointer")) for warning in job["warnings"]}


@pytest.fixture(scope="module")
def team(gateway):
    return Tenant(gateway, "team", CLOSED)


def test_the_first_tenant_is_open_and_a_new_one_closed(gateway):
    assert gateway.get("/v1/tenants/default").json()["policy"] == OPEN
    new = Tenant(gateway, "new")
    assert new.policy == {}
    answer = new.post("/v1/jobs", SPEC)
    assert faults(answer) == {("/image", "image_not_allowed")}
    assert "images lists none" in answer.json()["errors"][0]["detail"]
    assert new.get("/v1/whoami").json()["tenant"]["name"]  # whoami tells the caller's policy
    assert gateway.get("/v1/whoami").json()["tenant"]["policy"] == OPEN


def test_every_violation_is_told_at_once_in_every_way_in(gateway, team):
    team.set(CLOSED)
    assert faults(team.post("/v1/jobs", {**SPEC, **EVIL})) == ALL
    assert faults(team.post("/v1/jobs?dry_run=true", {**SPEC, **EVIL})) == ALL
    batch = team.post("/v1/jobs:batch", {"items": [{**SPEC, **EVIL}, SPEC]}).json()["items"]
    assert [item["status"] for item in batch] == [422, 201]
    assert {(fault["pointer"], fault["code"]) for fault in batch[0]["problem"]["errors"]} == ALL
    assert faults(team.post(f"/v1/jobs/{batch[1]['job']['id']}/clone", EVIL)) == ALL
    assert len(team.get("/v1/jobs").json()["items"]) == 1


def test_faults_of_the_spec_and_of_the_policy_come_together(team):
    team.set(CLOSED)
    answer = team.post("/v1/jobs", {**SPEC, **EVIL, "volumes": [{"claim": "a", "mount_path": "/data"}]})
    got = faults(answer, "validation_failed")
    assert ("/image", "image_not_allowed") in got and ("/volumes/0/claim", "volume_not_allowed") in got
    assert any(code not in {"image_not_allowed", "volume_not_allowed"} for _, code in got)


def test_registered_volumes_are_the_tenants_own(team):
    team.set(CLOSED)
    job = {**SPEC, "dataset": "own-data"}
    assert faults(team.post("/v1/jobs?dry_run=true", job)) == {("/dataset", "volume_not_allowed")}
    assert team.post("/v1/volumes", {"name": "own-data", "size": "1Gi"}).status_code == 201
    assert team.post("/v1/jobs?dry_run=true", job).status_code == 200


def test_a_storage_class_is_asked_for_volumes_too(team):
    team.set(CLOSED)
    volume = {"name": "classy", "size": "1Gi", "storage_class": "fast"}
    assert faults(team.post("/v1/volumes", volume)) == {("/storage_class", "storage_class_not_allowed")}
    team.set({**CLOSED, "storage_classes": ["fast"]})
    assert team.post("/v1/volumes", volume).status_code == 201


def test_a_stricter_policy_refuses_restart_clone_and_resume_and_stops_nothing_else(gateway):
    team = Tenant(gateway, "stricter", OPEN)
    done = team.post("/v1/jobs", SPEC).json()["id"]
    while team.get(f"/v1/jobs/{done}?wait=20").json()["state"] != "succeeded":
        pass
    waiting = team.post("/v1/jobs", {**SPEC, "suspended": True}).json()["id"]
    gateway.patch("/v1/tenants/stricter", {"policy": {"images": ["ghcr.io/*"]}})
    refused = {("/image", "image_not_allowed")}
    assert faults(team.post(f"/v1/jobs/{done}/restart")) == refused
    assert faults(team.post(f"/v1/jobs/{done}/clone")) == refused
    assert faults(team.post(f"/v1/jobs/{waiting}/resume")) == refused
    assert team.get(f"/v1/jobs/{waiting}").json()["state"] == "suspended"
    gateway.patch("/v1/tenants/stricter", {"policy": {"images": ["*"], "limits": {"timeout_seconds": 60}}})
    assert faults(team.post(f"/v1/jobs/{waiting}/resume")) == {("/timeout_seconds", "limit_required")}
    gateway.patch("/v1/tenants/stricter", {"policy": {"limits": None, "forced": {"epochs": 3}}})
    assert team.post(f"/v1/jobs/{waiting}/resume").status_code == 202, "nothing was given that is forced now"
    again = team.post(f"/v1/jobs/{done}/restart").json()
    assert again["spec"]["epochs"] == 3


def test_a_suspended_job_cannot_take_on_what_is_forced_since(gateway):
    team = Tenant(gateway, "forced-since", OPEN)
    job = team.post("/v1/jobs", {**SPEC, "suspended": True, "epochs": 2}).json()["id"]
    gateway.patch("/v1/tenants/forced-since", {"policy": {"forced": {"epochs": 3}}})
    assert faults(team.post(f"/v1/jobs/{job}/resume")) == {("/epochs", "value_forced")}


def test_defaults_fill_and_forced_values_replace_with_a_warning(gateway):
    team = Tenant(
        gateway,
        "given",
        {
            "images": ["pytorch/*"],
            "defaults": {"resources": {"memory": "1Gi"}, "env": {"A": "1"}},
            "forced": {"max_retries": 1, "env": {"B": "2"}},
            "limits": {"memory": "2Gi", "timeout_seconds": 600},
        },
    )
    job = team.post("/v1/jobs?dry_run=true", {**SPEC, "env": {"B": "3", "C": "4"}, "max_retries": 1}).json()
    spec = job["spec"]
    assert spec["env"] == {"A": "1", "B": "2", "C": "4"} and spec["resources"] == {"memory": "1Gi"}
    assert spec["max_retries"] == 1 and spec["timeout_seconds"] == 600
    assert [where for where in warnings(job) if where[0] == "value_forced"] == [("value_forced", "/env/B")]
    stored = team.post("/v1/jobs", {**SPEC, "max_retries": 9}).json()
    assert ("value_forced", "/max_retries") in warnings(stored) and stored["spec"]["max_retries"] == 1
    assert faults(team.post("/v1/jobs", {**SPEC, "resources": {"memory": "3Gi"}})) == {
        ("/resources/memory", "limit_exceeded")
    }


def test_what_the_policy_and_the_request_make_together_is_a_job_of_the_contract(gateway):
    team = Tenant(
        gateway,
        "together",
        {"images": ["*"], "defaults": {"launcher": "torchrun", "env": {f"D{n}": "" for n in range(200)}}},
    )
    answer = team.post("/v1/jobs", SPEC)
    assert {where for where, _ in faults(answer, "validation_failed")} == {"/launcher"}
    assert "the tenant's policy fills in" in answer.json()["detail"]
    script = {"image": "a:1", "script": "x", "suspended": True}
    assert team.post("/v1/jobs", script).status_code == 201
    answer = team.post("/v1/jobs", {**script, "env": {f"E{n}": "" for n in range(100)}})
    assert {where for where, _ in faults(answer, "validation_failed")} == {"/env"}


def test_a_limit_never_lengthens_what_a_job_would_have_without_it(gateway):
    limits = {"keep_seconds": 31536000, "max_retries": 9, "timeout_seconds": 600}
    team = Tenant(gateway, "shorter", {"images": ["*"], "limits": limits})
    assert gateway.patch("/v1/tenants/shorter", {"default_timeout_seconds": 60}).status_code == 200
    spec = team.post("/v1/jobs?dry_run=true", SPEC).json()["spec"]
    assert not {"keep_seconds", "max_retries", "timeout_seconds"} & set(spec), "the defaults are shorter"
    gateway.patch("/v1/tenants/shorter", {"policy": {"limits": {"keep_seconds": 60, "timeout_seconds": 30}}})
    spec = team.post("/v1/jobs?dry_run=true", SPEC).json()["spec"]
    assert (spec["keep_seconds"], spec["timeout_seconds"]) == (60, 30)


def test_a_job_that_was_filled_by_defaults_can_be_run_again(gateway):
    policy = {"images": ["pytorch/*"], "defaults": {"dataset": "shared-set"}}
    team = Tenant(gateway, "again", policy)
    job = team.post("/v1/jobs", {**SPEC, "suspended": True}).json()
    assert job["spec"]["dataset"] == "shared-set"
    assert team.post(f"/v1/jobs/{job['id']}/clone").status_code == 201
    assert faults(team.post(f"/v1/jobs/{job['id']}/clone", {"dataset": "other"})) == {
        ("/dataset", "volume_not_allowed")
    }


BAD = [
    ({"images": ["ghcr.io"]}, "/policy/images/0"),
    ({"images": ["a/*/b"]}, "/policy/images/0"),
    ({"images": "*"}, "/policy/images"),
    ({"image": ["*"]}, "/policy/image"),
    ({"volumes": ["*x"]}, "/policy/volumes/0"),
    ({"limits": {"gpu": 1}}, "/policy/limits/gpu"),
    ({"limits": {"memory": "1GB"}}, "/policy/limits/memory"),
    ({"defaults": {"epoch": 1}}, "/policy/defaults/epoch"),
    ({"defaults": {"image": "a"}}, "/policy/defaults/image"),
    ({"defaults": {"script": "x"}}, "/policy/defaults/script"),
    ({"forced": {"command": ["x"]}}, "/policy/forced/command"),
    ({"forced": {"env": {"RANK": "1"}}}, "/policy/forced/env/RANK"),
    ({"forced": {"replicas": 0}}, "/policy/forced/replicas"),
]


@pytest.mark.parametrize(("policy", "pointer"), BAD)
def test_a_bad_policy_is_told_by_its_place_when_it_is_set(gateway, policy, pointer):
    made = gateway.post("/v1/tenants", {"name": "bad", "policy": policy})
    changed = gateway.patch("/v1/tenants/default", {"policy": policy})
    for answer in (made, changed):
        assert pointer in {where for where, _ in faults(answer, "validation_failed")}, answer.text
    assert gateway.get("/v1/tenants/bad").status_code == 404
    assert gateway.get("/v1/tenants/default").json()["policy"] == OPEN


def test_a_patch_merges_and_null_removes(gateway):
    team = Tenant(gateway, "merged", {"images": ["a/*"], "limits": {"gpus": 1, "replicas": 2}})
    patch = {"policy": {"images": ["b/*"], "volumes": ["x"], "limits": {"gpus": None}}}
    wanted = {"images": ["b/*"], "volumes": ["x"], "limits": {"replicas": 2}}
    assert gateway.patch("/v1/tenants/merged", patch).json()["policy"] == wanted
    assert gateway.patch("/v1/tenants/merged", {"description": "x"}).json()["policy"] == wanted
    assert gateway.patch("/v1/tenants/merged", {"policy": {"limits": None}}).json()["policy"] == {
        "images": ["b/*"],
        "volumes": ["x"],
    }
    assert team.policy["images"] == ["a/*"]


def test_a_policy_lives_on_after_a_crash(own_gateway):
    team = Tenant(own_gateway, "kept", CLOSED)
    own_gateway.kill()
    own_gateway.start()
    assert own_gateway.get("/v1/tenants/kept").json()["policy"] == CLOSED
    assert faults(team.post("/v1/jobs", {**SPEC, **EVIL})) == ALL


def test_a_policy_may_change_while_jobs_arrive(gateway):
    """Each job meets one whole policy: the image is allowed by one of them and the forced value comes from the same."""
    team = Tenant(gateway, "moving", {"images": ["a/*"], "forced": {"epochs": 1}})
    policies = [{"images": ["a/*"], "forced": {"epochs": 1}}, {"images": ["b/*"], "forced": {"epochs": 2}}]
    made: list[dict] = []
    odd: list[str] = []
    stop = threading.Event()

    def submit(repository):
        session = requests.Session()
        headers = {"Authorization": f"Bearer {gateway.token}", **team.headers}
        while not stop.is_set():
            body = {**SPEC, "image": f"{repository}/x:1", "suspended": True}
            answer = session.post(gateway.url("/v1/jobs?dry_run=true"), json=body, headers=headers, timeout=60)
            if answer.status_code == 200:
                made.append(answer.json()["spec"])
            elif answer.status_code != 422:
                odd.append(answer.text)

    threads = [threading.Thread(target=submit, args=(repository,)) for repository in "ab" * 2]
    for thread in threads:
        thread.start()
    for n in range(60):
        assert gateway.patch("/v1/tenants/moving", {"policy": policies[n % 2]}).status_code == 200
    deadline = time.monotonic() + 120
    while len({spec["image"] for spec in made}) < 2 and time.monotonic() < deadline:  # each was let in at some time
        gateway.patch("/v1/tenants/moving", {"policy": policies[len(made) % 2]})
    stop.set()
    for thread in threads:
        thread.join()
    assert odd == []
    assert {(spec["image"], spec["epochs"]) for spec in made} == {("a/x:1", 1), ("b/x:1", 2)}


# --- random jobs against random policies; the oracle knows nothing of how the gateway judges ---

REPOSITORIES = ["ubuntu", "pytorch/pytorch", "pytorch/extra", "ghcr.io/acme/a", "ghcr.io/acme/deep/b", "host:5000/x"]
TAGS = ["", ":1", ":latest", "@sha256:" + "ab" * 32, ":1@sha256:" + "cd" * 32]
PATTERNS = [
    "*",
    "ubuntu",
    "ubuntu:1",
    "ubuntu:latest",
    "pytorch/*",
    "docker.io/*",
    "ghcr.io/*",
    "ghcr.io/acme/*",
    "ghcr.io/acme/a",
    "host:5000/*",
    "pytorch/pytorch@sha256:" + "ab" * 32,
]
CLAIMS = ["data-a", "data-b", "other"]
LABELS = ["zone", "acme.example/pool", "acme.example/tier", "disk"]
# Lists whose names stand in members of one name, and what such a name may be.
NAMED = {
    "priority_classes": ("priority_class", ["low", "high", "high-urgent"]),
    "queues": ("queue", ["a", "b"]),
    "schedulers": ("scheduler", ["gang", "plain"]),
}
SECRETS = ["wandb", "team-key", "team-other"]


def explicit(name):
    first, _, rest = name.partition("/")
    if rest and ("." in first or ":" in first):
        return name
    return f"docker.io/{name}" if rest else f"docker.io/library/{name}"


def image_allowed(image, patterns):
    name, _, digest = image.partition("@")
    head, _, tail = name.rpartition(":")
    repository, tag = (head, tail) if head and "/" not in tail else (name, "" if digest else "latest")
    for pattern in patterns:
        if pattern == "*":
            return True
        if pattern.endswith("/*"):
            prefix = pattern[:-1]
            full = prefix if "." in prefix or ":" in prefix else f"docker.io/{prefix}"
            if explicit(repository).startswith(full):
                return True
            continue
        pname, _, pdigest = pattern.partition("@")
        phead, _, ptail = pname.rpartition(":")
        prepo, ptag = (phead, ptail) if phead and "/" not in ptail else (pname, "")
        if explicit(prepo) != explicit(repository):
            continue
        if pdigest and pdigest != digest or not pdigest and ptag and (digest or ptag != tag):
            continue
        return True
    return False


def named(value, names):
    return any(fnmatch.fnmatchcase(value, name) for name in names)


def random_policy(chance):
    policy = {"images": chance.sample(PATTERNS, chance.randint(0, 3))}
    if chance.random() < 0.5:
        policy["volumes"] = chance.sample(["data-*", "other", "data-b", "*"], chance.randint(0, 2))
    if chance.random() < 0.3:
        policy["require_digest"] = True
    policy["storage_classes"] = chance.sample(["fast", "sl*"], chance.randint(0, 2))
    policy["node_labels"] = chance.sample(["zone", "acme.example/*", "disk", "*"], chance.randint(0, 3))
    policy["tolerations"] = chance.sample(["zone", "acme.example/pool", "*"], chance.randint(0, 2))
    policy["secrets"] = chance.sample(["wandb", "team-*"], chance.randint(0, 2))
    for name, (_, values) in NAMED.items():
        if chance.random() < 0.6:
            policy[name] = chance.sample([*values, "high*"], chance.randint(0, 2))
    if chance.random() < 0.3:
        policy["namespaces"] = ["shared-*"]
    limits = {"replicas": (1, 4), "gpus": (0, 8), "gpus_per_replica": (0, 4), "max_retries": (0, 5)}
    policy["limits"] = {k: chance.randint(*r) for k, r in limits.items() if chance.random() < 0.4}
    return policy


def random_job(chance):
    def image():
        return chance.choice(REPOSITORIES) + chance.choice(TAGS)

    job = {"image": image(), "command": ["true"]}
    if chance.random() < 0.5:
        job["dataset"] = chance.choice([chance.choice(CLAIMS), {"claim": chance.choice(CLAIMS)}])
    if chance.random() < 0.4:
        job["output"] = chance.choice(CLAIMS)
    if chance.random() < 0.3:
        job["volumes"] = [
            {"create": {"size": "1Gi", "storage_class": chance.choice(["fast", "slow", "odd"])}, "mount_path": "/c"},
            {"claim": chance.choice(CLAIMS), "mount_path": "/v"},
        ]
    for member, top in (("replicas", 5), ("gpus", 5), ("max_retries", 7)):
        if chance.random() < 0.5:
            job[member] = chance.randint(1, top)
    if chance.random() < 0.3:
        job["worker"] = {"image": image()}
    if chance.random() < 0.2:
        job["master"] = {"volumes": [{"claim": chance.choice(CLAIMS), "mount_path": "/m"}]}
    for member, values in NAMED.values():
        if chance.random() < 0.15:
            job[member] = chance.choice(values)
    for holder in (job, job.setdefault("worker", {})):
        if chance.random() < 0.15:
            holder.update(random_placement(chance))
    return job


def random_placement(chance):
    def expressions():
        return [{"key": chance.choice(LABELS), "operator": "exists"} for _ in range(chance.randint(1, 2))]

    term = {"labels": {}, "topology_key": chance.choice(LABELS)}
    if chance.random() < 0.5:
        term["namespaces"] = [chance.choice(["trainyard-random", "shared-a", "others"])]
    some = {
        "node_selector": {chance.choice(LABELS): "x"},
        "tolerations": [chance.choice([{"key": chance.choice(LABELS), "value": "x"}, {"operator": "exists"}])],
        "secrets": [{"name": chance.choice(SECRETS), "key": "k", "env": "SECRET_K"}],
        "affinity": {
            "node": chance.choice(
                [{"required": [{"match": expressions()}]}, {"preferred": [{"weight": 1, "match": expressions()}]}]
            ),
            chance.choice(["pods", "pods_apart"]): chance.choice(
                [{"required": [term]}, {"preferred": [{"weight": 2, **term}]}]
            ),
        },
    }
    return {member: some[member] for member in chance.sample(list(some), chance.randint(1, 3))}


def found(value, member):
    """Every value of `member`, wherever it stands."""
    if isinstance(value, list):
        return [hit for item in value for hit in found(item, member)]
    if not isinstance(value, dict):
        return []
    own = [value[member]] if member in value else []
    return own + [hit for item in value.values() for hit in found(item, member)]


def placement_forbidden(job, policy):
    kinds = set()
    affinities = found(job, "affinity")
    labels = [key for selector in found(job, "node_selector") for key in selector]
    labels += found(affinities, "key") + found(affinities, "topology_key")
    if not all(named(label, policy["node_labels"]) for label in labels):
        kinds.add("node_label_not_allowed")
    tolerated = [toleration.get("key", "*") for each in found(job, "tolerations") for toleration in each]
    if not all("*" in policy["tolerations"] or key in policy["tolerations"] for key in tolerated):
        kinds.add("toleration_not_allowed")
    if not all(named(secret["name"], policy["secrets"]) for each in found(job, "secrets") for secret in each):
        kinds.add("secret_not_allowed")
    spaces = [name for each in found(affinities, "namespaces") for name in each]
    if not all(name == "trainyard-random" or named(name, policy.get("namespaces", [])) for name in spaces):
        kinds.add("namespace_not_allowed")
    for name, (member, _) in NAMED.items():
        if member in job and not named(job[member], policy.get(name, [])):
            kinds.add(member + "_not_allowed")
    return kinds


def claims_of(value):
    """Every claim by name, wherever it stands."""
    if isinstance(value, list):
        return [claim for item in value for claim in claims_of(item)]
    if not isinstance(value, dict):
        return []
    own = [value[k] for k in ("dataset", "output", "claim") if isinstance(value.get(k), str)]
    return own + [claim for item in value.values() for claim in claims_of(item)]


def forbidden(job, policy):
    limits = policy["limits"]
    replicas, gpus = job.get("replicas", 1), job.get("gpus", 0)
    images = [job["image"]] + [job[role]["image"] for role in ("master", "worker") if "image" in job.get(role, {})]
    kinds = set()
    if not all(image_allowed(image, policy["images"]) for image in images):
        kinds.add("image_not_allowed")
    if policy.get("require_digest") and not all("@" in image for image in images):
        kinds.add("image_digest_required")
    if not all(named(claim, policy.get("volumes", ["data-a"])) for claim in claims_of(job)):
        kinds.add("volume_not_allowed")
    classes = [v["create"]["storage_class"] for v in job.get("volumes", []) if "create" in v]
    if not all(named(name, policy["storage_classes"]) for name in classes):
        kinds.add("storage_class_not_allowed")
    takes = {
        "replicas": replicas,
        "gpus": replicas * gpus,
        "gpus_per_replica": gpus,
        "max_retries": job.get("max_retries", 0),
    }
    if any(takes[name] > most for name, most in limits.items()):
        kinds.add("limit_exceeded")
    return kinds


def test_no_random_job_passes_a_random_policy_that_forbids_it(gateway):
    team = Tenant(gateway, "random", OPEN)
    assert team.post("/v1/volumes", {"name": "data-a", "size": "1Gi"}).status_code == 201
    chance = random.Random(7)
    passed = 0
    for _ in range(40):
        policy = random_policy(chance)
        team.set(policy)
        for _ in range(25):
            job = random_job(chance)
            answer = team.post("/v1/jobs?dry_run=true", job)
            wanted = forbidden(job, policy) | placement_forbidden(job, policy)
            got = {code for _, code in faults(answer)} if answer.status_code == 422 else set()
            assert got == wanted, (policy, job, answer.text)
            passed += answer.status_code == 200
    assert 20 < passed < 980, "both kinds were tried"
