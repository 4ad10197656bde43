"""POST /v1/jobs:wait: parked until all or any have ended."""

from __future__ import annotations

import threading
import time

import pytest

UNKNOWN = "job_01j9z3k4m5n6p7q8r9s0t1v2w3"


def wait(gateway, ids, mode="all", seconds=60):
    answer = gateway.post("/v1/jobs:wait", {"ids": ids, "mode": mode, "timeout_seconds": seconds}, timeout=90)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert [item["id"] for item in body["items"]] == ids
    return body["done"], [item["state"] for item in body["items"]]


def parked(gateway, count=1):
    return [gateway.submit(script="print(1)", suspended=True)["id"] for _ in range(count)]


def end_later(gateway, jobs, pause=0.1):
    def end():
        for job in jobs:
            time.sleep(pause)
            gateway.request("POST", f"/v1/jobs/{job}/cancel")

    thread = threading.Thread(target=end)
    thread.start()
    return thread


def test_what_has_ended_is_answered_at_once(gateway):
    ended = gateway.wait(gateway.submit(script="import sys; sys.exit(4)", restart="never")["id"])["id"]
    [waiting] = parked(gateway)
    assert wait(gateway, [ended]) == (True, ["failed"])
    assert wait(gateway, [waiting, ended], "any") == (True, ["suspended", "failed"])
    item = gateway.post("/v1/jobs:wait", {"ids": [ended]}).json()["items"][0]
    assert (item["cause"], item["exit_code"]) == ("container_error", 4)


def test_all_are_waited_for_in_whatever_order_they_end(gateway):
    jobs = parked(gateway, 4)
    ending = end_later(gateway, [jobs[2], jobs[0], jobs[3], jobs[1]])
    assert wait(gateway, jobs) == (True, ["cancelled"] * 4)
    ending.join()


def test_any_one_is_enough(gateway):
    jobs = parked(gateway, 5)
    ending = end_later(gateway, jobs[3:4])
    done, states = wait(gateway, jobs, "any")
    assert done and states == ["suspended"] * 3 + ["cancelled", "suspended"]
    ending.join()


def test_the_time_runs_out_with_the_states_as_they_are(gateway):
    jobs = parked(gateway, 2)
    assert wait(gateway, jobs, seconds=0) == (False, ["suspended"] * 2)
    assert wait(gateway, jobs, "any", seconds=1) == (False, ["suspended"] * 2)


def test_changes_that_end_nothing_do_not_end_the_wait(gateway):
    [job] = parked(gateway)

    def change():
        for i in range(20):
            gateway.request("PATCH", f"/v1/jobs/{job}", json={"labels": {"turn": str(i)}})
        gateway.request("POST", f"/v1/jobs/{job}/cancel")

    thread = threading.Thread(target=change)
    thread.start()
    assert wait(gateway, [job]) == (True, ["cancelled"])
    thread.join()


def test_a_job_that_is_removed_has_ended(gateway):
    first, second = parked(gateway, 2)

    def remove():
        time.sleep(0.2)
        gateway.request("DELETE", f"/v1/jobs/{first}?force=true")

    thread = threading.Thread(target=remove)
    thread.start()
    done, states = wait(gateway, [first, second], "any")
    assert done and states[0] in {None, "cancelled"}
    thread.join()


def test_jobs_that_are_none_are_all_named(gateway):
    [job] = parked(gateway)
    gateway.tenant("elsewhere")
    other = gateway.post("/v1/jobs", {"image": "x", "command": ["true"], "suspended": True}, headers={"Trainyard-Tenant": "elsewhere"}).json()["id"]
    answer = gateway.post("/v1/jobs:wait", {"ids": [UNKNOWN, job, other]})
    assert answer.status_code == 404
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/ids/0", "/ids/2"]


@pytest.mark.parametrize("body", [{}, {"ids": []}, {"ids": [UNKNOWN] * 501}, {"ids": ["x"]}, {"ids": [UNKNOWN], "mode": "some"}, {"ids": [UNKNOWN], "timeout_seconds": 61}])
def test_bad_bodies_are_refused(gateway, body):
    assert gateway.post("/v1/jobs:wait", body).status_code == 422


def test_many_wait_for_many(gateway):
    jobs = parked(gateway, 60)
    results = []
    waiters = [threading.Thread(target=lambda mode=mode: results.append(wait(gateway, jobs, mode)[0])) for mode in ["any", "all"] * 8]
    for waiter in waiters:
        waiter.start()
    end_later(gateway, jobs, 0.01).join()
    for waiter in waiters:
        waiter.join(60)
    assert results == [True] * 16


def test_a_stopping_gateway_answers_who_waits(own_gateway):
    gateway = own_gateway
    jobs = parked(gateway, 2)
    seen = []
    waiter = threading.Thread(target=lambda: seen.append(wait(gateway, jobs)))
    waiter.start()
    time.sleep(0.5)
    assert gateway.stop() == 0
    waiter.join(20)
    assert seen == [(False, ["suspended"] * 2)]
    gateway.start()
