"""POST /v1/jobs/{id}/scale: the number of workers of an elastic job, from the request to the processes."""

from __future__ import annotations

import concurrent.futures
import json
import subprocess
import time

import pytest
from gateway import BIN, Gateway

SLEEP = ["sh", "-c", "echo begun; exec sleep 600"]


def elastic(least: int = 1, most: int = 3, **more: object) -> dict:
    return {"command": SLEEP, "elastic": {"min": least, "max": most}, **more}


def scale(gateway: Gateway, job: str, replicas: object, **more):
    return gateway.post(f"/v1/jobs/{job}/scale", {"replicas": replicas}, **more)


def replicas(gateway: Gateway, job: str) -> dict[str, str]:
    return {item["name"]: item["state"] for item in gateway.get(f"/v1/jobs/{job}/replicas").json()["items"]}


def await_size(gateway: Gateway, job: str, size: int) -> None:
    """Until the first `size` workers are there and run, and no other."""
    wanted = {f"worker-{i}": "running" for i in range(size)}
    deadline = time.monotonic() + 60
    while (seen := replicas(gateway, job)) != wanted:
        assert time.monotonic() < deadline, (seen, gateway.get(f"/v1/jobs/{job}").json())
        time.sleep(0.02)


def end(gateway: Gateway, job: str) -> None:
    gateway.post(f"/v1/jobs/{job}/cancel")
    gateway.wait(job, {"cancelled"})


def test_a_running_job_grows_and_shrinks(gateway):
    job = gateway.submit(**elastic())
    assert (job["replicas"], job["spec"].get("replicas")) == (1, None)
    await_size(gateway, job["id"], 1)
    before = gateway.get(f"/v1/jobs/{job['id']}").json()
    answer = scale(gateway, job["id"], 3)
    grown = answer.json()
    assert (answer.status_code, grown["replicas"], grown["spec"]["replicas"], grown["state"]) == (202, 3, 3, "running")
    assert answer.headers["ETag"] == grown["etag"] != before["etag"]
    await_size(gateway, job["id"], 3)
    assert scale(gateway, job["id"], 3).status_code == 200
    assert scale(gateway, job["id"], 2).json()["replicas"] == 2
    await_size(gateway, job["id"], 2)
    after = gateway.get(f"/v1/jobs/{job['id']}").json()
    assert (after["sequence"], after["attempt"], after["restarts"]) == (before["sequence"], 1, 0), "no transition"
    for replica, log in {None: b"begun\n", "worker-0": b"begun\n", "worker-1": b"begun\n", "worker-2": b"begun\n"}.items():
        assert gateway.logs(job["id"], **({"replica": replica} if replica else {})) == log
    for absent in ("master-0", "worker-3"):
        assert gateway.get(f"/v1/jobs/{job['id']}/logs", params={"replica": absent}).json()["code"] == "replica_not_found"
    end(gateway, job["id"])


def test_the_manifest_has_the_size_of_now_and_another_tag(gateway):
    job = gateway.submit(**elastic(suspended=True))["id"]
    first = gateway.get(f"/v1/jobs/{job}/manifest")
    scale(gateway, job, 2)
    second = gateway.get(f"/v1/jobs/{job}/manifest")
    sizes = [
        answer.json()["items"][-1]["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] for answer in (first, second)
    ]
    assert sizes == [1, 2]
    assert first.headers["ETag"] != second.headers["ETag"]
    end(gateway, job)


@pytest.mark.parametrize(
    ("number", "code"),
    [(0, "out_of_range"), (-1, "out_of_range"), (1001, "out_of_range"), (1, "replicas_out_of_range"), (5, "replicas_out_of_range"),
     ("3", "wrong_type"), (2.5, "wrong_type"), (None, "wrong_type")],
)  # fmt: skip
def test_a_number_out_of_range_is_refused_by_its_pointer(gateway, number, code):
    job = gateway.submit(**elastic(2, 4, suspended=True))["id"]
    answer = scale(gateway, job, number)
    faults = answer.json()["errors"]
    assert answer.status_code == 422 and [fault["pointer"] for fault in faults] == ["/replicas"], answer.text
    assert faults[0]["code"] == code
    assert gateway.get(f"/v1/jobs/{job}").json()["replicas"] == 2
    end(gateway, job)


@pytest.mark.parametrize("body", [{}, {"replicas": 2, "more": 1}])
def test_the_body_is_checked(gateway, body):
    job = gateway.submit(**elastic(suspended=True))["id"]
    assert gateway.post(f"/v1/jobs/{job}/scale", body).status_code == 422
    end(gateway, job)


def test_only_a_live_elastic_job_is_scaled(gateway):
    fixed = gateway.submit(command=SLEEP, replicas=2, suspended=True)["id"]
    answer = scale(gateway, fixed, 2)
    assert (answer.status_code, answer.json()["code"]) == (409, "job_not_elastic")
    end(gateway, fixed)
    done = gateway.submit(**elastic(suspended=True))["id"]
    end(gateway, done)
    answer = scale(gateway, done, 2)
    assert (answer.status_code, answer.json()["code"]) == (409, "job_finished")
    unknown = scale(gateway, "job_00000000000000000000000000", 2)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


def test_if_match_guards_the_change(gateway):
    job = gateway.submit(**elastic(suspended=True))
    stale = scale(gateway, job["id"], 2, headers={"If-Match": '"0-none"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "precondition_failed")
    good = scale(gateway, job["id"], 2, headers={"If-Match": job["etag"]})
    assert (good.status_code, good.json()["replicas"]) == (202, 2)
    assert scale(gateway, job["id"], 3, headers={"If-Match": job["etag"]}).status_code == 412
    end(gateway, job["id"])


def test_a_suspended_job_has_its_number_at_its_start_and_keeps_it_over_another_suspend(gateway):
    job = gateway.submit(**elastic(suspended=True))["id"]
    assert replicas(gateway, job) == {"worker-0": "pending"}
    assert scale(gateway, job, 2).json()["state"] == "suspended"
    assert replicas(gateway, job) == {"worker-0": "pending", "worker-1": "pending"}
    gateway.post(f"/v1/jobs/{job}/resume")
    await_size(gateway, job, 2)
    gateway.post(f"/v1/jobs/{job}/suspend")
    gateway.wait(job, {"suspended"})
    gateway.post(f"/v1/jobs/{job}/resume")
    gateway.wait(job, {"running"})
    await_size(gateway, job, 2)
    end(gateway, job)


def test_a_restart_and_a_clone_have_the_last_size(gateway):
    job = gateway.submit(**elastic(suspended=True, name="origin"))["id"]
    scale(gateway, job, 3)
    clone = gateway.post(f"/v1/jobs/{job}/clone", {"suspended": True}).json()
    smaller = gateway.post(f"/v1/jobs/{job}/clone", {"suspended": True, "replicas": 1}).json()
    assert (clone["replicas"], smaller["replicas"]) == (3, 1)
    end(gateway, job)
    again = gateway.post(f"/v1/jobs/{job}/restart").json()
    assert again["replicas"] == 3
    for made in (clone, smaller, again):
        end(gateway, made["id"])


def test_a_repeated_submit_is_answered_with_the_first_size(gateway):
    body = {"image": "pytorch/pytorch:2.0.0", **elastic(suspended=True, replicas=2)}
    headers = {"Idempotency-Key": f"scale-{time.time_ns()}"}
    first = gateway.post("/v1/jobs", body, headers=headers)
    job = first.json()["id"]
    scale(gateway, job, 3)
    again = gateway.post("/v1/jobs", body, headers=headers)
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert again.json() == first.json()
    key = {"Idempotency-Key": f"clone-{time.time_ns()}"}
    clone = gateway.post(f"/v1/jobs/{job}/clone", {"labels": {"a": "b"}}, headers=key)
    scale(gateway, job, 1)
    repeated = gateway.post(f"/v1/jobs/{job}/clone", {"labels": {"a": "b"}}, headers=key)
    assert repeated.json() == clone.json()
    for made in (job, clone.json()["id"]):
        end(gateway, made)


def test_growing_is_judged_by_the_tenants_quota(gateway):
    name = f"small-{time.time_ns() % 10**9}"
    made = gateway.post("/v1/tenants", {"name": name, "quota": {"max_replicas": 4}, "policy": {"images": ["*"]}})
    assert made.status_code == 201, made.text
    tenant = {"headers": {"Trainyard-Tenant": name}}
    spec = {"image": "pytorch/pytorch:2.0.0", **elastic(most=6)}
    jobs = [gateway.post("/v1/jobs", spec, **tenant).json()["id"] for _ in range(2)]
    deadline = time.monotonic() + 60
    for job in jobs:
        while gateway.get(f"/v1/jobs/{job}", **tenant).json()["state"] != "running":
            assert time.monotonic() < deadline
            time.sleep(0.02)
    answer = scale(gateway, jobs[0], 4, **tenant)
    assert (answer.status_code, answer.json()["code"]) == (429, "quota_exceeded")
    assert "4 replicas" in answer.json()["detail"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda job: gateway.post(f"/v1/jobs/{job}/scale", {"replicas": 3}, **tenant), jobs))
    assert sorted(answer.status_code for answer in answers) == [202, 429], "one takes the last room"
    grown = jobs[[answer.status_code for answer in answers].index(202)]
    assert scale(gateway, grown, 1, **tenant).status_code == 202
    waiting = gateway.post("/v1/jobs", {**spec, "suspended": True}, **tenant).json()["id"]
    assert scale(gateway, waiting, 6, **tenant).status_code == 202, "without a run the number alone is stored"
    for job in [*jobs, waiting]:
        gateway.post(f"/v1/jobs/{job}/cancel", **tenant)


def test_growing_is_judged_by_the_tenants_policy(gateway):
    name = f"bound-{time.time_ns() % 10**9}"
    policy = {"images": ["*"], "limits": {"replicas": 3}}
    made = gateway.post("/v1/tenants", {"name": name, "policy": policy})
    assert made.status_code == 201, made.text
    tenant = {"headers": {"Trainyard-Tenant": name}}
    spec = {"image": "pytorch/pytorch:2.0.0", **elastic(most=3, suspended=True)}
    job = gateway.post("/v1/jobs", spec, **tenant).json()["id"]
    assert scale(gateway, job, 2, **tenant).status_code == 202
    narrower = gateway.patch(f"/v1/tenants/{name}", {"policy": {"limits": {"replicas": 2}}})
    assert narrower.status_code == 200, narrower.text
    answer = scale(gateway, job, 3, **tenant)
    assert (answer.status_code, answer.json()["code"]) == (422, "policy_violation"), answer.text
    assert scale(gateway, job, 1, **tenant).status_code == 202, "less is always allowed"
    gateway.post(f"/v1/jobs/{job}/cancel", **tenant)


def test_growing_is_judged_by_what_is_free():
    with Gateway("--gpus", "4", "--grace-seconds", "2") as gateway:
        job = gateway.submit(**elastic(most=300, gpus=1))["id"]
        await_size(gateway, job, 1)
        answer = scale(gateway, job, 5)
        assert (answer.status_code, answer.json()["code"]) == (409, "capacity_exceeded")
        assert scale(gateway, job, 4).json()["gpus"] == 1
        await_size(gateway, job, 4)
        other = gateway.submit(command=["true"], gpus=1)["id"]
        gateway.wait(other, {"queued"})
        assert scale(gateway, job, 3).status_code == 202
        assert gateway.wait(other)["state"] == "succeeded", "what a leaving worker held is another's"
        narrow = gateway.submit(**elastic(most=300))["id"]
        await_size(gateway, narrow, 1)
        assert scale(gateway, narrow, 251).json()["code"] == "capacity_exceeded"


def test_twenty_scales_in_a_row_and_from_four_clients_end_at_one_number(gateway):
    job = gateway.submit(**elastic(most=5))["id"]
    await_size(gateway, job, 1)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        numbers = [1 + i * 7 % 5 for i in range(20)]
        codes = list(pool.map(lambda number: scale(gateway, job, number).status_code, numbers))
    assert set(codes) <= {200, 202}
    seen = gateway.get(f"/v1/jobs/{job}").json()
    await_size(gateway, job, seen["replicas"])
    for number in numbers:
        assert scale(gateway, job, number).status_code in (200, 202)
    await_size(gateway, job, numbers[-1])
    end(gateway, job)


@pytest.mark.parametrize("action", ["cancel", "suspend", "delete"])
def test_a_scale_that_races_another_action_leaves_the_job_where_that_led(gateway, action):
    for _ in range(3):
        job = gateway.submit(**elastic(most=4))["id"]
        gateway.wait(job, {"starting", "running"})

        def other(job: str = job) -> int:
            if action == "delete":
                return gateway.delete(f"/v1/jobs/{job}?force=true").status_code
            return gateway.post(f"/v1/jobs/{job}/{action}").status_code

        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            scales = [pool.submit(scale, gateway, job, 1 + i % 4) for i in range(4)]
            acted = pool.submit(other)
            codes = {future.result().status_code for future in scales}
        assert acted.result() == 202 and codes <= {200, 202, 404, 409}
        if action == "delete":
            deadline = time.monotonic() + 60
            while gateway.get(f"/v1/jobs/{job}").status_code != 404:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            continue
        gateway.wait(job, {"cancelled" if action == "cancel" else "suspended"})
        if action == "suspend":
            size = gateway.get(f"/v1/jobs/{job}").json()["replicas"]
            gateway.post(f"/v1/jobs/{job}/resume")
            gateway.wait(job, {"running"})
            await_size(gateway, job, size)
            end(gateway, job)


def test_a_scale_that_races_the_end_changes_nothing_of_it(gateway):
    for _ in range(5):
        job = gateway.submit(command=["sh", "-c", "sleep 0.05"], elastic={"min": 1, "max": 3})["id"]
        while (answer := scale(gateway, job, 3)).status_code in (200, 202):
            scale(gateway, job, 1)
        assert answer.json()["code"] == "job_finished"
        assert gateway.wait(job)["state"] == "succeeded"


def test_a_scale_needs_the_scope_to_write_jobs(gateway):
    viewer = gateway.post("/v1/tokens", {"name": "viewer", "role": "viewer"}).json()["token"]
    job = gateway.submit(**elastic(suspended=True))["id"]
    answer = scale(gateway, job, 2, token=viewer)
    assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope")
    end(gateway, job)


def test_the_client_scales_jobs(gateway):
    job = gateway.submit(**elastic(suspended=True))["id"]

    def trainyard(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BIN / "trainyard", "--data", gateway.data, *words], capture_output=True, text=True, timeout=60, check=False
        )

    done = trainyard("scale", job, "3", "-o", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["replicas"] == 3, done.stderr
    assert trainyard("scale", job, "9").returncode == 6
    for wrong in (["scale", job], ["scale", job, "many"], ["scale", job, "0"], ["scale", job, "1", "2"]):
        said = trainyard(*wrong)
        assert said.returncode == 2 and said.stderr, wrong
    end(gateway, job)
