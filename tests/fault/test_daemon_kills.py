"""The daemon is killed, stopped and started at random moments: nothing acknowledged is lost, nothing runs twice.

How many kills: TRAINYARD_KILLS (30; 300 by hand). The seed is printed and can be given as TRAINYARD_SEED.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import threading
import time
import uuid

import pytest
import requests
from gateway import BIN, HELD, TERMINAL, Gateway

KILLS = int(os.environ.get("TRAINYARD_KILLS", "30"))
BACKLOG = 400  # jobs that may be under way before the clients pause: how long the end takes must not grow with the kills
IMAGE = "pytorch/pytorch:2.0.0"

# Each run appends one line to a file of its own on a shared volume, so that a second run of one job would be seen.
SCRIPT = """
import os, time
with open('/runs/' + os.environ['TRAINYARD_JOB_ID'], 'a') as out:
    out.write('run\\n')
for i in range(30):
    print('line', i, flush=True)
    time.sleep(0.01)
"""
LOG = b"".join(b"line %d\n" % i for i in range(30))


class Client(threading.Thread):
    """Submits with fresh keys as fast as it may, repeats what got no answer, and keeps a journal."""

    def __init__(self, gateway: Gateway, may: threading.Event, stop: threading.Event) -> None:
        super().__init__()
        self.gateway = gateway
        self.may = may
        self.stop = stop
        self.accepted: dict[str, str] = {}  # key -> job id
        self.unknown: set[str] = set()
        self.errors: list[str] = []

    def run(self) -> None:
        while not self.stop.is_set():
            if not self.may.wait(0.1):
                continue
            key = uuid.uuid4().hex
            self.unknown.add(key)
            while not self.send(key) and not self.stop.is_set():
                time.sleep(0.02)

    def send(self, key: str) -> bool:
        body = {"name": "kill", "image": IMAGE, "script": SCRIPT, "volumes": [{"claim": "runs", "mount_path": "/runs"}]}
        headers = {"Authorization": f"Bearer {self.gateway.token}", "Idempotency-Key": key}
        try:
            answer = requests.post(self.gateway.url("/v1/jobs"), json=body, headers=headers, timeout=60)
        except requests.RequestException:
            return False
        if answer.status_code == 201:
            job = answer.json()["id"]
            if self.accepted.setdefault(key, job) != job:
                self.errors.append(f"{key} made {self.accepted[key]} and {job}")
            self.unknown.discard(key)
            return True
        if answer.status_code not in {409, 429, 503}:
            self.errors.append(f"{answer.status_code}: {answer.text}")
            return True
        return False


def all_jobs(gateway: Gateway) -> dict[str, dict]:
    jobs, cursor = {}, None
    while True:
        page = gateway.get("/v1/jobs", params={"limit": 500, **({"cursor": cursor} if cursor else {})}).json()
        jobs.update({job["id"]: job for job in page["items"]})
        cursor = page["next_cursor"]
        if not cursor:
            return jobs


def settle(gateway: Gateway, patience: float) -> dict[str, dict]:
    """Wait until every job has ended; `patience` is how long none of them may end or start, on however slow a machine."""
    seen, changed = None, time.monotonic()
    while True:
        jobs = all_jobs(gateway)
        if all(job["state"] in TERMINAL for job in jobs.values()):
            return jobs
        now = sum(job["sequence"] for job in jobs.values())
        if now != seen:
            seen, changed = now, time.monotonic()
        live = [job for job in jobs.values() if job["state"] not in TERMINAL]
        assert time.monotonic() < changed + patience, f"{len(live)} of {len(jobs)} jobs stand still: {live[:3]}"
        time.sleep(0.5)


def test_random_kills_lose_and_double_nothing(own_gateway):
    gateway = own_gateway
    seed = int(os.environ.get("TRAINYARD_SEED", random.randrange(2**32)))
    print(f"TRAINYARD_SEED={seed}")
    chance = random.Random(seed)
    assert gateway.post("/v1/volumes", {"name": "runs", "size": "1Gi"}).status_code == 201
    may, stop = threading.Event(), threading.Event()
    may.set()
    clients = [Client(gateway, may, stop) for _ in range(4)]
    for client in clients:
        client.start()
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.01, 0.4))
        gateway.kill()
        gateway.start()
        if len(gateway.live_jobs()) < BACKLOG:
            may.set()
        else:
            may.clear()
    stop.set()
    for client in clients:
        client.join()
    assert [error for client in clients for error in client.errors] == []
    accepted = {job for client in clients for job in client.accepted.values()}
    unknown = sum(len(client.unknown) for client in clients)
    jobs = settle(gateway, 120)
    print(f"{len(jobs)} jobs")
    assert accepted <= jobs.keys(), "an acknowledged job is lost"
    assert len(jobs) <= len(accepted) + unknown, "a job was doubled"
    bad = {job["id"]: (job["state"], job["cause"], job["message"]) for job in jobs.values() if job["state"] != "succeeded"}
    assert bad == {}
    runs = gateway.data / "volumes/default/runs"
    for job in jobs:
        assert (runs / job).read_text() == "run\n", f"{job} ran more than once"
        assert gateway.logs(job) == LOG
        steps = gateway.get(f"/v1/jobs/{job}/transitions?limit=500").json()["items"]
        assert [step["sequence"] for step in steps] == list(range(1, len(steps) + 1))


def test_a_size_that_was_acknowledged_is_reached_over_random_kills(own_gateway):
    gateway = own_gateway
    seed = int(os.environ.get("TRAINYARD_SEED", random.randrange(2**32)))
    print(f"TRAINYARD_SEED={seed}")
    chance = random.Random(seed)
    job = gateway.submit(command=["sh", "-c", "echo begun; exec sleep 600"], elastic={"min": 1, "max": 4})["id"]
    gateway.wait(job, {"running"})
    wanted = 1
    for _ in range(max(KILLS // 2, 5)):
        wanted = chance.randint(1, 4)
        killer = threading.Timer(chance.uniform(0, 0.05), gateway.process.kill)
        killer.start()
        answer = None
        try:
            answer = gateway.post(f"/v1/jobs/{job}/scale", {"replicas": wanted})
        except requests.RequestException:
            pass  # nobody knows: asked again below
        killer.join()
        gateway.kill()
        gateway.start()
        if answer is None:
            answer = gateway.post(f"/v1/jobs/{job}/scale", {"replicas": wanted})
        assert answer.status_code in (200, 202), answer.text
        assert gateway.get(f"/v1/jobs/{job}").json()["replicas"] == wanted
    deadline = time.monotonic() + 60
    names = {f"worker-{i}": "running" for i in range(wanted)}
    seen: dict[str, str] = {}
    while seen != names:
        assert time.monotonic() < deadline, (seen, wanted)
        time.sleep(0.05)
        items = gateway.get(f"/v1/jobs/{job}/replicas").json()["items"]
        seen = {item["name"]: item["state"] for item in items}
    assert gateway.logs(job) == b"begun\n", "worker-0 was never touched"
    assert gateway.get(f"/v1/jobs/{job}").json()["attempt"] == 1


def test_a_running_job_is_adopted_with_its_log_complete(own_gateway):
    gateway = own_gateway
    job = gateway.submit(script=f"import time\nfor i in range(200):\n    print(i, flush=True)\n    time.sleep(0.01)\n{HELD}")
    gateway.wait(job["id"], {"running"})
    for _ in range(3):
        gateway.kill()
        time.sleep(0.2)
        gateway.start()
    gateway.let_go(job)
    done = gateway.wait(job["id"])
    assert (done["state"], done["attempt"], done["restarts"]) == ("succeeded", 1, 0)
    assert gateway.logs(job["id"]) == b"".join(b"%d\n" % i for i in range(200))


def await_end_of_run(gateway: Gateway, job: dict) -> None:
    """Until the supervisor has written the run's end down; the daemon need not be there."""
    facts = gateway.data / "runs" / job["object_name"] / "status.jsonl"
    deadline = time.monotonic() + 60
    while '"terminal":true' not in facts.read_text():
        assert time.monotonic() < deadline, facts.read_text()
        time.sleep(0.02)


def test_a_job_that_ends_while_the_daemon_is_away_keeps_its_exit_code(own_gateway):
    gateway = own_gateway
    job = gateway.submit(script=f"{HELD}print('end'); raise SystemExit(7)", restart="never")
    gateway.wait(job["id"], {"running"})
    gateway.kill()
    gateway.let_go(job)
    await_end_of_run(gateway, job)
    gateway.start()
    done = gateway.wait(job["id"])
    assert (done["state"], done["exit_code"]) == ("failed", 7)
    assert gateway.logs(job["id"]) == b"end\n"


def test_a_second_daemon_on_one_folder_refuses_to_start(own_gateway):
    second = subprocess.run(
        [BIN / "trainyardd", "serve", "--listen", "127.0.0.1:0", "--data", own_gateway.data],
        capture_output=True, text=True, timeout=60, check=False,
    )
    assert second.returncode == 1
    assert "has this data folder open" in second.stderr
    assert own_gateway.get("/readyz").status_code == 200


def test_a_stopped_daemon_goes_on_where_it_was(own_gateway):
    job = own_gateway.submit(script=f"{HELD}print('x')")
    own_gateway.wait(job["id"], {"running"})
    own_gateway.process.send_signal(signal.SIGSTOP)
    own_gateway.let_go(job)
    await_end_of_run(own_gateway, job)
    own_gateway.process.send_signal(signal.SIGCONT)
    assert own_gateway.wait(job["id"])["state"] == "succeeded"


def test_sigterm_ends_in_order_and_jobs_run_on(own_gateway):
    job = own_gateway.submit(script=f"{HELD}print('x')")
    own_gateway.wait(job["id"], {"running"})
    assert own_gateway.stop() == 0
    own_gateway.let_go(job)
    own_gateway.start()
    assert own_gateway.wait(job["id"])["state"] == "succeeded"
    assert own_gateway.logs(job["id"]) == b"x\n"


def test_draining_ends_followers_and_waiters(own_gateway):
    job = own_gateway.submit(command=["sleep", "600"])
    own_gateway.wait(job["id"], {"running"})
    results = {}

    def call(name, path, accept):
        try:
            answer = requests.get(
                own_gateway.url(path), headers={"Authorization": f"Bearer {own_gateway.token}", "Accept": accept}, timeout=60
            )
            results[name] = answer.text
        except requests.RequestException as error:
            results[name] = error

    calls = [
        threading.Thread(target=call, args=("wait", f"/v1/jobs/{job['id']}?wait=60", "application/json")),
        threading.Thread(target=call, args=("events", f"/v1/jobs/{job['id']}/logs?follow=true", "text/event-stream")),
        threading.Thread(target=call, args=("text", f"/v1/jobs/{job['id']}/logs?follow=true", "text/plain")),
    ]
    for thread in calls:
        thread.start()
    time.sleep(0.5)
    assert own_gateway.stop() == 0
    assert "drain_cut_short" not in own_gateway.tail()
    for thread in calls:
        thread.join(60)
    assert job["id"] in results["wait"]
    assert "event: reconnect" in results["events"]
    assert isinstance(results["text"], requests.RequestException), "a broken-off log must not look complete"
    own_gateway.start()
    own_gateway.post(f"/v1/jobs/{job['id']}/cancel")
    own_gateway.wait(job["id"], {"cancelled"})


@pytest.mark.parametrize("part", ["whole", "half", "head"])
def test_clients_that_hang_up_leave_nothing_behind(gateway, part):
    import json
    import socket

    body = json.dumps({"name": f"hangup-{part}", "image": IMAGE, "command": ["true"]}).encode()
    head = (
        f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"Authorization: Bearer {gateway.token}\r\n\r\n"
    ).encode()
    sent = {"whole": head + body, "half": head + body[:20], "head": head}[part]
    for _ in range(30):
        with socket.create_connection(tuple(gateway.address.rsplit(":", 1))) as wire:
            wire.sendall(sent)
    time.sleep(1)
    jobs = gateway.get(f"/v1/jobs?name=hangup-{part}&limit=500").json()["items"]
    assert len(jobs) <= 30 and (part == "whole" or jobs == [])
    for job in jobs:
        assert gateway.wait(job["id"])["state"] == "succeeded"


@pytest.mark.parametrize("what", ["running", "cancelled meanwhile"])
def test_a_run_whose_folder_somebody_removed_is_lost_and_not_running_for_ever(own_gateway, what):
    job = own_gateway.submit(command=["sleep", "600"])
    other = own_gateway.submit(script=f"{HELD}print('end')")
    for each in (job, other):
        own_gateway.wait(each["id"], {"running"})
    own_gateway.kill()
    shutil.rmtree(own_gateway.data / "runs" / job["object_name"])
    own_gateway.let_go(other)
    own_gateway.start()
    if what == "running":
        done = own_gateway.wait(job["id"])
        assert (done["state"], done["cause"]) == ("lost", "object_deleted")
        assert done["message"] == "the folder of the run is gone"
    else:
        own_gateway.post(f"/v1/jobs/{job['id']}/cancel")
        assert own_gateway.wait(job["id"])["state"] in {"lost", "cancelled"}
    assert own_gateway.wait(other["id"])["state"] == "succeeded"
