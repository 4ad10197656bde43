"""Elastic runs of the local executor with real processes: sizes change, logs and GPUs follow, daemons are killed."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_local_executor import (
    PYTHON,
    Driver,
    await_true,
    folder,  # noqa: F401 - a fixture
    make_job,
    processes_with,
    script_changes,
    supervisor_pid,
)

# Says who it is, and goes on until it is told to end or the file `end` is there.
STAYS = """
import os, signal, sys, time
def leave(number, frame):
    print('leaves', flush=True)
    sys.exit(int(os.environ.get('LEAVES_WITH', '0')))
if 'STUBBORN' in os.environ:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, leave)
print('begins', os.environ['HOSTNAME'], flush=True)
while not os.path.exists('/shared/end'):
    time.sleep(0.02)
"""


def elastic_job(name: str, command: list[str], replicas: int = 1, most: int = 3, **changes: Any) -> dict[str, Any]:
    policy = {"minReplicas": 1, "maxReplicas": most, "rdzvBackend": "c10d", "rdzvId": f"{name}-1", "maxRestarts": 3}
    return make_job(name, command, workers=replicas, elastic=policy, **{"restart": "OnFailure", **changes})


def staying_job(name: str, replicas: int = 1, most: int = 3, **changes: Any) -> dict[str, Any]:
    shared = {
        "volumes": [{"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}],
        "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
    }
    command = [PYTHON, "-uc", changes.pop("script", STAYS)]
    return elastic_job(name, command, replicas, most, **{**shared, **changes})


def names_of(item: dict[str, Any], phase: int = 1) -> list[str]:
    return [replica["name"] for replica in item["replicas"] if replica["phase"] == phase]


def workers(count: int) -> list[str]:
    return [f"worker-{i}" for i in range(count)]


def await_running(driver: Driver, name: str, count: int) -> None:
    """Until exactly the first `count` workers are there and run."""

    def all_run() -> bool:
        seen = driver.of(name)
        return bool(seen) and [r["name"] for r in seen[-1]["replicas"]] == names_of(seen[-1]) == workers(count)

    await_true(all_run, f"{count} workers of {name} run")
    for replica in workers(count):  # the program itself, not its start alone: it listens to TERM by now
        await_true(lambda at=replica: has_begun(lines_of(driver, name, at)), f"{replica} of {name} has begun")


def has_begun(lines: list[str]) -> bool:
    return bool(lines) and not lines[-1].startswith("leaves")


def end_shared(driver: Driver) -> None:
    (driver.folder / "data/volumes/ns/shared/end").touch()


def lines_of(driver: Driver, name: str, replica: str) -> list[str]:
    return driver.log_or_nothing(name, replica).splitlines()


@pytest.fixture
def driver(folder: Path) -> Iterator[Driver]:  # noqa: F811
    made = Driver(folder, "--gpus", "4", "--grace", "300")
    made.ask("claim ns shared")
    yield made
    made.close()


def test_the_highest_indices_come_and_go_and_the_others_are_not_touched(driver: Driver) -> None:
    driver.apply(staying_job("sizes"))
    await_running(driver, "sizes", 1)
    driver.scale("sizes", 3)
    await_running(driver, "sizes", 3)
    driver.scale("sizes", 2)
    await_running(driver, "sizes", 2)
    assert lines_of(driver, "sizes", "worker-2") == ["begins sizes-worker-2", "leaves"]
    driver.scale("sizes", 3)
    await_running(driver, "sizes", 3)
    await_true(lambda: lines_of(driver, "sizes", "worker-2")[2:] == ["begins sizes-worker-2"], "it begins anew")
    end_shared(driver)
    end = driver.await_kind("sizes", "succeeded", "failed")
    assert (end["kind"], end["restarts"]) == ("succeeded", 0)
    assert lines_of(driver, "sizes", "worker-0")[:1] == ["begins sizes-worker-0"]
    assert lines_of(driver, "sizes", "worker-1")[:1] == ["begins sizes-worker-1"]


@pytest.mark.parametrize("code", ["0", "1"])
def test_how_a_leaving_worker_ends_is_not_the_runs_end(driver: Driver, code: str) -> None:
    driver.apply(staying_job("leaves", 2, restart="Never", env=[{"name": "LEAVES_WITH", "value": code}]))
    await_running(driver, "leaves", 2)
    driver.scale("leaves", 1)
    await_running(driver, "leaves", 1)
    end_shared(driver)
    assert driver.await_kind("leaves", "succeeded", "failed")["kind"] == "succeeded"


def test_a_worker_that_ignores_term_is_killed_after_the_grace(driver: Driver) -> None:
    marker = f"stubborn-{os.getpid()}"
    driver.apply(staying_job("stubborn", 2, args=[marker], env=[{"name": "STUBBORN", "value": "1"}]))
    await_running(driver, "stubborn", 2)
    driver.scale("stubborn", 1)
    await_running(driver, "stubborn", 1)
    assert lines_of(driver, "stubborn", "worker-1") == ["begins stubborn-worker-1"]
    driver.stop("stubborn")
    driver.await_kind("stubborn", "stopped")
    assert processes_with(marker) == []


def test_the_variables_are_those_of_an_elastic_job_and_worker_0_has_a_name(driver: Driver) -> None:
    script = """
import json, os, socket
names = {name: socket.gethostbyname('vars-' + name) for name in ('worker-0', 'worker-1', 'worker-2')}
print(json.dumps({**os.environ, 'names': names}))
""" + "print = lambda *words, **how: None" + STAYS
    driver.apply(staying_job("vars", script=script))
    await_running(driver, "vars", 1)
    driver.scale("vars", 2)
    await_running(driver, "vars", 2)
    said = [json.loads(lines_of(driver, "vars", name)[0]) for name in workers(2)]
    end_shared(driver)
    driver.await_kind("vars", "succeeded")
    for number, env in enumerate(said):
        assert not {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "PET_NODE_RANK", "PET_MASTER_ADDR"} & env.keys()
        assert env["HOSTNAME"] == f"vars-worker-{number}"
        host, _, port = env["PET_RDZV_ENDPOINT"].partition(":")
        assert (host, env["PET_NNODES"], env["PET_RDZV_BACKEND"]) == ("vars-worker-0", "1:3", "c10d")
        assert (env["PET_RDZV_ID"], env["PET_MAX_RESTARTS"]) == ("vars-1", "3")
        assert 23456 <= int(port) < 24456
        assert len(set(env["names"].values())) == 3, "each worker has an address of its own"
    assert said[0]["PET_RDZV_ENDPOINT"] == said[1]["PET_RDZV_ENDPOINT"]


def test_gpus_are_taken_with_a_worker_and_given_back_when_it_has_ended(driver: Driver) -> None:
    script = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])" + STAYS
    driver.apply(staying_job("first", script=script, limits={"nvidia.com/gpu": 1}))
    await_running(driver, "first", 1)
    driver.scale("first", 3)
    await_running(driver, "first", 3)
    given = sorted(lines_of(driver, "first", name)[0] for name in workers(3))
    assert given == ["0", "1", "2"]
    driver.apply(staying_job("second", 2, limits={"nvidia.com/gpu": 1}))
    waiting = driver.await_kind("second", "starting", cause="unschedulable")
    assert waiting["message"] == "2 GPUs are needed, 1 of 4 are free"
    driver.scale("first", 2)
    await_running(driver, "second", 2)
    driver.scale("first", 3)  # its GPU is another's: it comes when that one ends
    time.sleep(0.2)
    assert names_of(driver.of("first")[-1]) == workers(2)
    driver.stop("second")
    driver.await_kind("second", "stopped")
    await_running(driver, "first", 3)


def test_a_secret_reaches_who_comes_later_and_a_lost_one_holds_back_growth_alone(driver: Driver) -> None:
    secret = driver.folder / "data/secrets/ns/wandb/key"
    secret.parent.mkdir(parents=True, mode=0o700)
    secret.write_text("first")
    secret.chmod(0o600)
    env = [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "key"}}}]
    script = "import os; print('key', len(os.environ['KEY']))" + STAYS
    driver.apply(staying_job("keeps", 2, script=script, env=env))
    await_running(driver, "keeps", 2)
    secret.rename(secret.with_name("aside"))
    driver.scale("keeps", 3)
    driver.scale("keeps", 1)
    await_running(driver, "keeps", 1)
    driver.scale("keeps", 3)
    log = driver.folder / "data/runs/keeps/supervisor.log"
    await_true(lambda: "wandb" in log.read_text() or "key" in log.read_text(), "the supervisor says what it lacks")
    assert names_of(driver.of("keeps")[-1]) == workers(1)
    secret.write_text("another one")
    secret.chmod(0o600)
    await_running(driver, "keeps", 3)
    assert [lines_of(driver, "keeps", f"worker-{i}")[0] for i in (0, 2)] == ["key 5", "key 11"]
    assert "another one" not in (driver.folder / "data/runs/keeps/plan.json").read_text() + log.read_text()


def test_a_run_that_waits_begins_with_the_size_it_has_then(driver: Driver) -> None:
    run = staying_job("waits", 1)
    pod = run["objects"][0]["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    pod["volumes"].append({"name": "late", "persistentVolumeClaim": {"claimName": "late"}})
    pod["containers"][0]["volumeMounts"].append({"name": "late", "mountPath": "/late"})
    driver.apply(run)
    driver.await_kind("waits", "starting", cause="volume_not_found")
    driver.scale("waits", 2)
    driver.ask("claim ns late")
    await_running(driver, "waits", 2)


def test_a_size_is_kept_over_a_killed_daemon_and_can_be_changed_after_it(driver: Driver) -> None:
    driver.apply(staying_job("kept"))
    await_running(driver, "kept", 1)
    driver.scale("kept", 3)
    await_running(driver, "kept", 3)
    pid = supervisor_pid(driver, "kept")
    driver.kill()
    second = Driver(driver.folder, "--gpus", "4", "--grace", "300")
    await_running(second, "kept", 3)
    second.scale("kept", 3)
    second.scale("kept", 1)
    await_running(second, "kept", 1)
    second.scale("kept", 2)
    await_running(second, "kept", 2)
    assert supervisor_pid(second, "kept") == pid
    assert lines_of(second, "kept", "worker-0") == ["begins kept-worker-0"]
    end_shared(second)
    assert second.await_kind("kept", "succeeded")["restarts"] == 0
    second.close()


def test_twenty_scales_in_a_row_end_at_the_last(driver: Driver) -> None:
    driver.apply(staying_job("often", most=6))
    await_running(driver, "often", 1)
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(20):
        driver.scale("often", chance.randint(1, 6))
    driver.scale("often", 4)
    await_running(driver, "often", 4)
    assert lines_of(driver, "often", "worker-0") == ["begins often-worker-0"]
    end_shared(driver)
    assert driver.await_kind("often", "succeeded", "failed")["kind"] == "succeeded"


def test_a_stop_among_scales_leaves_nothing(driver: Driver) -> None:
    marker = f"races-{os.getpid()}"
    driver.apply(staying_job("races", most=6, args=[marker]))
    await_running(driver, "races", 1)
    for size in (6, 2, 5, 1, 6):
        driver.send(f"scale job_races races {size}")
    driver.send("stop job_races races 1")
    for size in (1, 6, 3):
        driver.send(f"scale job_races races {size}")
    driver.await_kind("races", "stopped")
    assert processes_with(marker) == []


def test_only_an_elastic_run_changes_its_size(driver: Driver) -> None:
    driver.apply(make_job("fixed", [PYTHON, "-c", "import time; time.sleep(600)"], workers=1))
    driver.await_kind("fixed", "running")
    driver.scale("fixed", 1)
    driver.scale("fixed", 5)
    driver.scale("nobody", 2)
    await_true(lambda: len(names_of(driver.of("fixed")[-1])) == 2, "both run")
    driver.stop("fixed")
    assert [r["name"] for r in driver.await_kind("fixed", "stopped")["replicas"]] == ["master-0", "worker-0"]


# --- torchrun, where addresses stand for names; tests/e2e/test_elastic.py has it in sandboxes ---

TRAIN = """
import os, time, torch, torch.distributed as dist
dist.init_process_group('gloo')
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
print(f"world={dist.get_world_size()}", flush=True)
while not os.path.exists(os.environ['TRAINYARD_SHARED'] + '/end'):
    model(torch.ones(4, 2)).sum().backward()
    time.sleep(0.05)
dist.barrier()
"""
TORCHRUN_SECONDS = 240  # it takes up to half a minute to miss an agent that is gone


def worlds(driver: Driver, name: str, replica: str) -> list[int]:
    return [int(line.partition("world=")[2]) for line in lines_of(driver, name, replica) if "world=" in line]


def await_world(driver: Driver, name: str, size: int) -> None:
    deadline = time.monotonic() + TORCHRUN_SECONDS
    while any(worlds(driver, name, replica)[-1:] != [size] for replica in workers(size)):
        assert time.monotonic() < deadline, [lines_of(driver, name, replica)[-20:] for replica in workers(3)]
        time.sleep(0.1)


def test_torchrun_grows_and_shrinks_without_namespaces(folder: Path) -> None:  # noqa: F811
    driver = Driver(folder, "--sandbox", "plain", "--grace", "300")
    driver.ask("claim ns shared")
    changes = script_changes(TRAIN)
    changes["volumes"] += [{"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}]
    changes["volumeMounts"] += [{"name": "shared", "mountPath": "/shared"}]
    run = elastic_job("grows", ["torchrun", "--monitor_interval=0.2", "/scripts/train.py"], **changes)
    policy = run["objects"][-1]["spec"]["elasticPolicy"]
    policy["rdzvConf"] = [{"key": "last_call_timeout", "value": "2"}]  # seconds that torchrun waits for more to join
    driver.apply(run)
    for size in (1, 3, 1):
        driver.scale("grows", size)
        await_world(driver, "grows", size)
    end_shared(driver)
    end = driver.await_kind("grows", "succeeded", "failed")
    assert (end["kind"], end["restarts"]) == ("succeeded", 0), driver.log("grows", "worker-0")
    driver.close()
