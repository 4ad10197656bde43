"""Followers of the events are cut off and the daemon is killed at random moments: no gap and no repeat for who resumes by id.

How many kills: TRAINYARD_KILLS (30; 300 by hand); how many cuts of each follower: TRAINYARD_CUTS (60; 1000 by hand). The
seed is printed and can be given as TRAINYARD_SEED.
"""

from __future__ import annotations

import os
import random
import threading
import time

import pytest
import requests
from events import Stream, read_all
from gateway import BIN, Gateway

KILLS = int(os.environ.get("TRAINYARD_KILLS", "30"))
CUTS = int(os.environ.get("TRAINYARD_CUTS", "60"))
FOLLOWERS = 4
SILENCE = 60.0  # how long a follower may hear nothing although there is something to hear


class Writer(threading.Thread):
    """Makes events until told to stop: new jobs that stay suspended, and changes of old ones."""

    def __init__(self, gateway: Gateway, stop: threading.Event, chance: random.Random) -> None:
        super().__init__()
        self.gateway, self.stopping, self.chance = gateway, stop, chance
        self.jobs: list[str] = []

    def run(self) -> None:
        headers = {"Authorization": f"Bearer {self.gateway.token}"}
        while not self.stopping.is_set():
            time.sleep(0.002)
            try:
                if not self.jobs or self.chance.random() < 0.1:
                    body = {"image": "x", "command": ["true"], "suspended": True}
                    answer = requests.post(self.gateway.url("/v1/jobs"), json=body, headers=headers, timeout=10)
                    if answer.status_code == 201:
                        self.jobs.append(answer.json()["id"])
                else:
                    path = f"/v1/jobs/{self.chance.choice(self.jobs)}"
                    body = {"labels": {"turn": str(self.chance.randrange(10**6))}}
                    requests.patch(self.gateway.url(path), json=body, headers=headers, timeout=10)
            except requests.RequestException:
                time.sleep(0.02)


class Follower(threading.Thread):
    """Reads from the first event on; breaks off at random, and after each break resumes behind the last event it has."""

    def __init__(self, gateway: Gateway, frames: bool, chance: random.Random) -> None:
        super().__init__()
        self.gateway, self.frames, self.chance = gateway, frames, chance
        self.last_id = "0"
        self.events: list[dict] = []
        self.until: int | None = None  # the last sequence there will be
        self.cuts = 0
        self.heard = time.monotonic()
        self.error = ""

    def done(self) -> bool:
        return self.until is not None and bool(self.events) and self.events[-1]["sequence"] >= self.until

    def run(self) -> None:
        while not self.done() and not self.error:
            if time.monotonic() - self.heard > SILENCE:
                self.error = "nothing was heard for long"
            try:
                self.read_a_while()
            except requests.RequestException:
                time.sleep(0.02)  # the daemon is away

    def read_a_while(self) -> None:
        stream = Stream(self.gateway, frames=self.frames, last_id=self.last_id if self.frames else None, **({} if self.frames else {"after": self.last_id}))
        with stream.answer:
            if stream.answer.status_code != 200:
                if stream.answer.status_code not in {429, 503}:
                    self.error = stream.answer.text
                time.sleep(0.02)
                return
            self.cuts += 1
            for _ in range(self.chance.randrange(1, 120) if self.cuts < CUTS else 10**9):
                event = next(iter(stream), None)
                if event is None:
                    return
                self.events.append(event)
                self.last_id = event["id"]
                self.heard = time.monotonic()
                if self.done():
                    return


def test_cuts_and_kills_lose_and_repeat_no_event():
    seed = int(os.environ.get("TRAINYARD_SEED", random.randrange(2**32)))
    print(f"TRAINYARD_SEED={seed}")
    chance = random.Random(seed)
    with Gateway("--streams-per-token", "1000", "--streams-per-tenant", "1000") as gateway:
        stop = threading.Event()
        writer = Writer(gateway, stop, random.Random(seed + 1))
        followers = [Follower(gateway, bool(i % 2), random.Random(seed + 2 + i)) for i in range(FOLLOWERS)]
        for thread in [writer, *followers]:
            thread.start()
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.05, 0.5))
            gateway.kill()
            gateway.start()
        deadline = time.monotonic() + 300
        while min(follower.cuts for follower in followers) < CUTS and time.monotonic() < deadline:
            assert not any(follower.error for follower in followers), [follower.error for follower in followers]
            time.sleep(0.05)
        stop.set()
        writer.join()
        whole = read_all(gateway, after="0")
        for follower in followers:
            follower.until = whole[-1]["sequence"]
            follower.heard = time.monotonic()
        assert gateway.post("/v1/volumes", {"name": "last", "size": "1Gi"}).status_code == 201  # so that who waits wakes
        for follower in followers:
            follower.join(SILENCE * 2)
        print(f"{len(whole)} events, {[follower.cuts for follower in followers]} cuts, {KILLS} kills")
        assert [event["sequence"] for event in whole] == list(range(1, len(whole) + 1))
        for follower in followers:
            assert not follower.error and not follower.is_alive()
            assert follower.events[: len(whole)] == whole
        gateway.kill()  # its jobs are suspended: nothing runs that would have to be ended one by one


@pytest.mark.skipif(b"TRAINYARD_FAILPOINT" not in (BIN / "trainyardd").read_bytes(), reason="built without TRAINYARD_FAILPOINTS")
@pytest.mark.parametrize("place", ["store.after_apply", "store.before_commit", "store.after_commit", "store.between_done"])
def test_a_crash_around_a_commit_shows_no_event_that_is_not_durable(place):
    """What a follower was sent is in the log of the next start, at its place; what is in the log comes once."""
    with Gateway() as gateway:
        gateway.submit(script="1", suspended=True)
        before = read_all(gateway)
        gateway.stop()
        gateway.env["TRAINYARD_FAILPOINT"] = place
        gateway.start()
        seen: list[dict] = []
        with Stream(gateway, after=before[-1]["id"]) as stream:
            reader = threading.Thread(target=lambda: seen.extend(stream))
            reader.start()
            try:
                gateway.submit(script="1", suspended=True)
            except requests.RequestException:
                pass
            gateway.process.wait(30)
            reader.join(30)
        gateway.env.pop("TRAINYARD_FAILPOINT")
        gateway.start()
        after = read_all(gateway)
        assert after[: len(before)] == before
        assert seen == after[len(before) : len(before) + len(seen)]
