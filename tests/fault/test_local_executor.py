"""The local executor with real processes, driven through tests/support/local_run.c.

TRAINYARD_BIN is the folder of the built programs; LOCAL_RUN and SUPERVISOR name the two apart from it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pwd
import queue
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
WAIT = 60.0  # a test that waits longer has failed, it does not measure


def find_program(variable: str, pattern: str) -> str:
    if variable in os.environ:
        return os.environ[variable]
    if "TRAINYARD_BIN" in os.environ:
        return str(Path(os.environ["TRAINYARD_BIN"]).parent / pattern)
    found = sorted(ROOT.glob(f"build/*/{pattern}"), key=lambda path: path.stat().st_mtime)
    if not found:
        pytest.fail(f"{pattern} is not built")
    return str(found[-1])


def make_job(name: str, command: list[str], **changes: Any) -> dict[str, Any]:
    """A run as local_run reads it: one PyTorchJob with its ConfigMaps and claims."""
    container: dict[str, Any] = {"name": "pytorch", "image": changes.get("image", "pytorch/pytorch:2.0.0")}
    container["command"] = command
    for member in ("args", "env", "envFrom", "volumeMounts", "workingDir"):
        if member in changes:
            container[member] = changes[member]
    if "limits" in changes:
        container["resources"] = {"limits": changes["limits"], "requests": changes["limits"]}
    pod: dict[str, Any] = {"containers": [container], "volumes": changes.get("volumes", [])}
    if "grace" in changes:
        pod["terminationGracePeriodSeconds"] = changes["grace"]
    role = {"restartPolicy": changes.get("restart", "Never"), "template": {"spec": pod}}
    roles = {"Master": {"replicas": 1, **role}}
    if changes.get("workers"):
        roles["Worker"] = {"replicas": changes["workers"], **role}
    if "elastic" in changes:
        del roles["Master"]
    policy = {"cleanPodPolicy": changes.get("clean", "Running")}
    if "limit" in changes:
        policy["backoffLimit"] = changes["limit"]
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"runPolicy": policy, "nprocPerNode": changes.get("processes", "1"), "pytorchReplicaSpecs": roles},
    }
    if "elastic" in changes:
        job["spec"]["elasticPolicy"] = changes["elastic"]
    return {
        "job_id": f"job_{name}",
        "namespace": "ns",
        "object": name,
        "attempt": changes.get("attempt", 1),
        "objects": [*changes.get("objects", []), job],
    }


def config_map(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def script_changes(script: str, path: str = "/scripts") -> dict[str, Any]:
    """What puts train.py into the replicas as the renderer does."""
    return {
        "objects": [config_map("code", {"train.py": script})],
        "volumes": [{"name": "code", "configMap": {"name": "code"}}],
        "volumeMounts": [{"name": "code", "mountPath": path}],
    }


class Driver:
    """One daemon's worth of local executor."""

    def __init__(self, folder: Path, *options: str, prefix: Sequence[str] = ()) -> None:
        self.folder = folder
        self.seen: list[dict[str, Any]] = []
        self.answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self.changed = threading.Condition()
        supervisor = find_program("SUPERVISOR", "bin/trainyard-supervisor")
        program = [find_program("LOCAL_RUN", "tests/local_run"), "--data", str(folder / "data")]
        program += ["--supervisor", supervisor, "--backoff", "100", *options]
        self.process = subprocess.Popen(
            [*prefix, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
            env=sanitizer_environment(),
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            item = json.loads(line)
            if "answer" in item:
                self.answers.put(item)
                continue
            with self.changed:
                self.seen.append(item)
                self.changed.notify_all()

    def send(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line: str) -> dict[str, Any]:
        self.send(line)
        return self.answers.get(timeout=WAIT)

    def apply(self, run: dict[str, Any]) -> dict[str, Any]:
        path = self.folder / f"{run['object']}.{run['attempt']}.json"
        path.write_text(json.dumps(run))
        path.chmod(0o644)
        return self.ask(f"apply {path}")

    def stop(self, name: str, attempt: int = 1) -> None:
        assert self.ask(f"stop job_{name} {name} {attempt}")["status"] == "ok"

    def scale(self, name: str, replicas: int) -> None:
        assert self.ask(f"scale job_{name} {name} {replicas}")["status"] == "ok"

    def of(self, name: str) -> list[dict[str, Any]]:
        return [item for item in self.seen if item["job"] == f"job_{name}"]

    def await_kind(self, name: str, *kinds: str, **members: Any) -> dict[str, Any]:
        def find() -> dict[str, Any] | None:
            for item in self.of(name):
                if item["kind"] in kinds and all(item[key] == value for key, value in members.items()):
                    return item
            return None

        deadline = time.monotonic() + WAIT
        with self.changed:
            while not (found := find()):
                left = deadline - time.monotonic()
                assert left > 0, f"no {kinds} of {name} in {self.of(name)}"
                self.changed.wait(left)
        return found

    def finish(self, run: dict[str, Any]) -> dict[str, Any]:
        """Apply and wait for the end."""
        assert self.apply(run)["status"] == "ok"
        return self.await_kind(run["object"], "succeeded", "failed", "stopped", "gone")

    def log(self, name: str, replica: str = "master-0") -> str:
        return (self.folder / "data/logs" / f"job_{name}" / f"{replica}.log").read_bytes().decode()

    def await_log(self, name: str, text: str, replica: str = "master-0") -> None:
        await_true(lambda: self.log_or_nothing(name, replica).find(text) >= 0, f"{text!r} in the log")

    def log_or_nothing(self, name: str, replica: str) -> str:
        with contextlib.suppress(FileNotFoundError):
            return self.log(name, replica)
        return ""

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(BrokenPipeError):
                self.send("quit")
            self.process.wait(timeout=WAIT)
            assert self.process.returncode == 0


def sanitizer_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")} | {"PATH": "/usr/bin:/bin"}


def await_true(test: Any, what: str) -> None:
    deadline = time.monotonic() + WAIT
    while not test():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.02)


def processes_with(marker: str) -> list[int]:
    """Live processes that have `marker` in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if marker.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def supervisor_pid(driver: Driver, name: str) -> int:
    line = (driver.folder / f"data/runs/{name}/status.jsonl").read_text().splitlines()[0]
    return int(json.loads(line)["pid"])


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="trainyard-local-"))
    path.chmod(0o755)
    yield path
    end_all(path)
    words = "".join(log.read_text() for log in path.glob("data/runs/*/supervisor.log"))
    shutil.rmtree(path, ignore_errors=True)
    assert "Sanitizer" not in words and "runtime error" not in words, words


def end_all(path: Path) -> None:
    """Whatever a failed test left: by the pids its supervisors noted. Those that are about to end may."""
    deadline = time.monotonic() + 3
    while processes_with(f"{path}/data/runs/") and time.monotonic() < deadline:
        time.sleep(0.02)
    for status in path.glob("data/runs/*/status.jsonl"):
        for line in filter(None, status.read_text().splitlines()):
            item = json.loads(line)
            if item["event"] == "supervisor" and b"trainyard-supervisor" in read_cmdline(item["pid"]):
                os.kill(item["pid"], signal.SIGKILL)


def read_cmdline(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@pytest.fixture
def driver(folder: Path) -> Iterator[Driver]:
    made = Driver(folder)
    yield made
    made.close()


@pytest.fixture
def plain(folder: Path) -> Iterator[Driver]:
    made = Driver(folder, "--sandbox", "plain")
    yield made
    made.close()


# --- how programs end ---

ENDINGS = {
    "exit 0": ("exit 0", 0, 0),
    "exit 1": ("exit 1", 1, 0),
    "exit 2": ("exit 2", 2, 0),
    "exit 255": ("exit 255", 255, 0),
    "exit 137 by itself": ("exit 137", 137, 0),
    "killed": ("kill -9 $$", 137, 9),
    "terminated": ("kill -15 $$", 143, 15),
    "segmentation fault": ("kill -11 $$", 139, 11),
    "a raised exception": (f"exec {PYTHON} -c 'raise SystemError'", 1, 0),
}


def test_an_end_is_reported_exactly(driver: Driver) -> None:
    for number, (script, code, number_of_signal) in enumerate(ENDINGS.values()):
        run = make_job(f"end-{number}", ["/bin/sh", "-c", script.replace("$$", "$$$$")])
        end = driver.finish(run)
        replica = end["replicas"][0]
        assert (replica["has_exit"], replica["code"], replica["signal"]) == (True, code, number_of_signal), script
        assert end["kind"] == ("succeeded" if code == 0 else "failed")
        if code:
            assert (end["code"], end["signal"], end["replica"]) == (code, number_of_signal, "master-0")
            assert end["cause"] == "container_error"


def test_a_program_that_is_not_there_is_exit_127_with_a_word_in_the_log(driver: Driver) -> None:
    end = driver.finish(make_job("absent", ["/no/such/program"]))
    assert (end["kind"], end["code"]) == ("failed", 127)
    assert "cannot start /no/such/program" in driver.log("absent")


def test_background_children_end_with_the_program(driver: Driver) -> None:
    marker = f"marker-{uuid.uuid4().hex}"
    script = f"(exec sh -c 'while sleep 0.1; do echo late; done; : {marker}') & setsid sleep 1000 & echo done"
    end = driver.finish(make_job("children", ["/bin/sh", "-c", script, marker]))
    assert end["kind"] == "succeeded"
    assert processes_with(marker) == []
    assert driver.log("children").replace("late\n", "") == "done\n"


def test_every_line_is_in_the_log_at_the_end(driver: Driver) -> None:
    end = driver.finish(make_job("lines", [PYTHON, "-c", "for i in range(1, 100001): print(i)"]))
    assert end["kind"] == "succeeded"
    assert driver.log("lines") == "".join(f"{i}\n" for i in range(1, 100001))


# --- what programs get ---


def test_arguments_arrive_byte_for_byte(driver: Driver) -> None:
    arguments = ['--msg=it\'s "ok"', "a b", "", "l1\nl2", "*", "; touch /output/pwned", "-", "--", "$", "ü\x01"]
    doubled = [text.replace("$", "$$") for text in ["$$", "a$$b", "$$$", "price=$5", "$(HOME_OF_NOBODY)"]]
    script = "import json, sys; print(json.dumps(sys.argv[1:]))"
    driver.finish(make_job("argv", [PYTHON, "-c", script], args=[*arguments, *doubled]))
    expected = [*arguments, "$$", "a$$b", "$$$", "price=$5", "$(HOME_OF_NOBODY)"]
    assert json.loads(driver.log("argv")) == expected


def test_the_environment_is_the_operators(driver: Driver) -> None:
    env = [
        {"name": "FIRST", "value": "one"},
        {"name": "SECOND", "value": "$(FIRST) $(THIRD) $$(FIRST) pa$$$$word"},
        {"name": "THIRD", "value": "three"},
        {"name": "RANK", "value": "77"},
        {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    script = "import json, os, socket; print(json.dumps(dict(os.environ) | {'me': socket.gethostname()}))"
    changes = {"env": env, "envFrom": [{"configMapRef": {"name": "c"}}], "objects": [config_map("c", {"LR": "0.1"})]}
    end = driver.finish(make_job("envs", [PYTHON, "-c", script, "$(MASTER_ADDR)"], workers=2, clean="None", **changes))
    assert end["kind"] == "succeeded"
    master = json.loads(driver.log("envs"))
    worker = json.loads(driver.log("envs", "worker-1"))
    expected = {
        "FIRST": "one",
        "SECOND": "one $(THIRD) $(FIRST) pa$$word",
        "LR": "0.1",
        "MASTER_ADDR": "envs-master-0",
        "WORLD_SIZE": "3",
        "RANK": "0",
        "PET_NNODES": "3",
        "PYTHONUNBUFFERED": "1",
        "HOSTNAME": "envs-master-0",
        "me": "envs-master-0",
        "HOME": "/root",
    }
    assert {key: master.get(key) for key in expected} == expected
    assert (worker["RANK"], worker["me"], worker["PET_NODE_RANK"]) == ("2", "envs-worker-1", "2")
    assert master["MASTER_PORT"] == master["PET_MASTER_PORT"] == worker["MASTER_PORT"]
    assert master["ADDRESS"].startswith("127.") and master["ADDRESS"] != worker["ADDRESS"]
    assert "LOCAL_RUN" not in master


def test_replicas_find_each_other_by_name(driver: Driver) -> None:
    script = (
        "import socket, os; n = os.environ['MASTER_ADDR'];"
        "print(socket.gethostbyname(n), socket.gethostbyname(socket.gethostname()))"
    )
    driver.finish(make_job("names", [PYTHON, "-c", script], workers=1, clean="None"))
    master_of_master, master_self = driver.log("names").split()
    master_of_worker, worker_self = driver.log("names", "worker-0").split()
    assert master_of_master == master_self == master_of_worker != worker_self


def test_files_of_config_maps_are_in_place_and_read_only(driver: Driver) -> None:
    payload = bytes(range(256))
    changes = script_changes("import sys; print('trained', sys.argv)\nopen('/scripts/x', 'w')", "/opt/model")
    changes["objects"][0]["binaryData"] = {"b": base64.b64encode(payload).decode()}
    end = driver.finish(make_job("files", [PYTHON, "/opt/model/train.py"], **changes))
    assert "trained" in driver.log("files") and end["code"] == 1
    check = f"assert open('/scripts/b','rb').read() == {payload!r}; open('/scripts/y', 'w')"
    changes["volumeMounts"][0]["mountPath"] = "/scripts"
    driver.finish(make_job("binary", [PYTHON, "-c", check], **changes))
    assert "Read-only file system" in driver.log("binary")


def test_mount_points_may_be_missing_deep_inside_the_root(driver: Driver) -> None:
    places = ["/usr/share/trainyard-test/deep", "/data", "/workspace/a/b", "/usr/lib/trainyard-test"]
    mounts = [{"name": "d", "mountPath": place} for place in places]
    command = [PYTHON, "-c", "import json, sys\nfor p in sys.argv[1:]: open(p + '/f', 'w').write('x')", *places]
    changes = {"volumes": [{"name": "d", "emptyDir": {}}], "volumeMounts": mounts}
    assert driver.finish(make_job("deep", command, **changes))["kind"] == "succeeded", driver.log("deep")


def test_shared_memory_has_the_size_that_was_asked(driver: Driver) -> None:
    changes = {
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Mi"}}],
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
    script = "import os; s = os.statvfs('/dev/shm'); print(s.f_blocks * s.f_frsize)"
    driver.finish(make_job("shm", [PYTHON, "-c", script], **changes))
    assert int(driver.log("shm")) == 32 << 20


def test_nothing_of_the_machine_that_holds_secrets_is_shown(driver: Driver) -> None:
    paths = ["/etc/shadow", "/home", "/var/lib", "/srv", "/etc/ssl/private"]
    script = f"import os\nfor p in {paths!r}: print(os.path.exists(p))"
    driver.finish(make_job("secrets", [PYTHON, "-c", script]))
    assert driver.log("secrets").split() == ["False"] * 5


# --- volumes ---


def claim_changes(claim: str, **mount: Any) -> dict[str, Any]:
    return {
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}],
        "volumeMounts": [{"name": "v", "mountPath": "/output", **mount}],
    }


def test_a_job_waits_for_its_claim_and_goes_on_when_it_appears(driver: Driver) -> None:
    run = make_job("patient", ["/bin/sh", "-c", "echo kept > /output/f"], **claim_changes("later"))
    assert driver.apply(run)["status"] == "ok"
    waiting = driver.await_kind("patient", "starting", cause="volume_not_found")
    assert "later" in waiting["message"]
    assert driver.ask("claim ns later")["status"] == "ok"
    driver.await_kind("patient", "succeeded")
    assert (driver.folder / "data/volumes/ns/later/f").read_text() == "kept\n"


def test_a_waiting_job_that_is_stopped_never_starts(driver: Driver) -> None:
    run = make_job("called-off", ["/bin/sh", "-c", "echo ran > /output/f"], **claim_changes("never"))
    driver.apply(run)
    driver.await_kind("called-off", "starting", cause="volume_not_found")
    driver.stop("called-off")
    driver.await_kind("called-off", "stopped")
    driver.ask("claim ns never")
    time.sleep(1.5)
    assert not (driver.folder / "data/volumes/ns/never/f").exists()
    driver.stop("called-off")
    driver.await_kind("called-off", "gone")


def test_scratch_space_goes_when_the_run_ends_and_not_before(driver: Driver) -> None:
    script = "echo x >> /scratch/f && cat /scratch/f && test $$(wc -l < /scratch/f) = 2"
    volumes = [{"name": "s", "emptyDir": {"sizeLimit": "1Gi"}}]
    mounts = [{"name": "s", "mountPath": "/scratch"}]
    run = make_job("scratched", ["/bin/sh", "-c", script], volumes=volumes, volumeMounts=mounts, restart="OnFailure")
    assert driver.finish(run)["kind"] == "succeeded"
    assert driver.log("scratched") == "x\nx\nx\n"  # the second try finds what the first one left
    await_true(lambda: not (driver.folder / "data/runs/scratched/scratch").exists(), "the end of the scratch space")


def put_secret(folder: Path, name: str, key: str, value: bytes) -> None:
    path = folder / "data/secrets/ns" / name / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(value)
    path.chmod(0o600)


def secret_changes(path: str) -> dict[str, Any]:
    return {
        "env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "token"}}}],
        "volumes": [{"name": "v", "secret": {"secretName": "s", "items": [{"key": "file", "path": "p"}]}}],
        "volumeMounts": [{"name": "v", "mountPath": path, "subPath": "p", "readOnly": True}],
    }


@pytest.mark.parametrize("sandbox", ["bwrap", "plain"])
def test_secrets_reach_the_program_and_no_file_of_the_run(folder: Path, sandbox: str) -> None:
    driver = Driver(folder, "--sandbox", sandbox)
    put_secret(folder, "s", "token", b"hidden-$(TOKEN) words")
    put_secret(folder, "s", "file", b"hidden-bytes")
    script = "import os, sys; print(os.environ['TOKEN'][6:], open(sys.argv[1]).read()[6:])"
    command = [PYTHON, "-c", script, "/run/secrets/file"]
    end = driver.finish(make_job("trusted", command, workers=1, **secret_changes("/run/secrets/file")))
    assert end["kind"] == "succeeded", driver.log("trusted")
    assert driver.log("trusted") == "-$(TOKEN) words -bytes\n"
    plan = folder / "data/runs/trusted/plan.json"
    assert plan.stat().st_mode & 0o077 == 0
    kept = [path for path in (folder / "data").rglob("*") if path.is_file() and "secrets" not in path.parts]
    assert plan in kept and all(b"hidden" not in path.read_bytes() for path in kept)
    driver.close()


def test_a_run_waits_for_its_secret_over_the_death_of_the_daemon(folder: Path) -> None:
    first = Driver(folder)
    put_secret(folder, "s", "file", b"1")
    first.apply(make_job("waits", ["/bin/sh", "-c", 'echo "$$TOKEN"'], **secret_changes("/run/f")))
    waiting = first.await_kind("waits", "starting", cause="secret_not_found")
    assert waiting["message"].startswith("secret s has no key token")
    assert str(folder) not in waiting["message"]
    first.kill()
    second = Driver(folder)
    second.await_kind("waits", "starting", cause="secret_not_found")
    put_secret(folder, "s", "token", b"came")
    second.await_kind("waits", "succeeded")
    assert second.log("waits") == "came\n"
    second.close()


def test_a_link_in_a_claim_leads_nowhere(driver: Driver) -> None:
    driver.ask("claim ns shared")
    link = driver.folder / "data/volumes/ns/shared/sub"
    link.symlink_to("/etc")
    driver.apply(make_job("escape", ["/bin/ls", "/output"], **claim_changes("shared", subPath="sub")))
    seen = driver.await_kind("escape", "starting", cause="mount_failed")
    assert str(driver.folder) not in seen["message"]
    link.unlink()
    driver.await_kind("escape", "succeeded")
    assert (driver.folder / "data/volumes/ns/shared/sub").is_dir()


def test_an_image_without_a_root_waits_with_its_name(folder: Path) -> None:
    driver = Driver(folder, "--image", "known/*=/")
    driver.apply(make_job("unknown", ["/bin/true"], image="other/image:1"))
    assert "other/image:1" in driver.await_kind("unknown", "starting", cause="image_pull_failed")["message"]
    assert driver.finish(make_job("known", ["/bin/true"], image="known/image:1"))["kind"] == "succeeded"
    driver.close()


def test_an_image_is_a_folder(folder: Path) -> None:
    root = folder / "root"
    needed = subprocess.run(["ldd", "/usr/bin/dash"], check=True, capture_output=True, text=True).stdout.split()
    for path in ["/usr/bin/dash", *(word for word in needed if word.startswith("/"))]:
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path[1:])
    (root / "etc").mkdir()
    (root / "etc/issue").write_text("small image\n")
    driver = Driver(folder, "--image", f"small/*={root}")
    driver.ask("claim ns image")
    show = "read a < /etc/issue; echo $$a; while read b; do echo $$b; done < /etc/hosts; echo x > /output/f; echo /*; "
    command = ["/usr/bin/dash", "-c", show + "echo y > /usr/f"]
    run = make_job("small", command, image="small/one:1", **claim_changes("image"))
    end = driver.finish(run)
    lines = driver.log("small").splitlines()
    assert lines[0] == "small image" and "small-master-0" in driver.log("small")
    assert "Read-only file system" in lines[-1] and end["code"] == 2
    assert "/opt" not in lines[-2].split() and "/output" in lines[-2].split()
    assert (folder / "data/volumes/ns/image/f").read_text() == "x\n"
    driver.close()


# --- GPUs ---


def test_gpus_are_given_whole_and_waited_for(folder: Path) -> None:
    driver = Driver(folder, "--gpus", "3")
    show = "echo $$CUDA_VISIBLE_DEVICES; while [ ! -e /tmp/go ] && [ -n \"$$HOLD\" ]; do sleep 0.1; done"
    command = ["/bin/sh", "-c", show]
    hold = [{"name": "HOLD", "value": "1"}]
    driver.apply(make_job("gpu-a", command, env=hold, limits={"nvidia.com/gpu": 2}))
    driver.await_log("gpu-a", "0,1\n")
    driver.apply(make_job("gpu-b", command, limits={"nvidia.com/gpu": "2"}))
    driver.await_kind("gpu-b", "starting", cause="unschedulable")
    assert driver.finish(make_job("gpu-c", command, limits={"nvidia.com/gpu": 1}))["kind"] == "succeeded"
    assert driver.log("gpu-c") == "2\n"
    driver.finish(make_job("gpu-none", ["/bin/sh", "-c", "echo [$${CUDA_VISIBLE_DEVICES-unset}]"]))
    assert driver.log("gpu-none") == "[]\n"
    driver.stop("gpu-a")
    driver.await_kind("gpu-b", "succeeded")
    assert driver.log("gpu-b") == "0,1\n"
    driver.close()


# --- stopping ---

SPREADING = """
import os, signal, subprocess, sys, time
marker = sys.argv[1]
for i in range(4):
    subprocess.Popen([sys.executable, '-c', 'import time, signal, subprocess, sys\\n'
        'signal.signal(signal.SIGHUP, signal.SIG_IGN)\\n'
        'signal.signal(signal.SIGTERM, signal.SIG_IGN)\\n'
        'subprocess.Popen(["sleep", "1000.%d", ])\\n'
        'time.sleep(1000)' % i, marker], start_new_session=i % 2 == 0)
signal.signal(signal.SIGTERM, lambda *_: (print('bye', flush=True), sys.exit(0)))
print('ready', flush=True)
while True:
    time.sleep(1)
"""


@pytest.mark.parametrize("sandbox", ["bwrap", "plain"])
def test_stop_leaves_no_process_behind(folder: Path, sandbox: str) -> None:
    driver = Driver(folder, "--sandbox", sandbox)
    marker = f"marker-{uuid.uuid4().hex}"
    bystander = subprocess.Popen(["sleep", "500"])
    driver.apply(make_job("spread", [PYTHON, "-c", SPREADING, marker], grace=20))
    driver.await_log("spread", "ready")
    await_true(lambda: len(processes_with(marker)) >= 5, "all children")
    driver.stop("spread")
    end = driver.await_kind("spread", "stopped")
    assert processes_with(marker) == []
    assert end["replicas"][0]["code"] == 0
    assert driver.log("spread").endswith("bye\n")
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()
    driver.close()


def test_what_ignores_the_request_is_killed_after_the_grace(driver: Driver) -> None:
    script = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(1000)"
    driver.apply(make_job("deaf", [PYTHON, "-c", script], workers=1, grace=1))
    driver.await_log("deaf", "deaf")
    driver.await_log("deaf", "deaf", "worker-0")
    driver.stop("deaf")
    end = driver.await_kind("deaf", "stopped")
    assert [(item["code"], item["signal"]) for item in end["replicas"]] == [(137, 9), (137, 9)]


def test_stopping_what_does_not_exist_is_gone(driver: Driver) -> None:
    driver.stop("nobody")
    assert driver.await_kind("nobody", "gone")["attempt"] == 1


# --- the operator's rules with real processes ---

COUNTING = "n=$$(cat /output/n 2>/dev/null || echo 0); n=$$((n+1)); echo $$n > /output/n; echo run $$n; "


def test_on_failure_restarts_in_place_until_it_works(driver: Driver) -> None:
    driver.ask("claim ns counted")
    command = ["/bin/sh", "-c", COUNTING + "[ $$n -ge 3 ]"]
    end = driver.finish(make_job("again", command, restart="OnFailure", **claim_changes("counted")))
    assert (end["kind"], end["restarts"]) == ("succeeded", 2)
    assert driver.log("again") == "run 1\nrun 2\nrun 3\n"
    assert [item["code"] for item in driver.of("again") if item["kind"] == "restarting"][0] == 1


def test_the_backoff_limit_ends_the_job(driver: Driver) -> None:
    driver.ask("claim ns limited")
    command = ["/bin/sh", "-c", COUNTING + "exit 7"]
    end = driver.finish(make_job("limited", command, restart="OnFailure", limit=3, **claim_changes("limited")))
    assert (end["kind"], end["cause"], end["code"]) == ("failed", "retry_limit_exceeded", 7)
    assert driver.log("limited") == "run 1\nrun 2\nrun 3\n"


def test_exit_code_policy_retries_signals_and_fails_on_codes(driver: Driver) -> None:
    driver.ask("claim ns coded")
    command = ["/bin/sh", "-c", COUNTING + "[ $$n -lt 2 ] && kill -9 $$$$; exit 3"]
    end = driver.finish(make_job("coded", command, restart="ExitCode", **claim_changes("coded")))
    assert (end["kind"], end["cause"], end["code"], end["restarts"]) == ("failed", "container_error", 3, 1)


def test_a_failed_worker_fails_the_job_and_the_rest_is_cleaned_up(driver: Driver) -> None:
    marker = f"marker-{uuid.uuid4().hex}"
    command = ["/bin/sh", "-c", "[ $$RANK = 1 ] && exit 4; exec sleep 1000", marker]
    end = driver.finish(make_job("broken", command, workers=2))
    assert (end["kind"], end["replica"], end["code"]) == ("failed", "worker-0", 4)
    assert processes_with(marker) == [] and processes_with("sleep\x001000") == []


def test_a_new_attempt_continues_the_log(driver: Driver) -> None:
    driver.finish(make_job("twice", ["/bin/echo", "first"]))
    driver.apply(make_job("twice", ["/bin/echo", "second"], attempt=2))
    driver.await_kind("twice", "succeeded", attempt=2)
    assert driver.log("twice") == "first\nsecond\n"


def test_memory_over_the_limit_is_out_of_memory(driver: Driver) -> None:
    warnings = {item["code"] for item in driver.ask("describe")["object"]["warnings"]}
    if "memory_limits_not_enforced" in warnings:
        pytest.skip("memory limits cannot be enforced here")
    script = "x = bytearray(600 << 20); print(len(x))"
    end = driver.finish(make_job("hungry", [PYTHON, "-c", script], limits={"memory": "64Mi"}))
    assert (end["kind"], end["cause"], end["code"], end["signal"]) == ("failed", "out_of_memory", 137, 9)
    assert end["replicas"][0]["reason"] == "OOMKilled"
    end = driver.finish(make_job("suicide", ["/bin/sh", "-c", "kill -9 $$$$"], limits={"memory": "64Mi"}))
    assert (end["cause"], end["signal"]) == ("container_error", 9)


# --- PyTorch ---

DDP = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group('gloo')
model = DistributedDataParallel(torch.nn.Linear(4, 1))
loss = model(torch.ones(2, 4)).sum()
loss.backward()
total = torch.tensor([dist.get_rank() + 1])
dist.all_reduce(total)
print('rank', dist.get_rank(), 'of', dist.get_world_size(), 'sum', total.item(), flush=True)
if dist.get_rank() == 0:
    torch.save(model.module.state_dict(), '/output/model.pth')
dist.barrier()
"""


def ddp_changes(claim: str) -> dict[str, Any]:
    changes = script_changes(DDP)
    volume = claim_changes(claim)
    changes["volumes"] += volume["volumes"]
    changes["volumeMounts"] += volume["volumeMounts"]
    return changes


def test_two_ddp_jobs_train_side_by_side(driver: Driver) -> None:
    for name in ("ddp-a", "ddp-b"):
        driver.ask(f"claim ns {name}")
        driver.apply(make_job(name, ["python", "/scripts/train.py"], workers=1, clean="None", **ddp_changes(name)))
    for name in ("ddp-a", "ddp-b"):
        end = driver.await_kind(name, "succeeded", "failed")
        assert end["kind"] == "succeeded", driver.log(name)
        assert "rank 0 of 2 sum 3" in driver.log(name)
        assert "rank 1 of 2 sum 3" in driver.log(name, "worker-0")
        assert (driver.folder / f"data/volumes/ns/{name}/model.pth").stat().st_size > 0


def test_torchrun_starts_two_processes_in_one_replica(driver: Driver) -> None:
    driver.ask("claim ns run")
    command = ["torchrun", "--nproc_per_node=2", "/scripts/train.py"]
    end = driver.finish(make_job("run", command, processes="2", **ddp_changes("run")))
    assert end["kind"] == "succeeded", driver.log("run")
    assert "rank 0 of 2 sum 3" in driver.log("run") and "rank 1 of 2 sum 3" in driver.log("run")


# --- faults ---


def test_a_killed_daemon_finds_its_jobs_running_and_loses_no_line(folder: Path) -> None:
    first = Driver(folder)
    script = "import time\nfor i in range(100):\n print(i, flush=True); time.sleep(0.02)"
    names = [f"alive-{i}" for i in range(5)]
    for name in names:
        first.apply(make_job(name, [PYTHON, "-c", script]))
        first.await_kind(name, "running")
    first.kill()
    time.sleep(0.2)
    second = Driver(folder)
    for name in names:
        assert second.await_kind(name, "succeeded", "failed", "gone")["kind"] == "succeeded"
        assert second.log(name) == "".join(f"{i}\n" for i in range(100))
        assert second.apply(make_job(name, [PYTHON, "-c", script]))["status"] == "ok"
    time.sleep(0.5)
    assert all(second.log(name).count("\n") == 100 for name in names)
    second.close()


def test_a_run_that_ended_while_no_daemon_was_there_is_told(folder: Path) -> None:
    first = Driver(folder)
    first.apply(make_job("alone", ["/bin/sh", "-c", "sleep 0.5; exit 9"]))
    first.await_kind("alone", "running")
    first.kill()
    time.sleep(1)
    second = Driver(folder)
    end = second.await_kind("alone", "failed")
    assert (end["code"], [item["kind"] for item in second.of("alone")]) == (9, ["running", "failed"])
    second.close()


def test_a_run_whose_daemon_died_before_it_began_begins_once(folder: Path) -> None:
    first = Driver(folder)
    first.ask("claim ns once")
    first.finish(make_job("once", ["/bin/sh", "-c", "echo x >> /output/n"], **claim_changes("once")))
    first.kill()
    # As a crash between the folder's rename and the supervisor's start leaves it.
    run = folder / "data/runs/once"
    for name in ("status.jsonl", "lock", "hosts", "supervisor.log"):
        (run / name).unlink()
    half_made = folder / "data/runs/.new-half-0000000000000000"
    half_made.mkdir()
    second = Driver(folder)
    second.await_kind("once", "succeeded")
    assert (folder / "data/volumes/ns/once/n").read_text() == "x\nx\n"
    assert not half_made.exists()
    second.close()


def test_a_run_that_may_have_begun_before_the_machine_went_down_is_gone(folder: Path) -> None:
    first = Driver(folder)
    first.finish(make_job("before", ["/bin/true"]))
    first.kill()
    run = folder / "data/runs/before"
    (run / "status.jsonl").unlink()
    plan = json.loads((run / "plan.json").read_text())
    (run / "plan.json").write_text(json.dumps(plan | {"boot_id": "another"}))
    second = Driver(folder)
    second.await_kind("before", "gone")
    second.close()


@pytest.mark.parametrize("sandbox", ["bwrap", "plain"])
def test_a_killed_supervisor_is_a_lost_run_with_nothing_left(folder: Path, sandbox: str) -> None:
    driver = Driver(folder, "--sandbox", sandbox)
    marker = f"marker-{uuid.uuid4().hex}"
    driver.apply(make_job("orphan", [PYTHON, "-c", SPREADING, marker], workers=1))
    driver.await_log("orphan", "ready")
    driver.await_log("orphan", "ready", "worker-0")
    os.kill(supervisor_pid(driver, "orphan"), signal.SIGKILL)
    driver.await_kind("orphan", "gone")
    assert processes_with(marker) == []
    driver.close()


def test_a_supervisor_killed_while_no_daemon_was_there_is_found_out(folder: Path) -> None:
    first = Driver(folder)
    marker = f"marker-{uuid.uuid4().hex}"
    first.apply(make_job("both", [PYTHON, "-c", SPREADING, marker]))
    first.await_log("both", "ready")
    pid = supervisor_pid(first, "both")
    first.kill()
    os.kill(pid, signal.SIGKILL)
    second = Driver(folder)
    second.await_kind("both", "gone")
    assert processes_with(marker) == []
    second.close()


# --- the folder of a run is taken away by hand ---


@pytest.mark.parametrize("sandbox", ["bwrap", "plain"])
@pytest.mark.parametrize("what", ["folder", "plan"])
def test_a_run_whose_folder_went_while_no_daemon_was_there_is_gone_with_nothing_left(
    folder: Path, sandbox: str, what: str
) -> None:
    first = Driver(folder, "--sandbox", sandbox)
    marker = f"marker-{uuid.uuid4().hex}"
    first.apply(make_job("taken", [PYTHON, "-c", SPREADING, marker]))
    first.await_log("taken", "ready")
    first.kill()
    run = folder / "data/runs/taken"
    if what == "folder":
        shutil.rmtree(run)
    else:
        (run / "plan.json").write_text("")
    second = Driver(folder, "--sandbox", sandbox)
    assert second.ask("check job_taken taken 1")["status"] == "ok"
    assert second.await_kind("taken", "gone")["message"] == "the folder of the run is gone"
    await_true(lambda: processes_with(marker) == [], "the end of its processes")
    assert processes_with(str(run)) == []
    assert second.ask("remove job_taken taken 1")["status"] == "ok"
    await_true(lambda: not run.exists(), "the end of what was left of the folder")
    second.close()


def test_a_check_says_nothing_of_a_run_that_is_there(folder: Path) -> None:
    first = Driver(folder)
    first.apply(make_job("there", ["/bin/sh", "-c", "echo ready; sleep 2"]))
    first.await_log("there", "ready")
    first.kill()
    second = Driver(folder)
    assert second.ask("check job_there there 1")["status"] == "ok"
    second.await_kind("there", "succeeded", "failed", "gone")
    assert [item["kind"] for item in second.of("there")] == ["running", "succeeded"]
    assert second.ask("check job_there there 2")["status"] == "ok"
    second.await_kind("there", "gone", attempt=2)
    second.close()


def test_a_run_whose_folder_goes_under_its_daemon_ends_as_it_ends(driver: Driver) -> None:
    driver.apply(make_job("gone", ["/bin/sh", "-c", "echo ready; sleep 1; exit 3"]))
    driver.await_log("gone", "ready")
    shutil.rmtree(driver.folder / "data/runs/gone")
    assert driver.await_kind("gone", "succeeded", "failed", "gone")["kind"] == "failed"


def test_a_run_whose_folder_is_gone_can_be_stopped(driver: Driver) -> None:
    marker = f"marker-{uuid.uuid4().hex}"
    driver.apply(make_job("deaf", [PYTHON, "-c", SPREADING, marker]))
    driver.await_log("deaf", "ready")
    shutil.rmtree(driver.folder / "data/runs/deaf")
    driver.stop("deaf")
    driver.await_kind("deaf", "stopped", "gone")
    await_true(lambda: processes_with(marker) == [], "the end of its processes")


def test_a_waiting_run_whose_folder_goes_is_gone(driver: Driver) -> None:
    driver.apply(make_job("idle", ["/bin/true"], **claim_changes("never-made")))
    driver.await_kind("idle", "starting")
    shutil.rmtree(driver.folder / "data/runs/idle")
    driver.await_kind("idle", "gone")


def test_a_shortage_of_descriptors_is_no_word_that_a_run_is_gone(folder: Path) -> None:
    first = Driver(folder)
    names = [f"held-{i}" for i in range(12)]
    for name in names:
        first.apply(make_job(name, ["/bin/sh", "-c", "sleep 4; echo done"]))
        first.await_kind(name, "running")
    first.kill()
    second = Driver(folder, prefix=["prlimit", "--nofile=22:4096"])
    for name in names:
        assert second.ask(f"check job_{name} {name} 1")["status"] == "ok"
    for name in names:
        assert second.await_kind(name, "succeeded", "failed", "gone")["kind"] == "succeeded"
    second.close()


def test_applying_twice_runs_once(driver: Driver) -> None:
    driver.ask("claim ns many")
    runs = [
        make_job(f"dup-{i}", ["/bin/sh", "-c", f"echo {i} >> /output/n"], **claim_changes("many")) for i in range(100)
    ]
    for run in runs:
        driver.apply(run)
        driver.apply(run)
    for run in runs:
        driver.await_kind(run["object"], "succeeded")
    for run in runs:
        driver.apply(run)
    lines = (driver.folder / "data/volumes/ns/many/n").read_text().split()
    assert sorted(lines, key=int) == [str(i) for i in range(100)]


@pytest.mark.parametrize("seed", range(4))
def test_a_daemon_killed_at_any_moment_neither_doubles_nor_loses_a_run(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    driver = Driver(folder)
    driver.ask("claim ns runs")
    runs = [
        make_job(f"any-{i}", ["/bin/sh", "-c", f"echo {i} >> /output/n; sleep 0.05; echo end"], **claim_changes("runs"))
        for i in range(12)
    ]
    for run in runs:
        (folder / f"{run['object']}.json").write_text(json.dumps(run))
    for _ in range(15):
        for run in runs:
            driver.send(f"apply {folder}/{run['object']}.json")
        time.sleep(chance.uniform(0.0, 0.15))
        driver.kill()
        driver = Driver(folder)
    for run in runs:
        driver.apply(run)
        assert driver.await_kind(run["object"], "succeeded", "failed", "gone")["kind"] == "succeeded"
        assert driver.log(run["object"]) == "end\n"
    lines = (folder / "data/volumes/ns/runs/n").read_text().split()
    assert sorted(lines, key=int) == [str(i) for i in range(12)]
    assert list((folder / "data/runs").glob(".new-*")) == []
    driver.close()


@pytest.mark.parametrize("limit", [22, 24, 28])
def test_a_shortage_of_descriptors_loses_no_run(folder: Path, limit: int) -> None:
    driver = Driver(folder, prefix=["prlimit", f"--nofile={limit}:4096"])
    names = [f"short-{i}" for i in range(12)]
    for name in names:
        run = make_job(name, ["/bin/sh", "-c", "sleep 1; echo done"])
        await_true(lambda run=run: driver.apply(run)["status"] == "ok", "room for another run")
    for name in names:
        assert driver.await_kind(name, "succeeded", "failed", "gone")["kind"] == "succeeded"
        assert driver.log(name) == "done\n"
    driver.close()


def test_without_inotify_runs_are_followed_by_the_clock(folder: Path) -> None:
    take = 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"'
    prefix = ["unshare", "-Ur", "sh", "-c", take, "sh"]
    if subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("inotify cannot be taken away on this machine")
    driver = Driver(folder, prefix=prefix)
    kinds = [driver.finish(make_job(f"blind-{i}", ["/bin/sh", "-c", "sleep 0.2"]))["kind"] for i in range(3)]
    assert kinds == ["succeeded"] * 3
    assert [item["kind"] for item in driver.of("blind-2")] == ["starting", "running", "succeeded"]
    driver.close()


def test_a_full_disk_delays_the_result_and_does_not_lose_it(folder: Path) -> None:
    data = folder / "data"
    data.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(data)], check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    try:
        driver = Driver(folder)
        driver.ask("claim ns tight")
        # Many replicas make a line that no rest of a block holds.
        script = "[ $$RANK = 0 ] || exec sleep 1000; until [ -e /output/go ]; do sleep 0.05; done"
        script += "; cat /dev/zero > /output/filler; exit 5"
        driver.apply(make_job("full", ["/bin/sh", "-c", script], workers=25, **claim_changes("tight")))
        driver.await_kind("full", "running")
        (data / "volumes/ns/tight/go").touch()
        time.sleep(2)
        assert [item["kind"] for item in driver.of("full")][-1] == "running"  # it has ended and cannot say so
        (data / "volumes/ns/tight/filler").unlink(missing_ok=True)
        assert driver.await_kind("full", "failed", "gone")["code"] == 5
        driver.close()
    finally:
        subprocess.run(["umount", "-l", str(data)], check=True)


def test_many_replicas_run_at_once(driver: Driver) -> None:
    end = driver.finish(make_job("wide", ["/bin/sh", "-c", "echo $$RANK of $$WORLD_SIZE"], workers=59, clean="None"))
    assert (end["kind"], len(end["replicas"])) == ("succeeded", 60)
    assert driver.log("wide", "worker-58") == "59 of 60\n"


def test_remove_forgets_a_run_and_keeps_claims_and_logs(driver: Driver) -> None:
    driver.ask("claim ns stays")
    driver.finish(make_job("past", ["/bin/sh", "-c", "echo x > /output/f; echo y"], **claim_changes("stays")))
    driver.ask("remove job_past past")
    await_true(lambda: not (driver.folder / "data/runs/past").exists(), "the folder of the run is removed")
    assert (driver.folder / "data/volumes/ns/stays/f").exists() and driver.log("past") == "y\n"


def test_a_run_of_an_earlier_daemon_is_removed_whole(folder: Path) -> None:
    earlier = Driver(folder)
    earlier.finish(make_job("past", ["true"]))
    earlier.close()
    driver = Driver(folder)
    assert driver.ask("remove job_past past")["status"] == "ok"
    await_true(lambda: list((folder / "data/runs").iterdir()) == [], "nothing of the run is left")
    driver.close()


def test_an_ordinary_user_can_do_the_same(folder: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("already an ordinary user")
    user = pwd.getpwnam("nobody").pw_uid
    os.chown(folder, user, -1)
    supervisor = Path(find_program("SUPERVISOR", "bin/trainyard-supervisor"))
    for name in (supervisor.name, "trainyard-init"):  # the build may stand where only root may look
        shutil.copy(supervisor.with_name(name), folder)
    become_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    driver = Driver(folder, "--supervisor", str(folder / supervisor.name), prefix=become_user)
    driver.ask("claim ns mine")
    changes = script_changes("import os; open('/output/f', 'w').write('x'); print(os.getuid(), flush=True)")
    volume = claim_changes("mine")
    changes["volumes"] += volume["volumes"]
    changes["volumeMounts"] += volume["volumeMounts"]
    end = driver.finish(make_job("user", ["python", "/scripts/train.py"], **changes))
    assert end["kind"] == "succeeded"
    assert (folder / "data/volumes/ns/mine/f").stat().st_uid == user
    driver.close()


# --- without a sandbox ---


def test_plain_processes_find_their_files_by_rewritten_paths(plain: Driver) -> None:
    plain.ask("claim ns open")
    script = "import os; open(os.environ['TRAINYARD_OUTPUT'] + '/f', 'w').write('x'); "
    script += "print(os.environ['MASTER_ADDR'], os.environ['OUTPUT_DIR'])"
    changes = script_changes(script)
    volume = claim_changes("open")
    changes["volumes"] += volume["volumes"]
    changes["volumeMounts"] += volume["volumeMounts"]
    changes["env"] = [{"name": "OUTPUT_DIR", "value": "/output/sub"}]
    end = plain.finish(make_job("plain", [PYTHON, "/scripts/train.py"], **changes))
    assert end["kind"] == "succeeded", plain.log("plain")
    address, output = plain.log("plain").split()
    assert address.startswith("127.") and output == str(plain.folder / "data/volumes/ns/open/sub")
    assert (plain.folder / "data/volumes/ns/open/f").read_text() == "x"
    codes = [item["code"] for item in plain.ask("describe")["object"]["warnings"]]
    assert codes[0] == "sandbox_not_permitted"


def test_where_namespaces_are_forbidden_jobs_run_plainly_and_the_reason_is_told(folder: Path) -> None:
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\""
    prefix = ["unshare", "-Ur", "sh", "-c", forbid, "sh"]
    if subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("namespaces cannot be forbidden to a part of this machine")
    driver = Driver(folder, prefix=prefix)
    described = driver.ask("describe")["object"]
    assert described["sandbox"] is False
    assert "raise user.max_user_namespaces" in described["warnings"][0]["message"]
    end = driver.finish(make_job("bare", ["/bin/sh", "-c", "echo $$RANK of $$WORLD_SIZE"], workers=1, clean="None"))
    assert (end["kind"], driver.log("bare"), driver.log("bare", "worker-0")) == ("succeeded", "0 of 2\n", "1 of 2\n")
    driver.close()
