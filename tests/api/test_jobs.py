"""Jobs through the API: submit, read, list, change, act, remove."""

from __future__ import annotations

import concurrent.futures
import time

import pytest
from gateway import HELD, Gateway

IMAGE = "pytorch/pytorch:2.0.0"
SLEEP = {"command": ["sleep", "600"]}


def test_a_small_request_becomes_a_job_that_runs_to_its_end(gateway):
    answer = gateway.post("/v1/jobs", {"name": "hello", "image": IMAGE, "script": "print('hello')"})
    assert answer.status_code == 201
    job = answer.json()
    assert job["state"] == "queued" and job["cause"] == "submitted" and job["sequence"] == 1
    assert answer.headers["Location"] == f"/v1/jobs/{job['id']}" == job["links"]["self"]
    assert answer.headers["ETag"] == job["etag"]
    done = gateway.wait(job["id"])
    assert (done["state"], done["exit_code"], done["attempt"]) == ("succeeded", None, 1)
    assert gateway.logs(job["id"]) == b"hello\n"


def test_every_transition_is_kept_with_sequence_and_cause(gateway):
    job = gateway.submit(command=["true"])
    gateway.wait(job["id"])
    steps = gateway.get(f"/v1/jobs/{job['id']}/transitions").json()["items"]
    assert [step["sequence"] for step in steps] == list(range(1, len(steps) + 1))
    assert steps[0]["from"] is None and steps[0]["to"] == "queued"
    assert steps[-1]["to"] == "succeeded"
    assert all(before["to"] == after["from"] for before, after in zip(steps, steps[1:]))
    assert all(step["cause"] for step in steps)


@pytest.mark.parametrize(
    ("script", "code", "signal"),
    [
        ("import sys; sys.exit(1)", 1, None),
        ("import sys; sys.exit(255)", 255, None),
        ("raise ValueError('no')", 1, None),
        ("import os; os.kill(os.getpid(), 11)", 139, 11),
        ("import os; os.kill(os.getpid(), 9)", 137, 9),
        ("import os; os._exit(137)", 137, None),
    ],
)
def test_exit_codes_and_signals_are_told_as_they_were(gateway, script, code, signal):
    job = gateway.wait(gateway.submit(script=script, restart="never")["id"])
    assert job["state"] == "failed" and job["cause"] == "container_error"
    assert (job["exit_code"], job["exit_signal"], job["failed_replica"]) == (code, signal, "master-0")


def test_a_job_that_fails_for_good_uses_up_its_retries(gateway):
    job = gateway.wait(gateway.submit(script="raise SystemExit(3)", max_retries=2)["id"])
    assert (job["state"], job["cause"], job["exit_code"]) == ("failed", "retry_limit_exceeded", 3)


def test_etags_and_conditional_reads(gateway):
    job = gateway.submit(**SLEEP)
    running = gateway.wait(job["id"], {"running"})
    url = f"/v1/jobs/{job['id']}"
    assert gateway.get(url, headers={"If-None-Match": running["etag"]}).status_code == 304
    assert gateway.get(url, headers={"If-None-Match": '"other"'}).status_code == 200
    changed = gateway.patch(url, {"labels": {"team": "vision"}}, headers={"If-Match": running["etag"]})
    assert changed.status_code == 200 and changed.json()["labels"] == {"team": "vision"}
    stale = gateway.patch(url, {"labels": {"team": "nlp"}}, headers={"If-Match": running["etag"]})
    assert (stale.status_code, stale.json()["code"]) == (412, "precondition_failed")
    assert gateway.get(url).json()["labels"] == {"team": "vision"}
    gateway.post(f"{url}/cancel")
    gateway.wait(job["id"], {"cancelled"})


def test_labels_and_description_follow_merge_patch(gateway):
    job = gateway.submit(command=["true"], labels={"a": "1", "b": "2"}, description="first")
    url = f"/v1/jobs/{job['id']}"
    patched = gateway.patch(url, {"labels": {"a": None, "c": "3"}, "description": None}).json()
    assert patched["labels"] == {"b": "2", "c": "3"} and patched["description"] == ""
    assert gateway.patch(url, {"labels": None}).json()["labels"] == {}
    assert gateway.patch(url, {"state": "failed"}).status_code == 422


def test_cancel_is_done_when_nothing_runs_any_more(gateway):
    job = gateway.submit(**SLEEP)
    gateway.wait(job["id"], {"running"})
    first = gateway.post(f"/v1/jobs/{job['id']}/cancel")
    assert first.status_code == 202 and first.json()["state"] == "cancelling"
    assert gateway.post(f"/v1/jobs/{job['id']}/cancel").status_code == 200
    assert gateway.wait(job["id"])["cause"] == "cancelled_by_user"
    assert gateway.post(f"/v1/jobs/{job['id']}/cancel").status_code == 200


def test_a_finished_job_cannot_be_cancelled(gateway):
    job = gateway.wait(gateway.submit(command=["true"])["id"])
    answer = gateway.post(f"/v1/jobs/{job['id']}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (409, "job_finished")


def test_suspend_stops_and_resume_runs_again(gateway):
    job = gateway.submit(**SLEEP)
    gateway.wait(job["id"], {"running"})
    assert gateway.post(f"/v1/jobs/{job['id']}/suspend").status_code == 202
    assert gateway.wait(job["id"], {"suspended"})["cause"] == "suspended_by_user"
    assert gateway.post(f"/v1/jobs/{job['id']}/resume").status_code == 202
    assert gateway.wait(job["id"], {"running"})["attempt"] == 2
    gateway.post(f"/v1/jobs/{job['id']}/cancel")
    gateway.wait(job["id"], {"cancelled"})


def test_a_job_submitted_suspended_waits_for_resume(gateway):
    job = gateway.submit(command=["true"], suspended=True)
    assert job["state"] == "suspended"
    time.sleep(0.3)
    assert gateway.get(f"/v1/jobs/{job['id']}").json()["state"] == "suspended"
    gateway.post(f"/v1/jobs/{job['id']}/resume")
    assert gateway.wait(job["id"])["state"] == "succeeded"


def test_deadlines_end_a_job_in_time(gateway):
    job = gateway.wait(gateway.submit(**SLEEP, timeout_seconds=1)["id"])
    assert (job["state"], job["cause"]) == ("failed", "deadline_exceeded")


def test_delete_removes_finished_jobs_only_unless_forced(gateway):
    done = gateway.wait(gateway.submit(command=["true"])["id"])
    assert gateway.delete(f"/v1/jobs/{done['id']}").status_code == 204
    assert gateway.get(f"/v1/jobs/{done['id']}").status_code == 404
    assert gateway.delete(f"/v1/jobs/{done['id']}").status_code == 404
    assert gateway.delete(f"/v1/jobs/{done['id']}?allow_missing=true").status_code == 204

    live = gateway.submit(**SLEEP)
    gateway.wait(live["id"], {"running"})
    refused = gateway.delete(f"/v1/jobs/{live['id']}")
    assert (refused.status_code, refused.json()["code"]) == (409, "job_active")
    assert gateway.delete(f"/v1/jobs/{live['id']}?force=true").status_code == 202
    deadline = time.monotonic() + 60
    while gateway.get(f"/v1/jobs/{live['id']}").status_code != 404:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_forced_delete_never_misses_the_job_it_removes(gateway):
    """A parked job may be gone before its delete is answered, and that is no 404."""
    parked = [{"image": "a/b", "command": ["true"], "suspended": True}] * 400
    jobs = [row["job"] for row in gateway.post("/v1/jobs:batch", {"items": parked}).json()["items"]]
    answers = {gateway.delete(f"/v1/jobs/{job['id']}?force=true").status_code for job in jobs}
    assert answers <= {202, 204}


def test_restart_and_clone_make_new_jobs(gateway):
    first = gateway.wait(gateway.submit(name="origin", script="print('x')", epochs=3)["id"])
    again = gateway.post(f"/v1/jobs/{first['id']}/restart")
    assert again.status_code == 201
    assert again.json()["origin"] == {"job_id": first["id"], "kind": "restart", "changes": []}
    assert again.json()["id"] != first["id"]
    clone = gateway.post(f"/v1/jobs/{first['id']}/clone", {"epochs": 5, "name": "copy"})
    assert clone.status_code == 201 and clone.json()["spec"]["epochs"] == 5
    assert clone.json()["name"] == "copy" and clone.json()["origin"]["kind"] == "clone"
    bad = gateway.post(f"/v1/jobs/{first['id']}/clone", {"epochs": -1})
    assert bad.status_code == 422 and bad.json()["errors"][0]["pointer"] == "/epochs"
    for job in (again.json(), clone.json()):
        assert gateway.wait(job["id"])["state"] == "succeeded"


def test_a_clone_tells_how_it_differs_even_when_its_origin_is_gone(gateway):
    spec = {"image": IMAGE, "script": "x" * 600, "epochs": 3, "env": {"A": "1", "B": "2"}, "args": ["a", "b"]}
    first = gateway.post("/v1/jobs", {**spec, "suspended": True}).json()
    patch = {"epochs": 5, "env": {"A": None, "C": "3"}, "args": ["a", "c"], "script": "y" * 700, "priority": 1}
    key = {"headers": {"Idempotency-Key": "clone-differs"}}
    clone = gateway.post(f"/v1/jobs/{first['id']}/clone", patch, **key).json()
    changes = {change.pop("pointer"): change for change in clone["origin"]["changes"]}
    assert changes == {
        "/epochs": {"from": 3, "to": 5},
        "/env/A": {"from": "1"},
        "/env/C": {"to": "3"},
        "/args/1": {"from": "b", "to": "c"},
        "/script": {"from_bytes": 600, "to_bytes": 700},
        "/priority": {"to": 1},
    }
    assert gateway.delete(f"/v1/jobs/{first['id']}?force=true").status_code in {202, 204}
    told = gateway.get(f"/v1/jobs/{clone['id']}").json()["origin"]
    assert told["job_id"] == first["id"] and {c.pop("pointer"): c for c in told["changes"]} == changes
    listed = [job for job in gateway.get("/v1/jobs").json()["items"] if job["id"] == clone["id"]]
    assert listed[0]["origin"] == {"job_id": first["id"], "kind": "clone"}
    replayed = gateway.post(f"/v1/jobs/{first['id']}/clone", patch, **key)
    assert replayed.status_code == 404 or {c.pop("pointer"): c for c in replayed.json()["origin"]["changes"]} == changes
    gateway.post(f"/v1/jobs/{clone['id']}/cancel")


def test_a_live_job_is_not_restarted(gateway):
    job = gateway.submit(**SLEEP)
    answer = gateway.post(f"/v1/jobs/{job['id']}/restart")
    assert (answer.status_code, answer.json()["code"]) == (409, "job_active")
    gateway.post(f"/v1/jobs/{job['id']}/cancel")


def test_dry_run_shows_the_objects_and_stores_nothing(gateway):
    before = gateway.get("/v1/jobs?limit=500").json()["items"]
    answer = gateway.post("/v1/jobs?dry_run=true", {"name": "dry", "image": IMAGE, "script": "1", "replicas": 3})
    assert answer.status_code == 200
    preview = answer.json()
    kinds = [item["kind"] for item in preview["manifest"]["items"]]
    assert kinds[-1] == "PyTorchJob" and "ConfigMap" in kinds
    roles = preview["manifest"]["items"][-1]["spec"]["pytorchReplicaSpecs"]
    assert roles["Master"]["replicas"] == 1 and roles["Worker"]["replicas"] == 2
    assert len(gateway.get("/v1/jobs?limit=500").json()["items"]) == len(before)
    refused = gateway.post("/v1/jobs?dry_run=true", {"image": "UPPER CASE", "script": "1"})
    assert refused.status_code == 422


def test_the_manifest_is_what_runs(gateway):
    job = gateway.submit(name="shown", script="print(1)", epochs=2, env={"A": "b"})
    listed = gateway.get(f"/v1/jobs/{job['id']}/manifest").json()
    workload = listed["items"][-1]
    assert workload["metadata"]["name"] == job["object_name"]
    text = gateway.get(f"/v1/jobs/{job['id']}/manifest", headers={"Accept": "application/yaml"})
    assert text.headers["Content-Type"].startswith("application/yaml")
    import yaml

    assert list(yaml.safe_load_all(text.text)) == listed["items"]
    gateway.wait(job["id"])


def test_a_batch_judges_each_item_alone(gateway):
    items = [
        {"image": IMAGE, "command": ["true"], "name": "good-a"},
        {"image": "NOT AN IMAGE", "command": ["true"]},
        {"image": IMAGE, "script": "1", "command": ["true"]},
        {"image": IMAGE, "command": ["true"], "name": "good-b"},
    ]
    answer = gateway.post("/v1/jobs:batch", {"items": items})
    assert answer.status_code == 200
    results = answer.json()["items"]
    assert [result["status"] for result in results] == [201, 422, 422, 201]
    assert results[1]["problem"]["errors"][0]["pointer"] == "/image"
    for result in (results[0], results[3]):
        assert gateway.wait(result["job"]["id"])["state"] == "succeeded"


def test_wait_returns_with_the_change_or_at_its_time(gateway):
    job = gateway.submit(script=HELD)
    running = gateway.wait(job["id"], {"running"})
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiter = pool.submit(gateway.get, f"/v1/jobs/{job['id']}?wait=50")
        time.sleep(0.2)  # so that it is likely to wait
        gateway.let_go(job)
        changed = waiter.result()
    assert changed.json()["state"] == "succeeded"
    assert changed.json()["etag"] != running["etag"]
    # Nothing changes any more, so there is nothing to wait for.
    assert gateway.get(f"/v1/jobs/{job['id']}?wait=30", headers={"If-None-Match": changed.json()["etag"]}).status_code == 304


def test_wait_ends_unchanged_with_304(gateway):
    job = gateway.submit(**SLEEP)
    running = gateway.wait(job["id"], {"running"})
    answer = gateway.get(f"/v1/jobs/{job['id']}?wait=1", headers={"If-None-Match": running["etag"]})
    assert answer.status_code == 304
    gateway.post(f"/v1/jobs/{job['id']}/cancel")
    gateway.wait(job["id"], {"cancelled"})


def test_many_waiters_are_woken_by_one_change(gateway):
    job = gateway.submit(**SLEEP)
    gateway.wait(job["id"], {"running"})
    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        waits = [
            pool.submit(gateway.request, "GET", f"/v1/jobs/{job['id']}?wait=30", timeout=40) for _ in range(30)
        ]
        time.sleep(0.5)
        gateway.post(f"/v1/jobs/{job['id']}/cancel")
        states = {wait.result().json()["state"] for wait in waits}
    assert states <= {"cancelling", "cancelled"}
    gateway.wait(job["id"], {"cancelled"})


def test_replicas_are_shown_with_their_ends(gateway):
    job = gateway.submit(
        replicas=3, script="import os; print(os.environ['RANK'], os.environ['WORLD_SIZE'], os.environ['MASTER_ADDR'])"
    )
    gateway.wait(job["id"])
    replicas = gateway.get(f"/v1/jobs/{job['id']}/replicas").json()["items"]
    assert [(r["name"], r["role"], r["index"]) for r in replicas] == [
        ("master-0", "master", 0),
        ("worker-0", "worker", 0),
        ("worker-1", "worker", 1),
    ]
    assert replicas[0]["state"] == "succeeded" and replicas[0]["exit_code"] == 0
    assert gateway.logs(job["id"]).split() == [b"0", b"3", f"{job['object_name']}-master-0".encode()]


def test_a_missing_claim_is_waited_for(gateway):
    job = gateway.submit(dataset="not-there-yet", script="import os; print(os.listdir('/data'))")
    waiting = gateway.wait(job["id"], {"starting"})
    deadline = time.monotonic() + 60
    while waiting["cause"] != "volume_not_found" and time.monotonic() < deadline:
        time.sleep(0.05)
        waiting = gateway.get(f"/v1/jobs/{job['id']}").json()
    assert waiting["cause"] == "volume_not_found" and "not-there-yet" in waiting["message"]
    assert gateway.post("/v1/volumes", {"name": "not-there-yet", "size": "1Gi"}).status_code == 201
    assert gateway.wait(job["id"])["state"] == "succeeded"


def test_a_fault_keeps_a_job_from_starting_for_a_while_and_a_missing_volume_without_end(tmp_path):
    roots = f"here/*={tmp_path / 'later'},*=/"
    with Gateway("--image-roots", roots, "--start-deadline-seconds", "3", "--grace-seconds", "1") as gateway:
        waits = gateway.submit(command=["true"], dataset="not-yet")
        stuck = gateway.submit(command=["true"], image="here/never:1")
        done = gateway.wait(stuck["id"])
        assert (done["state"], done["cause"]) == ("failed", "deadline_exceeded")
        assert done["message"].startswith("not started within 3 s: image_pull_failed: image here/never:1")
        steps = gateway.get(f"/v1/jobs/{stuck['id']}/transitions").json()["items"]
        assert [(step["to"], step["cause"]) for step in steps][-3:] == [
            ("starting", "image_pull_failed"), ("cancelling", "deadline_exceeded"), ("failed", "deadline_exceeded"),
        ]  # fmt: skip
        seen = gateway.get(f"/v1/jobs/{waits['id']}").json()
        assert (seen["state"], seen["cause"]) == ("starting", "volume_not_found")
        gateway.post("/v1/volumes", {"name": "not-yet", "size": "1Mi"})
        assert gateway.wait(waits["id"])["state"] == "succeeded"
