"""Events through the API: each change once, in order, from any place, and streams that end when they should."""

from __future__ import annotations

import json
import select
import sqlite3
import threading
import time

import pytest
import requests
from events import Stream, open_raw, read_all
from gateway import Gateway


def ended(gateway, **spec):
    return gateway.wait(gateway.submit(**{"script": "print(1)", **spec})["id"])["id"]


def types(events):
    return [event["type"] for event in events]


def parked(gateway, **spec):
    """A job that stays as it is."""
    return gateway.submit(script="print(1)", suspended=True, **spec)["id"]


@pytest.fixture(scope="module")
def finished(gateway):
    return ended(gateway, name="mnist", labels={"team": "vision"}, script="import sys; sys.exit(3)", restart="never")


@pytest.mark.parametrize("frames", [False, True])
def test_a_jobs_events_say_all_of_it_and_end_with_it(gateway, finished, frames):
    with Stream(gateway, f"/v1/jobs/{finished}/events", frames=frames) as stream:
        events = list(stream)
    assert [word["type"] for word in stream.words] == ["end"] and stream.words[0]["id"] == events[-1]["id"]
    assert [event for event in types(events) if event.startswith("job.")] == ["job.queued", "job.starting", "job.running", "job.failed"]
    previous = None
    for number, event in enumerate([e for e in events if e["type"].startswith("job.")], 1):
        data = event["data"]
        assert (data["job_id"], data["name"], data["labels"]) == (finished, "mnist", {"team": "vision"})
        assert event["type"] == f"job.{data['state']}" and data["previous_state"] == previous
        assert event["tenant"] == "default" and data["sequence"] == number
        previous = data["state"]
    assert (data["cause"], data["exit_code"], data["failed_replica"]) == ("container_error", 3, "master-0")
    assert gateway.get(data["links"]["job"]).json()["state"] == "failed"
    assert gateway.get(data["links"]["logs"]).status_code == 200


def test_checkpoints_and_artefacts_are_told_before_the_end(gateway):
    script = "import os\nfor name in ('/checkpoints/a.pt', '/output/model.pth'):\n    open(name, 'w').write('x' * 7)"
    job = ended(gateway, script=script)
    events = read_all(gateway, f"/v1/jobs/{job}/events")
    assert types(events)[-3:] == ["checkpoint.created", "artifact.ready", "job.succeeded"]
    checkpoint, artifacts = (event["data"] for event in events[-3:-1])
    listed = gateway.get(checkpoint["links"]["checkpoints"]).json()["items"][0]
    assert {name: checkpoint[name] for name in ("path", "size", "modified_at")} == {
        name: listed[name] for name in ("path", "size", "modified_at")
    }
    assert (artifacts["count"], artifacts["bytes"], artifacts["partial"]) == (2, 14, False)
    assert len(gateway.get(artifacts["links"]["artifacts"]).json()["items"]) == 2


def test_transitions_and_events_tell_the_same(gateway, finished):
    steps = gateway.get(f"/v1/jobs/{finished}/transitions").json()["items"]
    events = [e for e in read_all(gateway, f"/v1/jobs/{finished}/events") if e["type"].startswith("job.")]
    told = [(e["data"]["sequence"], e["data"]["state"], e["data"]["cause"], e["timestamp"]) for e in events]
    assert told == [(s["sequence"], s["to"], s["cause"], s["at"]) for s in steps]


def test_a_client_that_saw_a_finished_job_to_its_end_is_told_to_stop(gateway, finished):
    events = read_all(gateway, f"/v1/jobs/{finished}/events")
    for last, status in [(events[-1], 204), (events[-2], 200)]:
        answer = gateway.get(f"/v1/jobs/{finished}/events", headers={"Last-Event-ID": last["id"]})
        assert answer.status_code == status


def test_the_sequence_has_no_holes_and_is_resumed_at_every_place(gateway, finished):
    events = read_all(gateway)
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    for place in range(len(events)):
        rest = read_all(gateway, after=events[place]["id"])
        assert rest == events[place + 1 :]
    assert read_all(gateway, frames=True, last_id=events[1]["id"], after=events[3]["id"]) == events[2:]
    assert read_all(gateway, after="0") == events


def test_a_follower_hears_what_comes_and_nothing_before(gateway, finished):
    with Stream(gateway, frames=True) as stream:
        assert stream.last_id == read_all(gateway)[-1]["id"]
        job = parked(gateway, name="later")
        assert gateway.patch(f"/v1/jobs/{job}", {"labels": {"a": "b"}}).status_code == 200
        gateway.post(f"/v1/jobs/{job}/cancel")
        gateway.delete(f"/v1/jobs/{job}")
        events = stream.take(4)
    assert types(events) == ["job.suspended", "job.updated", "job.cancelled", "job.deleted"]
    assert {event["data"]["job_id"] for event in events} == {job}
    assert [event["data"]["labels"] for event in events] == [{}, {"a": "b"}, {"a": "b"}, {"a": "b"}]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({"type": "job.deleted"}, ["job.deleted"]),
        ({"type": "job.deleted,job.updated"}, ["job.updated", "job.deleted"]),
        ({"type": ["job.deleted", "job.suspended"]}, ["job.suspended", "job.deleted"]),
        ({"label": "side=left"}, ["job.updated", "job.cancelled", "job.deleted"]),
        ({"label": ["side=left", "team=x"]}, []),
        ({"job": True}, ["job.suspended", "job.updated", "job.cancelled", "job.deleted"]),
        ({"job": True, "type": "job.updated"}, ["job.updated"]),
    ],
)
def test_filters_hold_for_what_is_replayed_and_for_what_comes(gateway, query, wanted):
    place = read_all(gateway)[-1]["id"]
    other = parked(gateway)
    job = parked(gateway, name="filtered")
    query = {**query, **({"job": job} if "job" in query else {})}
    with Stream(gateway, after=place, **query) as stream:
        gateway.patch(f"/v1/jobs/{other}", {"labels": {"side": "right"}})
        gateway.patch(f"/v1/jobs/{job}", {"labels": {"side": "left"}})
        gateway.post(f"/v1/jobs/{job}/cancel")
        gateway.delete(f"/v1/jobs/{job}")
        live = stream.take(len(wanted), job)
    assert types(live) == wanted
    replayed = read_all(gateway, after=place, **query)
    assert [e["type"] for e in replayed if e["data"]["job_id"] == job] == wanted
    gateway.delete(f"/v1/jobs/{other}?force=true")


@pytest.mark.parametrize(
    ("query", "parameter"),
    [("after=7", "after"), ("after=1-0123456789abcdef", None), ("type=job.nothing", "type"), ("label=x", "label"), ("job=x", "job"), ("follow=maybe", "follow")],
)
def test_bad_values_are_refused_by_name(gateway, query, parameter):
    answer = gateway.get(f"/v1/events?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter")
    if parameter:
        assert answer.json()["errors"][0]["parameter"] == parameter


def test_another_tenants_events_and_ids_are_none(gateway, finished):
    gateway.tenant("apart")
    token = gateway.post("/v1/tokens", {"name": "reader", "role": "viewer"}, headers={"Trainyard-Tenant": "apart"}).json()["token"]
    assert gateway.get(f"/v1/jobs/{finished}/events", token=token).status_code == 404
    assert read_all(gateway, token=token) == []
    mine = read_all(gateway)[0]["id"]
    assert gateway.get(f"/v1/events?after={mine}", token=token).status_code == 400
    with Stream(gateway, token=token) as theirs:
        parked(gateway)
        gateway.request("POST", "/v1/jobs", json={"image": "x", "command": ["true"], "suspended": True}, headers={"Trainyard-Tenant": "apart"})
        assert [event["tenant"] for event in theirs.take(1)] == ["apart"]


def test_a_token_is_not_told_what_it_may_not_read(gateway):
    token = gateway.post("/v1/tokens", {"name": "narrow", "role": "viewer", "scopes": ["jobs:read"]}).json()["token"]
    gateway.post("/v1/volumes", {"name": "hidden", "size": "1Gi"})
    assert "volume.created" in types(read_all(gateway))
    assert "volume.created" not in types(read_all(gateway, token=token))


def test_other_media_types_are_not_acceptable(gateway):
    assert gateway.get("/v1/events", headers={"Accept": "text/html"}).status_code == 406


def test_revoking_a_token_ends_its_streams_at_once(gateway):
    made = gateway.post("/v1/tokens", {"name": "gone", "role": "viewer"}).json()
    with Stream(gateway, token=made["token"]) as stream:
        revoked = threading.Timer(0.2, lambda: gateway.delete(f"/v1/tokens/{made['id']}"))
        revoked.start()
        assert list(stream) == []
        assert stream.cut
        revoked.join()


def test_a_token_and_a_tenant_have_so_many_streams(own_gateway):
    gateway = own_gateway
    job = parked(gateway)
    streams = [Stream(gateway) for _ in range(10)] + [Stream(gateway, f"/v1/jobs/{job}/events") for _ in range(10)]
    assert {stream.answer.status_code for stream in streams} == {200}
    refused = gateway.get("/v1/events")
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_streams")
    assert gateway.get(f"/v1/jobs/{job}/logs?follow=true").status_code == 429
    read_all(gateway)  # what ends by itself is not counted
    streams[0].answer.close()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with requests.get(gateway.url("/v1/events"), headers={"Authorization": f"Bearer {gateway.token}"}, stream=True, timeout=30) as again:
            if again.status_code == 200:
                return
        time.sleep(0.1)
    raise AssertionError("a stream whose client left is still counted")


def test_a_stopping_gateway_says_where_to_go_on(own_gateway):
    gateway = own_gateway
    with Stream(gateway, frames=True) as stream, Stream(gateway, f"/v1/jobs/{parked(gateway)}/events") as of_job:
        first = stream.take(1)
        assert types(of_job.take(1)) == ["job.suspended"]
        assert gateway.stop() == 0
        assert list(stream) == [] and list(of_job) == []
    assert [word["type"] for word in stream.words + of_job.words] == ["reconnect", "reconnect"]
    assert stream.words[0]["id"] == first[0]["id"]
    gateway.start()
    job = parked(gateway)
    with Stream(gateway, last_id=stream.last_id) as again:
        assert [event["data"]["job_id"] for event in again.take(1)] == [job]


def test_events_out_of_keeping_are_410_and_told(own_gateway):
    gateway = own_gateway
    for _ in range(4):
        parked(gateway)
    events = read_all(gateway)
    gateway.stop()
    with sqlite3.connect(gateway.data / "trainyard.db") as database:
        database.execute("UPDATE events SET at = at - 76 * 3600 * 1000000 WHERE sequence <= 3")
    gateway.start()
    deadline = time.monotonic() + 60
    while gateway.get(f"/v1/events?follow=false&after={events[0]['id']}").status_code == 200:
        assert time.monotonic() < deadline, "old events are kept"
        time.sleep(0.1)
    answer = gateway.get(f"/v1/events?after={events[0]['id']}")
    assert (answer.status_code, answer.json()["code"]) == (410, "event_expired")
    assert read_all(gateway, after=events[2]["id"]) == events[3:]
    assert read_all(gateway) == events[3:] and read_all(gateway, after="0") == events[3:]


def fill(gateway, jobs):
    """So many jobs whose events are large: 32 labels each."""
    labels = {f"{'k' * 60}{i:03}": "v" * 63 for i in range(32)}
    job = {"image": "x", "command": ["true"], "suspended": True, "labels": labels}
    for start in range(0, jobs, 250):
        count = min(250, jobs - start)
        answer = gateway.post("/v1/jobs:batch", {"items": [{**job, "name": f"job-{start + i}"} for i in range(count)]})
        assert answer.status_code == 200 and {item["status"] for item in answer.json()["items"]} == {201}


def bodies(data):
    """The lines of a chunked NDJSON answer, as far as it goes."""
    parts, at = [], data.index(b"\r\n\r\n") + 4
    while at < len(data):
        end = data.index(b"\r\n", at)
        size = int(data[at:end], 16)
        parts.append(data[end + 2 : end + 2 + size])
        at = end + 4 + size
    return [json.loads(line) for line in b"".join(parts).split(b"\n") if line]


def read_raw(connection):
    """Until the answer's end."""
    data = b""
    while chunk := connection.recv(1 << 20):
        data += chunk
        if data.endswith(b"\r\n0\r\n\r\n"):
            break
    return bodies(data)


def test_a_client_that_takes_nothing_is_let_go_with_a_place_to_resume(own_gateway):
    gateway = own_gateway
    with open_raw(gateway, "/v1/events", receive_buffer=4096) as stuck, Stream(gateway) as other:
        assert select.select([stuck], [], [], 30)[0]  # its head is there
        fill(gateway, 2500)
        assert len(other.take(2500)) == 2500  # nobody waits for the stuck one
        time.sleep(11)
        stuck.settimeout(60)
        seen = read_raw(stuck)
    assert seen[-1]["type"] == "overflow"
    assert 0 < len(seen) - 1 < 2500
    rest = read_all(gateway, after=seen[-1]["id"])
    sequences = [event["sequence"] for event in seen[:-1] + rest]
    assert sequences == list(range(1, 2501))
    gateway.kill()  # the jobs are suspended: nothing runs that would have to be ended one by one


def test_a_slow_client_is_served_at_its_own_pace(own_gateway):
    gateway = own_gateway
    with open_raw(gateway, "/v1/events", receive_buffer=4096) as slow:
        assert select.select([slow], [], [], 30)[0]
        fill(gateway, 1000)
        slow.settimeout(60)
        data = b""
        while not data.endswith(b"}\n\r\n") or b'"name":"job-999"' not in data[-8192:]:
            data += slow.recv(65536)
    assert [event["sequence"] for event in bodies(data)] == list(range(1, 1001))
    gateway.kill()


def resident(gateway):
    with open(f"/proc/{gateway.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def test_a_thousand_idle_streams_each_hear_the_one_event():
    flags = ("--streams-per-token", "2000", "--streams-per-tenant", "2000", "--max-connections-per-address", "2000")
    with Gateway(*flags) as gateway:
        job = parked(gateway)
        before = resident(gateway)
        streams = [open_raw(gateway, "/v1/events" if i % 2 else f"/v1/jobs/{job}/events") for i in range(1000)]
        for stream in streams:
            stream.settimeout(60)
            data = b""
            while b"\r\n\r\n" not in data:
                data += stream.recv(4096)
        print(f"{(resident(gateway) - before)} KiB more for 1000 idle streams")
        assert gateway.patch(f"/v1/jobs/{job}", {"labels": {"heard": "yes"}}).status_code == 200
        for stream in streams:
            data = b""
            while b'"job.updated"' not in data:
                data += stream.recv(4096)
            assert data.count(b'"job.updated"') == 1
            stream.close()
