"""The daemon, or the supervisor of a run, is killed at each named place (base/failpoint.h) in turn.

Around each death one client does the same errands: it submits with keys, cancels, resumes, removes, makes and removes a
volume, and repeats whatever got no answer. Afterwards everything it was told must be so: no job lost or doubled, none
run twice, sequences without gaps, logs complete, nothing left on the disk of what was removed, no process left.
That the place was really come to is proven twice: "failpoint NAME" in the log, and an end by SIGKILL.

Four errands run at a time (TRAINYARD_FAULT_JOBS).
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import tempfile
import time
import uuid

import pytest
import requests
from gateway import BIN, TERMINAL, TOP, Gateway

AT_ONCE = int(os.environ.get("TRAINYARD_FAULT_JOBS", "4"))
FLAGS = ("--restart-backoff-ms", "50", "--grace-seconds", "2")

# Each run appends one line to a file of its own on a shared volume, so that a second run of one job would be seen.
QUICK = 'echo run >> "/runs/$TRAINYARD_JOB_ID"; for i in 1 2 3 4 5; do echo "line $i"; done'
SAVING = (
    f"{QUICK}; for i in 1 2 3 4; do mkdir -p /checkpoints/step-$i; echo a >/checkpoints/step-$i/a.pt; echo b >/checkpoints/step-$i/b.pt;"
    " done"
)
LONG = 'echo run >> "/runs/$TRAINYARD_JOB_ID"; echo begun; exec sleep 600'
LOG = b"".join(b"line %d\n" % i for i in range(1, 6))
# An elastic job that goes on until its file is there; its first worker alone counts as its run.
SIZED = f"""case $HOSTNAME in *-worker-0) {QUICK};; esac
until [ -e "/runs/end-$TRAINYARD_JOB_ID" ]; do sleep 0.05; done"""

# At these the daemon dies; the numbers say at which times it comes there (the others: the first).
DAEMON: dict[str, tuple[int, ...]] = dict.fromkeys(
    """
    submit.before_hand_over submit.before_insert submit.before_key submit.after_key submit.before_answer
    submit.after_answer
    admit.before_write admit.after_write launch.before_render launch.before_apply launch.after_apply
    observe.before_post observe.before_save observe.after_save observe.after_commit
    act.before_save act.after_commit stop.before stop.after clean.before clean.after
    wish.before_note wish.after_note wish.after_cancel
    checkpoints.before_remove checkpoints.set_aside
    removal.before_run removal.before_set_aside removal.after_set_aside removal.before_delete removal.after_delete
    removal.before_claims removal.after_claims removal.after_logs removal.after_wish
    local.after_claims local.after_folder local.after_plan local.before_rename local.after_rename
    scale.before_save scale.after_save scale.after_commit scale.before_call scale.after_call local.before_scale local.after_scale
    local.before_spawn local.after_spawn local.before_remove local.amid_remove local.after_remove
    claim.before_make claim.after_make claim.before_remove claim.after_remove
    store.before_begin store.after_apply store.before_commit store.after_commit store.between_done
    store.before_checkpoint store.after_checkpoint
    """.split(),
    (1,),
) | {
    "store.between_done": (1, 3),
    "store.before_commit": (1, 2, 7),
    "store.after_commit": (1, 5, 12),
    "observe.after_save": (1, 4),
    "store.before_checkpoint": (1, 2),
    "scale.before_save": (1, 2),
    "scale.after_save": (1, 2),
    "scale.after_commit": (1, 2),
    "scale.before_call": (1, 2, 3),
    "scale.after_call": (1, 2, 3),
    "local.before_scale": (1, 2),
    "local.after_scale": (1, 2, 3),
    "tree.after_entry": (1, 2, 3, 4, 5, 6, 7, 8),  # a run's folder goes file by file
}

# These are come to by the very first start in a folder only.
FIRST_START: dict[str, tuple[int, ...]] = dict.fromkeys(
    """
    store.before_key store.after_key store.before_migration store.after_migration
    start.before_token_file start.after_token_file start.after_token
    """.split(),
    (1,),
) | {"store.before_migration": (1, 2), "store.after_migration": (1, 3)}

# Here the supervisor dies, and what becomes of its job. By rule a run whose supervisor was killed is lost: nobody has
# seen how it ended, and to run it again could be to run it twice. Only before it said that it has the run and after its
# last line does its death change nothing.
SUPERVISOR = {
    "supervisor.after_lock": (QUICK, "succeeded"),
    "supervisor.before_first_fact": (QUICK, "lost"),
    "supervisor.before_first": (QUICK, "lost"),
    "supervisor.after_spawn": (LONG, "lost"),
    "supervisor.after_process_fact": (LONG, "lost"),
    "supervisor.after_fact": (LONG, "lost"),
    "supervisor.before_scale": (SIZED, "lost"),
    "supervisor.after_exit": (QUICK, "lost"),
    "supervisor.before_seal": (QUICK, "lost"),
    "supervisor.before_result": (QUICK, "lost"),
    "supervisor.after_result": (QUICK, "succeeded"),
}
NAMES = {*DAEMON, *FIRST_START, *SUPERVISOR}
POINTS = [f"{name}:{hit}" for name, hits in {**DAEMON, **FIRST_START, **dict.fromkeys(SUPERVISOR, (1,))}.items() for hit in hits]

needs_failpoints = pytest.mark.skipif(
    b"TRAINYARD_FAILPOINT" not in (BIN / "trainyardd").read_bytes(), reason="built without TRAINYARD_FAILPOINTS"
)


class Client:
    """One client of a gateway that may die once; each errand is repeated until it has its answer."""

    def __init__(self, gateway: Gateway, point: str) -> None:
        self.gateway = gateway
        self.point = point
        self.name = point.partition(":")[0]
        self.deaths = 0
        self.accepted: dict[str, dict] = {}  # what for -> job
        gateway.env["TRAINYARD_FAILPOINT"] = point

    def start(self) -> None:
        try:
            self.gateway.start()
        except RuntimeError:
            self.revive()

    def revive(self) -> None:
        """It must have been killed by its failpoint; start it without."""
        process = self.gateway.process
        assert process and process.wait(60) == -signal.SIGKILL, f"{process.returncode}: {self.gateway.tail()}"
        assert f"failpoint {self.name}\n" in (self.gateway.data / "daemon.log").read_text(errors="replace")
        self.deaths += 1
        self.disarm()

    def disarm(self) -> None:
        self.gateway.env.pop("TRAINYARD_FAILPOINT")
        self.gateway.session.close()
        self.gateway.session = requests.Session()
        self.gateway.start()

    def call(self, method: str, path: str, *good: int, **more) -> requests.Response:
        while True:
            try:
                answer = self.gateway.request(method, path, **more)
            except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
                self.revive()
                continue
            assert not good or answer.status_code in good, f"{method} {path}: {answer.status_code} {answer.text}"
            return answer

    def submit(self, what: str, script: str, **spec: object) -> str:
        body = {
            "name": what, "image": "pytorch/pytorch:2.0.0", "command": ["sh", "-c", script], "restart": "never",
            "volumes": [{"claim": "runs", "mount_path": "/runs"}], **spec,
        }  # fmt: skip
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        self.accepted[what] = self.call("POST", "/v1/jobs", 201, json=body, headers=headers).json()
        return self.accepted[what]["id"]

    def await_state(self, job: str, states: set[str], seconds: float = 60) -> dict:
        deadline = time.monotonic() + seconds
        while True:
            seen = self.call("GET", f"/v1/jobs/{job}", 200).json()
            if seen["state"] in states:
                return seen
            assert seen["state"] not in TERMINAL and time.monotonic() < deadline, seen
            time.sleep(0.02)

    def scale(self, job: str, size: int) -> None:
        """Give an elastic job another size, and wait until its workers follow."""
        self.call("POST", f"/v1/jobs/{job}/scale", 200, 202, json={"replicas": size})
        deadline = time.monotonic() + 60
        while True:
            items = self.call("GET", f"/v1/jobs/{job}/replicas", 200).json()["items"]
            if {item["name"] for item in items if item["state"] == "running"} == {f"worker-{i}" for i in range(size)}:
                return
            assert time.monotonic() < deadline, items
            time.sleep(0.02)

    def end_sized(self, job: str) -> None:
        (self.gateway.data / f"volumes/default/runs/end-{job}").touch()

    def await_gone(self, job: str) -> None:
        deadline = time.monotonic() + 60
        while self.call("GET", f"/v1/jobs/{job}", 200, 404).status_code != 404:
            assert time.monotonic() < deadline, "the job is not removed"
            time.sleep(0.02)

    def await_death(self) -> None:
        deadline = time.monotonic() + 60
        while self.deaths == 0:
            assert self.gateway.process
            if self.gateway.process.poll() is not None:
                self.revive()
            assert time.monotonic() < deadline, f"{self.point} was never come to"
            time.sleep(0.02)


def run_errands(client: Client) -> None:
    """Some of everything; at the end `cancelled`, `resumed`, `sized` and `last` are there, `quick` and `forced` gone."""
    quick = client.submit("quick", QUICK)
    cancelled = client.submit("cancelled", LONG)
    resumed = client.submit("resumed", SAVING, suspended=True, checkpoints={"keep_last": 2})
    forced = client.submit("forced", LONG)
    client.await_state(quick, {"succeeded"})
    assert client.call("GET", f"/v1/jobs/{quick}/logs", 200).content == LOG
    client.await_state(cancelled, {"running"})
    client.call("POST", f"/v1/jobs/{cancelled}/cancel", 200, 202)
    client.call("POST", f"/v1/jobs/{resumed}/resume", 200, 202)
    client.await_state(cancelled, {"cancelled"})
    client.await_state(resumed, {"succeeded"})
    client.call("DELETE", f"/v1/jobs/{quick}", 204, 404)
    sized = client.submit("sized", SIZED, elastic={"min": 1, "max": 3})
    client.await_state(sized, {"running"})
    for size in (3, 2):
        client.scale(sized, size)
    client.end_sized(sized)
    assert client.await_state(sized, {"succeeded"})["replicas"] == 2
    client.await_state(forced, {"running"})
    client.call("DELETE", f"/v1/jobs/{forced}?force=true", 202, 204, 404)
    client.await_gone(forced)
    client.call("POST", "/v1/volumes", 201, 409, json={"name": "extra", "size": "1Mi"})
    client.call("DELETE", "/v1/volumes/extra", 204, 404)
    client.await_death()
    client.await_state(client.submit("last", QUICK), {"succeeded"})


def count_runs(data: pathlib.Path, job: str) -> int:
    file = data / "volumes/default/runs" / job
    return len(file.read_text().splitlines()) if file.exists() else 0


def check_promises(client: Client, states: dict[str, str], removed: set[str]) -> None:
    """`states`: what must have become of each job that is kept."""
    gateway = client.gateway
    kept = {client.accepted[what]["id"]: state for what, state in states.items()}
    jobs = {job["id"]: job for job in gateway.get("/v1/jobs", params={"limit": 500}).json()["items"]}
    assert {job: seen["state"] for job, seen in jobs.items()} == kept, "lost, doubled, or of another state"
    for what, job in client.accepted.items():
        runs = count_runs(gateway.data, job["id"])
        wanted = {1} if states.get(what) == "succeeded" or what == "quick" else {0, 1}
        assert runs in wanted, f"{what} ran {runs} times"
    for job, state in kept.items():
        steps = gateway.get(f"/v1/jobs/{job}/transitions?limit=500").json()["items"]
        assert [step["sequence"] for step in steps] == list(range(1, len(steps) + 1))
        log = gateway.logs(job)
        assert log == LOG if state == "succeeded" else log in (b"", b"begun\n", LOG), (state, log)
    assert all(gateway.get(f"/v1/jobs/{client.accepted[what]['id']}").status_code == 404 for what in removed)


def check_checkpoints(client: Client) -> None:
    """keep_last holds, and nothing is half removed."""
    if "resumed" in client.accepted:
        files = client.gateway.get(f"/v1/jobs/{client.accepted['resumed']['id']}/checkpoints").json()["items"]
        assert sorted(file["path"] for file in files) == [f"step-{i}/{name}.pt" for i in (3, 4) for name in "ab"]


def check_leftovers(client: Client, states: dict[str, str]) -> None:
    """The daemon has stopped."""
    data = client.gateway.data
    kept = {client.accepted[what]["id"] for what in states}
    objects = {client.accepted[what]["object_name"] for what in states}
    logs = {entry.name for entry in (data / "logs").iterdir()}
    assert logs <= kept | {".removed"}, "logs of removed jobs"
    assert list((data / "logs/.removed").iterdir()) == []
    assert {entry.name for entry in (data / "runs").iterdir()} <= objects, "runs of removed jobs"
    claims = {entry.name for entry in (data / "volumes/default").iterdir()}
    assert claims <= {"runs"} | {f"{name}-output" for name in objects}, "claims of removed jobs"


def check_processes(data: pathlib.Path) -> None:
    """Nothing of this gateway runs any more: no daemon, supervisor or replica."""
    mark = str(data).encode()
    deadline = time.monotonic() + 60
    while True:
        left = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    words = (entry / "cmdline").read_bytes()
                    if mark in words or any(mark in os.readlink(link).encode() for link in (entry / "fd").iterdir()):
                        left.append((entry.name, words))
        left = [item for item in left if int(item[0]) != os.getpid()]
        if not left:
            return
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def check_database(data: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for file in data.glob("trainyard.db*"):
            shutil.copy(file, folder)
        with contextlib.closing(sqlite3.connect(pathlib.Path(folder) / "trainyard.db")) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []


def kill_supervisor(client: Client, script: str, becomes: str) -> dict[str, str]:
    """The first job's supervisor dies at its failpoint, and the daemon sees it; the next start runs jobs again."""
    gateway = client.gateway
    client.start()
    elastic = {"elastic": {"min": 1, "max": 2}} if script == SIZED else {}
    first = client.submit("first", script, **elastic)
    if elastic:
        client.await_state(first, {"running"})
        client.call("POST", f"/v1/jobs/{first}/scale", 202, json={"replicas": 2})
    mark = f"failpoint {client.name}\n"
    deadline = time.monotonic() + 60
    while not any(mark in file.read_text(errors="replace") for file in gateway.data.glob("**/*.log")):
        assert time.monotonic() < deadline, f"{client.name} was never come to"
        time.sleep(0.02)
    if becomes == "lost":
        client.await_state(first, {"lost"})
    gateway.kill()
    client.disarm()
    client.await_state(first, {becomes})
    client.await_state(client.submit("last", QUICK), {"succeeded"})
    if client.name in ("supervisor.before_first_fact", "supervisor.before_first"):
        assert count_runs(gateway.data, first) == 0, "a job that was said to be lost ran afterwards"
    return {"first": becomes, "last": "succeeded"}


def kill_daemon(client: Client) -> dict[str, str]:
    client.start()
    if client.name in FIRST_START:
        client.call("POST", "/v1/volumes", 201, json={"name": "runs", "size": "1Gi"})
    run_errands(client)
    assert client.deaths == 1
    return {"cancelled": "cancelled", "resumed": "succeeded", "sized": "succeeded", "last": "succeeded"}


def die_at(point: str, template: pathlib.Path) -> None:
    name = point.partition(":")[0]
    data = pathlib.Path(tempfile.mkdtemp(prefix="trainyard-fault-"))
    if name not in FIRST_START:
        shutil.copytree(template, data, dirs_exist_ok=True)
    gateway = Gateway(*FLAGS, data=str(data))
    client = Client(gateway, point)
    try:
        states = kill_supervisor(client, *SUPERVISOR[name]) if name in SUPERVISOR else kill_daemon(client)
        removed = client.accepted.keys() - states.keys()
        check_promises(client, states, removed)
        check_checkpoints(client)
        assert gateway.stop() == 0
        check_leftovers(client, states)
        check_processes(data)
        check_database(data)
    finally:
        gateway.close()
        shutil.rmtree(data, ignore_errors=True)


@pytest.fixture(scope="module")
def deaths(request, tmp_path_factory):
    """What came of each name that was chosen: futures, several under way at once."""
    chosen = [item.callspec.params["point"] for item in request.session.items if "deaths" in item.fixturenames]
    template = tmp_path_factory.mktemp("template")
    with Gateway(*FLAGS, data=str(template)) as gateway:
        assert gateway.post("/v1/volumes", {"name": "runs", "size": "1Gi"}).status_code == 201
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        yield {point: pool.submit(die_at, point, template) for point in chosen}


@needs_failpoints
@pytest.mark.parametrize("point", POINTS)
def test_a_death_at_a_named_place_breaks_no_promise(deaths, point):
    deaths[point].result()


def test_the_list_has_every_place_of_the_sources():
    found = {
        name
        for file in (TOP / "server").rglob("*.c")
        for name in re.findall(r'\bty_failpoint\("([^"]+)"\)', file.read_text())
    }
    assert found == NAMES
    assert len(NAMES) >= 40
