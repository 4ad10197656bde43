"""Logs through the API: every byte, from any offset, followed to the last one."""

from __future__ import annotations

import json
import os
import threading
import time

import pytest
import requests


def finished(gateway, script, **spec):
    return gateway.wait(gateway.submit(script=script, **spec)["id"])["id"]


@pytest.fixture(scope="module")
def three_lines(gateway):
    return finished(gateway, "import sys; sys.stdout.write('one\\ntwo\\nthree')")


@pytest.mark.parametrize(
    ("tail", "text"),
    [(0, b""), (1, b"three"), (2, b"two\nthree"), (3, b"one\ntwo\nthree"), (5, b"one\ntwo\nthree"), (999999999, b"one\ntwo\nthree")],
)
def test_tail_counts_lines_from_the_end(gateway, three_lines, tail, text):
    assert gateway.logs(three_lines, tail=tail) == text
    assert gateway.logs(three_lines, tail=tail, follow="true") == text


@pytest.mark.parametrize("query", ["tail=-1", "tail=abc", "tail=1.5", "tail=99999999999999999999", "offset=-1", "attempt=0", "follow=maybe"])
def test_bad_values_are_refused_by_name(gateway, three_lines, query):
    answer = gateway.get(f"/v1/jobs/{three_lines}/logs?{query}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["parameter"] == query.split("=")[0]


def test_offsets_are_bytes_and_told(gateway, three_lines):
    answer = gateway.get(f"/v1/jobs/{three_lines}/logs?offset=4")
    assert answer.content == b"two\nthree"
    assert (answer.headers["Log-Offset"], answer.headers["Log-Next-Offset"]) == ("4", "13")
    beyond = gateway.get(f"/v1/jobs/{three_lines}/logs?offset=14")
    assert (beyond.status_code, beyond.json()["code"]) == (416, "offset_out_of_range")


def test_unknown_replicas_and_attempts_are_404(gateway, three_lines):
    assert gateway.get(f"/v1/jobs/{three_lines}/logs?replica=worker-0").status_code == 404
    assert gateway.get(f"/v1/jobs/{three_lines}/logs?attempt=2").status_code == 404


def test_any_bytes_come_back_as_they_were(gateway):
    job = finished(gateway, r"import sys; sys.stdout.buffer.write(b'ok\x80\xff\x00after\n')")
    assert gateway.logs(job) == b"ok\x80\xff\x00after\n"
    events = read_events(gateway, job)
    assert events[0]["line"] == "ok\ufffd\ufffd\x00after"


def test_a_progress_bar_neither_hides_nor_floods(gateway):
    script = "import sys\nprint('start')\nfor i in range(2000): sys.stdout.write(f'\\r{i}%')\nprint('\\nend')"
    job = finished(gateway, script)
    raw = gateway.logs(job)
    assert raw.startswith(b"start\n\r0%\r1%") and raw.endswith(b"\r1999%\nend\n")
    lines = [event["line"] for event in read_events(gateway, job)]
    assert lines[0] == "start" and lines[-1] == "end"


def read_events(gateway, job, last_id=None, stop_after=None, **params):
    """The data of each event until `end` (or so many), checking the frame around it."""
    headers = {
        "Authorization": f"Bearer {gateway.token}",
        "Accept": "text/event-stream",
        **({"Last-Event-ID": str(last_id)} if last_id is not None else {}),
    }
    url = gateway.url(f"/v1/jobs/{job}/logs")
    events, rest = [], b""
    with requests.get(url, headers=headers, params={"follow": "true", **params}, stream=True, timeout=60) as answer:
        assert answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.headers["Cache-Control"] == "no-store"
        for chunk in answer.iter_content(None):
            *frames, rest = (rest + chunk).split(b"\n\n")
            for frame in frames:
                fields = dict(line.split(": ", 1) for line in frame.decode().split("\n") if line[0] != ":")
                if fields.get("event") == "end":
                    return events
                if "data" in fields:
                    events.append({**json.loads(fields["data"]), "id": int(fields["id"])})
                if stop_after and len(events) == stop_after:
                    return events
    raise AssertionError("the stream ended without its end event")


def test_a_broken_event_stream_resumes_with_no_gap_and_no_repeat(gateway):
    job = gateway.submit(script="import time\nfor i in range(1000):\n    print(i)\n    time.sleep(0.001)")["id"]
    first = read_events(gateway, job, stop_after=500)
    rest = read_events(gateway, job, last_id=first[-1]["id"])
    assert [event["line"] for event in first + rest] == [str(i) for i in range(1000)]


def test_a_reader_that_saw_everything_is_told_to_stop(gateway, three_lines):
    answer = gateway.get(
        f"/v1/jobs/{three_lines}/logs?follow=true", headers={"Accept": "text/event-stream", "Last-Event-ID": "13"}
    )
    assert answer.status_code == 204


def test_a_follower_waits_for_a_job_that_has_not_started(gateway):
    job = gateway.submit(script="print('now')", suspended=True)["id"]
    seen = []
    reader = threading.Thread(target=lambda: seen.append(gateway.logs(job, follow="true")))
    reader.start()
    time.sleep(0.5)
    assert not seen and gateway.logs(job) == b""
    gateway.post(f"/v1/jobs/{job}/resume")
    reader.join(60)
    assert seen == [b"now\n"]


def test_a_follower_of_a_job_that_never_runs_ends_with_it(gateway):
    job = gateway.submit(script="print('never')", suspended=True)["id"]
    seen = []
    reader = threading.Thread(target=lambda: seen.append(gateway.logs(job, follow="true")))
    reader.start()
    time.sleep(0.3)
    gateway.post(f"/v1/jobs/{job}/cancel")
    reader.join(60)
    assert seen == [b""]


def test_the_last_line_is_there_before_the_end(gateway):
    script = "import sys\nfor i in range(100000): print(i)"
    job = gateway.submit(script=script)["id"]
    text = gateway.logs(job, follow="true")
    assert text.splitlines()[-1] == b"99999" and text.count(b"\n") == 100000
    gateway.wait(job)
    assert gateway.logs(job) == text


def test_words_said_on_the_way_out_are_kept(gateway):
    script = """
import signal, sys, time
def bye(*_):
    print('bye', flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, bye)
print('ready', flush=True)
while True:
    time.sleep(0.01)
"""
    job = gateway.submit(script=script)["id"]
    deadline = time.monotonic() + 60
    while b"ready\n" not in gateway.logs(job):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    gateway.post(f"/v1/jobs/{job}/cancel")
    assert gateway.logs(job, follow="true") == b"ready\nbye\n"
    assert gateway.wait(job)["state"] == "cancelled"


def test_attempts_follow_one_another_in_one_log(gateway):
    script = """
import os
path = os.path.join(os.environ['TRAINYARD_OUTPUT_DIR'], 'tries')
tries = len(open(path).read()) if os.path.exists(path) else 0
open(path, 'a').write('x')
print('try', tries, flush=True)
raise SystemExit(0 if tries == 2 else 1)
"""
    job = gateway.wait(gateway.submit(script=script, max_retries=3)["id"])
    assert job["state"] == "succeeded" and job["restarts"] == 2
    assert gateway.logs(job["id"]) == b"try 0\ntry 1\ntry 2\n"
    assert gateway.logs(job["id"], attempt=2) == b"try 1\n"


def test_a_slow_reader_delays_nobody(gateway):
    job = gateway.submit(script="import sys\nline = 'x' * 999\nfor i in range(20000): print(line)")["id"]
    slow = requests.get(
        gateway.url(f"/v1/jobs/{job}/logs?follow=true"),
        headers={"Authorization": f"Bearer {gateway.token}"},
        stream=True,
        timeout=60,
    )
    assert len(gateway.logs(job, follow="true")) == 20_000_000
    assert gateway.wait(job)["state"] == "succeeded"
    assert sum(len(chunk) for chunk in slow.iter_content(65536)) == 20_000_000


def open_logs(gateway):
    """How many descriptors of logs the gateway holds."""
    count = 0
    folder = f"/proc/{gateway.process.pid}/fd"
    for name in os.listdir(folder):
        try:
            count += os.readlink(f"{folder}/{name}").endswith((".log", ".idx"))
        except FileNotFoundError:  # closed meanwhile
            pass
    return count


def test_followers_that_leave_take_their_descriptors_with_them(own_gateway):
    """The job lives on, and says nothing that would show that nobody listens any more."""
    job = own_gateway.submit(script="import time\nprint('x', flush=True)\ntime.sleep(300)")["id"]
    own_gateway.wait(job, {"running"})
    before = open_logs(own_gateway)
    followers = []
    for accept in ("text/plain", "text/event-stream") * 20:
        headers = {"Authorization": f"Bearer {own_gateway.token}", "Accept": accept}
        url = own_gateway.url(f"/v1/jobs/{job}/logs?follow=true")
        followers.append(requests.get(url, headers=headers, stream=True, timeout=60))
    assert open_logs(own_gateway) >= before + len(followers)
    for follower in followers:
        follower.close()
    deadline = time.monotonic() + 60
    while open_logs(own_gateway) > before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert open_logs(own_gateway) == before


def test_a_log_has_a_limit_and_its_job_goes_on():
    from gateway import Gateway

    with Gateway("--log-limit-bytes", "100000") as small:
        job = small.submit(script="for i in range(100000): print(i)\nopen('/output/done', 'w').close()")
        assert small.wait(job["id"])["state"] == "succeeded"
        text = small.logs(job["id"])
        assert len(text) == 100000 and text.startswith(b"0\n1\n2\n")
        assert small.get(f"/v1/jobs/{job['id']}/artifacts/done").status_code == 200
