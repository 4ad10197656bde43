"""The command line client against a real gateway: every command, its exit codes, and what it does when calls break."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import time

import pytest
import yaml
from cutting_proxy import CuttingProxy
from gateway import BIN, Gateway

CLIENT = BIN / "trainyard"
DONE, FAILED, USAGE, CANCELLED, AUTH, NOT_FOUND, REFUSED, UNAVAILABLE = range(8)
TIMEOUT, INTERRUPTED = 9, 130
ESCAPE = "\x1b["


def environment(gateway: Gateway | None, **more: str) -> dict[str, str]:
    """A clean environment: nothing of the developer's own reaches the client."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TRAINYARD_", "CLICOLOR", "NO_COLOR"))}
    env.update({"TERM": "xterm", "http_proxy": "http://127.0.0.1:9", "ASAN_OPTIONS": "detect_leaks=1"})
    if gateway:
        env["TRAINYARD_DATA"] = str(gateway.data)
    return {**env, **more}


def run(gateway: Gateway | None, *words: str, code: int | None = DONE, **more) -> subprocess.CompletedProcess[str]:
    """Run the client to its end and hold its exit code."""
    env = environment(gateway, **more.pop("env", {}))
    done = subprocess.run(
        [CLIENT, *map(str, words)], env=env, capture_output=True, text=more.pop("text", True), timeout=120, **more
    )
    if code is not None:
        assert done.returncode == code, (words, done.stdout, done.stderr)
    return done


class Started:
    """The client as a process that goes on while the test does something."""

    def __init__(self, gateway: Gateway | None, *words: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [CLIENT, *map(str, words)],
            env=environment(gateway, **(env or {})),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,  # so that no line is read ahead
            # Tests started in the background inherit an ignored SIGINT, which the client respects.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def line(self) -> str:
        return self.process.stdout.readline().decode()

    def end(self) -> tuple[int, str, str]:
        """Exit code, the rest of standard output, standard error."""
        output, errors = self.process.communicate(timeout=90)
        return self.process.returncode, output.decode(), errors.decode()


def out(gateway: Gateway, *words: str, **more) -> str:
    return run(gateway, *words, **more).stdout.strip()


def through(proxy: CuttingProxy, gateway: Gateway) -> dict[str, str]:
    """The environment that sends the client through a proxy."""
    return {"TRAINYARD_ADDRESS": proxy.address, "TRAINYARD_TOKEN": gateway.token}


def shell_job(gateway: Gateway, script: str, *flags: str, code: int = DONE) -> str:
    """A job that runs a line of shell; its id."""
    return out(gateway, "submit", "--no-follow", "-o", "name", *flags, "--command", "--", "sh", "-c", script, code=code)


@pytest.fixture(scope="module")
def finished(gateway: Gateway) -> str:
    """A job that succeeded, with a log of 200 kB and some files."""
    job = shell_job(
        gateway,
        "seq 1 40000; mkdir -p /output/sub; head -c 3000000 /dev/urandom > /output/model.pth;"
        " echo one > '/output/sub/a b%.txt'; : > /output/empty",
        "--name",
        "finished",
    )
    assert gateway.wait(job)["state"] == "succeeded"
    return job


LINES = "".join(f"{i}\n" for i in range(1, 40001))

# --- submit ---


def test_a_script_is_sent_with_its_flags_and_arguments(gateway, tmp_path):
    script = tmp_path / "My_Net.v2.py"
    script.write_text("import os, sys, helper\nprint(sys.argv[1:], os.environ['WHO'], os.environ['LR'], helper.x)\n")
    (tmp_path / "helper.py").write_text("x = 'of the helper'\n")
    job = out(
        gateway, "submit", script, "--no-follow", "-o", "name", "--epochs", 2, "-p", "lr=0.10", "-p", "n=3", "-p",
        "on=true", "--env", "WHO", "--label", "team=vision", "--file", tmp_path / "helper.py", "--description", "über",
        "--timeout", "2h", "--", "--flag", "two words", env={"WHO": "me"},
    )  # fmt: skip
    made = gateway.wait(job)
    assert made["state"] == "succeeded"
    assert made["name"] == "my-net-v2"
    assert made["image"] == "pytorch/pytorch:2.0.0"
    assert made["labels"] == {"team": "vision"}
    assert made["spec"]["parameters"] == {"lr": "0.10", "n": 3, "on": True}
    assert made["spec"]["timeout_seconds"] == 7200
    assert made["description"] == "über"
    log = gateway.logs(job).decode()
    assert "--flag', 'two words'] me 0.10 of the helper" in log
    assert "--epochs=2" in log and "--lr=0.10" in log


def test_a_spec_may_be_json_yaml_or_standard_input_and_flags_replace_its_members(gateway, tmp_path):
    spec = {"name": "from-spec", "image": "a/b:1", "command": ["true"], "replicas": 1, "labels": {"a": "1"}}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
    submit = ["submit", "--no-follow", "-o", "json", "--label", "b=2"]
    for words, stdin in (([tmp_path / "spec.json"], None), ([tmp_path / "spec.yaml"], None), (["-"], json.dumps(spec))):
        made = json.loads(out(gateway, *submit, "--name", "changed", *words, input=stdin))
        assert (made["name"], made["image"]) == ("changed", "a/b:1")
        assert made["labels"] == {"a": "1", "b": "2"}


def test_the_image_comes_from_the_environment_unless_a_flag_says_otherwise(gateway):
    words = ["submit", "--no-follow", "-o", "json", "--command"]
    env = {"TRAINYARD_IMAGE": "own/image:3"}
    assert json.loads(out(gateway, *words, "--", "true", env=env))["image"] == "own/image:3"
    assert json.loads(out(gateway, *words, "--image", "x/y", "--", "true", env=env))["image"] == "x/y"


def test_every_flag_of_a_spec_reaches_its_member(gateway):
    preview = json.loads(
        out(
            gateway, "submit", "--dry-run", "-o", "json", "--name", "all", "--replicas", 2, "--gpus", 1, "--dataset",
            "data", "--output-claim", "results", "--volume", "more:/more:ro", "--checkpoints", "keep:runs/1",
            "--resume", "--keep-last", 3, "--backend", "gloo", "--restart", "never", "--max-retries", 7, "--keep", "1d",
            "--priority", -5, "--memory", "2Gi", "--cpu", "500m", "--shared-memory", "1Gi", "--working-dir", "/here",
            "--suspended", "--command", "--", "prog", "-x",
        )
    )  # fmt: skip
    spec = preview["spec"]
    wanted = {
        "name": "all", "replicas": 2, "gpus": 1, "dataset": "data", "output": "results", "backend": "gloo",
        "volumes": [{"claim": "more", "mount_path": "/more", "read_only": True}],
        "checkpoints": {"volume": "keep", "path": "runs/1", "resume": True, "keep_last": 3}, "restart": "never",
        "max_retries": 7, "keep_seconds": 86400, "priority": -5, "resources": {"memory": "2Gi", "cpu": "500m"},
        "shared_memory": "1Gi", "working_dir": "/here", "suspended": True, "command": ["prog", "-x"],
    }  # fmt: skip
    assert {key: spec.get(key) for key in wanted} == wanted


def test_a_dry_run_prints_what_kubectl_takes_and_stores_nothing(gateway):
    before = out(gateway, "list", "--all", "-o", "name")
    documents = list(yaml.safe_load_all(out(gateway, "submit", "--dry-run", "--command", "--", "true")))
    assert documents[-1]["kind"] == "PyTorchJob"
    assert out(gateway, "list", "--all", "-o", "name") == before


def test_bytes_that_are_not_text_go_as_base64(gateway, tmp_path):
    blob = bytes(range(256))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/blob").write_bytes(blob)
    (tmp_path / "main.py").write_text(
        "import hashlib, pathlib\np = pathlib.Path(__file__).parent / 'sub/blob'\n"
        "print(hashlib.sha256(p.read_bytes()).hexdigest())\n"
    )
    job = out(gateway, "submit", "--no-follow", "-o", "name", "--file", tmp_path / "sub/blob", tmp_path / "main.py")
    gateway.wait(job)
    assert hashlib.sha256(blob).hexdigest() in gateway.logs(job).decode()


def test_one_key_makes_one_job(gateway):
    words = ["submit", "--no-follow", "-o", "name", "--key", "test-one-key", "--command", "--", "true"]
    first = out(gateway, *words)
    assert out(gateway, *words) == first
    changed = run(gateway, *words[:-1], "false", code=REFUSED)
    assert "idempotency_key_reused" in changed.stderr


def test_every_fault_of_a_spec_is_named_by_its_path(gateway):
    done = run(
        gateway, "submit", "--no-follow", "--name", "Bad_Name", "--memory", "lots", "--command", "--", "x", code=REFUSED
    )
    assert "/name" in done.stderr and "/resources/memory" in done.stderr


@pytest.mark.parametrize(
    ("script", "code", "state"),
    [("echo out; echo err >&2", DONE, "succeeded"), ("echo out; exit 3", FAILED, "failed")],
)
def test_a_followed_job_gives_its_log_its_states_and_its_result(gateway, script, code, state):
    done = run(gateway, "submit", "--follow", "--restart", "never", "--command", "--", "sh", "-c", script, code=code)
    assert "out\n" in done.stdout
    assert "trainyard" not in done.stdout
    states = re.findall(r"trainyard: (?!warning)(\w+)(?::| \()", done.stderr)
    assert states[0] == "queued" and states[-1] == state


def test_a_cancelled_job_ends_its_follower_with_code_3(gateway):
    follower = Started(gateway, "submit", "--follow", "--command", "--", "sh", "-c", "echo up; sleep 100")
    assert follower.line() == "up\n"
    job = json.loads(out(gateway, "list", "-o", "json", "--limit", 1))[0]["id"]
    run(gateway, "cancel", job)
    code, _, errors = follower.end()
    assert code == CANCELLED
    assert "cancelled" in errors


def test_interrupting_a_follower_leaves_the_job_and_says_how_to_cancel_it(gateway):
    follower = Started(gateway, "submit", "--follow", "--command", "--", "sh", "-c", "echo up; sleep 100")
    assert follower.line() == "up\n"
    follower.process.send_signal(signal.SIGINT)
    code, _, errors = follower.end()
    assert code == INTERRUPTED
    job = re.search(r"trainyard cancel (job_\w+)", errors).group(1)
    assert gateway.get(f"/v1/jobs/{job}").json()["state"] == "running"
    run(gateway, "cancel", job)


@pytest.mark.parametrize(
    "line",
    [
        "submit",
        "submit --command",
        "submit a.py b.py",
        "submit --replicas x a.json",
        "submit --param novalue --command -- x",
        "submit --env NOT_SET_HERE --command -- x",
        "submit --backend smoke --command -- x",
        "submit --timeout soon --command -- x",
        "submit --volume nopath --command -- x",
        "get",
        "get a b",
        "wait",
        "list --frobnicate",
        "list --limit 0",
        "list -o xml",
        "list --name a --name b",
        "nothing",
        "volumes paint",
        "volumes create x",
        "download x",
        "download x y --all d",
        "completion tcsh",
        "logs x --tail 1 --offset 1",
        "tenants update default",
        "help nothing",
        "",
    ],
)
def test_wrong_words_are_code_2(gateway, line, tmp_path):
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "a.py").write_text("1\n")
    (tmp_path / "b.py").write_text("1\n")
    done = run(gateway, *line.split(), code=USAGE, cwd=tmp_path)
    assert done.stderr or not line


def test_what_cannot_be_read_is_code_1(gateway, tmp_path):
    assert "nothing.py" in run(gateway, "submit", tmp_path / "nothing.py", code=FAILED).stderr


# --- list, get, and how a job is named ---


def test_lists_are_filtered_and_paged(gateway):
    made = [shell_job(gateway, "true", "--name", "paged", "--label", "page=test") for _ in range(7)]
    for job in made:
        gateway.wait(job)
    few = run(gateway, "list", "--label", "page=test", "--limit", 3, "-o", "name")
    assert few.stdout.split() == made[:3:-1]
    assert "there are more" in few.stderr
    with CuttingProxy(gateway.address) as proxy:
        env = {**through(proxy, gateway), "TRAINYARD_DATA": "/nonexistent"}
        everything = run(gateway, "list", "--label", "page=test", "--all", "-o", "json", env=env)
    assert [job["id"] for job in json.loads(everything.stdout)] == made[::-1]
    assert everything.stderr == ""
    oldest = out(
        gateway, "list", "--name", "pag*", "--oldest-first", "--state", "succeeded", "--state", "failed", "-o", "name"
    )
    assert oldest.split() == made
    assert out(gateway, "list", "--name", "pag*", "--state", "failed", "-o", "json") == "[]"
    assert yaml.safe_load(out(gateway, "list", "--label", "page=test", "-o", "yaml"))[0]["name"] == "paged"


def test_pages_are_put_together_into_one_list(gateway):
    """More than one page of 500 in every format."""
    items = [{"image": "a/b", "command": ["true"], "suspended": True, "labels": {"many": "yes"}} for _ in range(500)]
    ids = []
    for count in (500, 5):
        answer = gateway.post("/v1/jobs:batch", {"items": items[:count]}).json()
        ids += [row["job"]["id"] for row in answer["items"]]
    try:
        words = ["list", "--label", "many=yes", "--all", "--oldest-first"]
        assert out(gateway, *words, "-o", "name").split() == ids
        assert [job["id"] for job in json.loads(out(gateway, *words, "-o", "json"))] == ids
        assert [job["id"] for job in yaml.load(out(gateway, *words, "-o", "yaml"), yaml.CSafeLoader)] == ids
        table = out(gateway, *words).split("\n")
        assert len(table) == 506 and table[0].startswith("ID") and table[505].startswith(ids[504])
        assert len(out(gateway, *words[:3], "--limit", 501, "-o", "name").split()) == 501
    finally:
        run(gateway, "delete", "--force", *ids[:300])
        run(gateway, "delete", "--force", *ids[300:])


def test_a_job_is_named_by_id_beginning_or_name(gateway, finished):
    for word in (finished, finished[:28], finished[4:28], "finished"):
        assert json.loads(out(gateway, "get", word, "-o", "json"))["id"] == finished
    assert "several" in run(gateway, "get", "job_0", code=REFUSED).stderr
    for word in ("job_7zzzz", "no-such-name", "Not_A_Name", "job_!", "job_01j9z3k4m5n6p7q8r9s0t1v2w3"):
        run(gateway, "get", word, code=NOT_FOUND)


def test_the_newest_job_of_a_name_is_meant(gateway):
    jobs = [shell_job(gateway, "true", "--name", "twin") for _ in range(2)]
    assert out(gateway, "get", "twin", "-o", "name") == jobs[1]


def test_get_shows_what_belongs_to_a_job(gateway, finished):
    shown = out(gateway, "get", finished)
    assert re.search(r"^state +succeeded$", shown, re.M)
    assert "succeeded" in out(gateway, "get", finished, "--transitions")
    assert out(gateway, "get", finished, "--replicas", "-o", "name") == "master-0"
    assert list(yaml.safe_load_all(out(gateway, "get", finished, "--manifest")))[-1]["kind"] == "PyTorchJob"
    assert json.loads(out(gateway, "get", finished, "--manifest", "-o", "json"))["kind"] == "List"
    assert yaml.safe_load(out(gateway, "get", finished, "-o", "yaml"))["id"] == finished


# --- changing jobs ---


def test_suspend_resume_cancel_restart_clone_and_delete(gateway):
    job = shell_job(gateway, "sleep 100", "--name", "acted-on")
    gateway.wait(job, {"running"})
    assert json.loads(out(gateway, "suspend", job, "-o", "json"))["state"] == "suspended"
    out(gateway, "resume", job)
    gateway.wait(job, {"running"})
    run(gateway, "restart", job, code=REFUSED)
    run(gateway, "delete", job, code=REFUSED)
    assert out(gateway, "cancel", job, "-o", "name") == job
    run(gateway, "wait", job, code=CANCELLED)
    again = json.loads(out(gateway, "restart", "--no-follow", job, "-o", "json"))
    assert again["origin"] == {"job_id": job, "kind": "restart", "changes": []}
    copy = json.loads(out(gateway, "clone", job, "--no-follow", "--name", "copied", "-p", "lr=2", "-o", "json"))
    assert copy["name"] == "copied"
    assert gateway.get(f"/v1/jobs/{copy['id']}").json()["spec"]["parameters"] == {"lr": 2}
    assert json.loads(out(gateway, "delete", "--force", copy["id"], "-o", "json"))["state"] == "cancelling"
    run(gateway, "cancel", again["id"])
    run(gateway, "wait", again["id"], code=CANCELLED)
    run(gateway, "delete", job, again["id"])
    run(gateway, "get", job, code=NOT_FOUND)
    run(gateway, "delete", job, code=NOT_FOUND)
    run(gateway, "delete", job, "no-such-job", "--allow-missing")


def test_of_several_jobs_all_are_tried_and_the_first_failure_counts(gateway):
    first, second = (shell_job(gateway, "sleep 100") for _ in range(2))
    run(gateway, "cancel", first, "no-such-job", second, code=NOT_FOUND)
    for job in (first, second):
        assert gateway.wait(job)["state"] == "cancelled"


# --- wait ---


def test_wait_gives_the_result_of_the_first_job_that_did_not_succeed(gateway):
    good = shell_job(gateway, "sleep 0.5")
    bad = shell_job(gateway, "exit 4", "--restart", "never")
    run(gateway, "wait", good)
    done = run(gateway, "wait", good, bad, "-o", "name", code=FAILED)
    assert done.stdout.split() == [good, bad]
    run(gateway, "wait", "no-such-job", bad, code=NOT_FOUND)


def test_wait_gives_up_when_its_time_is_over(gateway):
    job = shell_job(gateway, "sleep 100")
    assert "still" in run(gateway, "wait", job, "--timeout", 1, code=TIMEOUT).stderr
    run(gateway, "cancel", job)


def test_wait_outlives_the_gateway(own_gateway):
    job = shell_job(own_gateway, "sleep 4")
    with CuttingProxy(own_gateway.address) as proxy:
        waiter = Started(None, "wait", job, "-o", "name", env=through(proxy, own_gateway))
        own_gateway.wait(job, {"running"})
        own_gateway.kill()
        time.sleep(0.5)
        own_gateway.start()
        proxy.upstream = own_gateway.address
        code, output, errors = waiter.end()
    assert (code, output.strip()) == (DONE, job), errors


def test_wait_for_any_tells_of_those_that_have_ended(gateway):
    slow = shell_job(gateway, "sleep 100")
    quick = shell_job(gateway, "exit 4", "--restart", "never")
    done = run(gateway, "wait", slow, quick, "--any", "-o", "name", code=FAILED)
    assert done.stdout.split() == [quick]
    assert "still" in run(gateway, "wait", slow, "--any", "--timeout", 1, code=TIMEOUT).stderr
    run(gateway, "cancel", slow)


# --- events ---

STEPS = ["job.queued", "job.starting", "job.running", "job.succeeded"]


def steps(lines):
    events = [json.loads(line) for line in lines.splitlines()]
    return [event["type"] for event in events if event["type"].startswith("job.")]


def test_events_of_a_job_are_followed_to_its_end_and_read_again(gateway):
    job = shell_job(gateway, "sleep 0.3", "--label", "show=events")
    followed = run(gateway, "events", "-f", "--job", job, "-o", "json").stdout
    assert steps(followed) == STEPS
    assert run(gateway, "events", "--job", job, "-o", "json").stdout == followed
    table = run(gateway, "events", "--label", "show=events", "--type", "job.running").stdout.split("\n")
    assert len(table) == 2 and job in table[0] and "job.running" in table[0]
    assert run(gateway, "events", "--job", job, "--type", "job.succeeded", "-o", "name").stdout.split() == [job]
    last = json.loads(followed.splitlines()[-2])["id"]
    assert steps(run(gateway, "events", "--job", job, "--after", last, "-o", "json").stdout) == STEPS[-1:]


def test_events_break_off_and_go_on_with_none_lost_and_none_twice(gateway):
    job = gateway.wait(shell_job(gateway, "true"))["id"]
    whole = run(gateway, "events", "--job", job, "-o", "json").stdout
    with CuttingProxy(gateway.address, cuts=[100, 900, 1500, 0, 40], where="/events") as proxy:
        cut = run(None, "events", "--job", job, "-o", "json", env=through(proxy, gateway))
        assert cut.stdout == whole
        assert len(proxy.requests("/events")) == 6


def test_events_go_on_over_a_restart_of_the_gateway(own_gateway):
    with CuttingProxy(own_gateway.address) as proxy:
        follower = Started(None, "events", "-f", "--type", "job.suspended", "-o", "json", env=through(proxy, own_gateway))
        deadline = time.monotonic() + 30
        while not proxy.requests("/events"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.3)
        jobs = [own_gateway.submit(script="1", suspended=True)["id"] for _ in range(3)]
        own_gateway.stop()
        own_gateway.start()
        proxy.upstream = own_gateway.address
        jobs += [own_gateway.submit(script="1", suspended=True)["id"] for _ in range(3)]
        seen = [json.loads(follower.process.stdout.readline())["data"]["job_id"] for _ in jobs]
        follower.process.kill()
        follower.process.communicate()
    assert seen == jobs


@pytest.mark.parametrize(
    "words", [["-o", "yaml"], ["--job", "x", "--label", "a=b"], ["--type", "job.nothing"], ["--after", "1" * 70]]
)
def test_events_refuse_what_makes_no_sense(gateway, words):
    run(gateway, "events", *words, code=USAGE)


# --- logs ---


def test_logs_are_whole_and_begin_where_told(gateway, finished):
    assert run(gateway, "logs", finished).stdout == LINES
    assert run(gateway, "logs", finished, "-n", 2).stdout == "39999\n40000\n"
    assert run(gateway, "logs", finished, "--tail", 0).stdout == ""
    assert run(gateway, "logs", finished, "--offset", 10).stdout == LINES[10:]
    assert run(gateway, "logs", finished, "--attempt", 1, "--replica", "master-0").stdout == LINES
    assert run(gateway, "logs", finished, "--follow").stdout == LINES
    run(gateway, "logs", finished, "--replica", "worker-5", code=NOT_FOUND)
    run(gateway, "logs", finished, "--offset", 10**9, code=REFUSED)


@pytest.mark.parametrize("flags", [[], ["--follow"], ["--tail", "39990"], ["--attempt", "1"]])
def test_a_log_that_is_cut_off_again_and_again_has_no_gap_and_no_repeat(gateway, finished, flags):
    cuts = [1, 0, 5, 65536, -1, 3, 20000, 70000]
    with CuttingProxy(gateway.address, cuts, where="/logs") as proxy:
        done = run(None, "logs", finished, *flags, env=through(proxy, gateway))
    wanted = LINES if "--tail" not in flags else LINES[LINES.index("\n11\n") + 1 :]
    assert done.stdout == wanted
    assert len(proxy.requests("/logs")) > len(cuts)


def test_bytes_that_are_not_text_pass_unchanged(gateway):
    job = shell_job(gateway, r"printf 'a\000\377\r\n\033[31m'")
    gateway.wait(job)
    assert run(gateway, "logs", job, text=False).stdout == b"a\0\xff\r\n\x1b[31m"


def test_a_live_log_is_followed_over_cuts_and_a_crash_of_the_gateway(own_gateway):
    script = "for i in $(seq 1 300); do echo line $i; sleep 0.02; done"
    with CuttingProxy(own_gateway.address, [10, 100, -1, 1000], where="/logs") as proxy:
        words = ["submit", "--follow", "--command", "--", "sh", "-c", script]
        follower = Started(None, *words, env=through(proxy, own_gateway))
        assert follower.line() == "line 1\n"
        time.sleep(1.5)
        own_gateway.kill()
        own_gateway.start()
        proxy.upstream = own_gateway.address
        code, output, errors = follower.end()
    assert output.split("\n") == [f"line {i}" for i in range(2, 301)] + [""], errors
    assert code == DONE


def test_a_draining_gateway_does_not_end_a_follower(own_gateway):
    job = shell_job(own_gateway, "for i in $(seq 1 150); do echo line $i; sleep 0.02; done")
    own_gateway.wait(job, {"running"})
    with CuttingProxy(own_gateway.address) as proxy:
        follower = Started(None, "logs", job, "-f", env=through(proxy, own_gateway))
        assert follower.line() == "line 1\n"
        own_gateway.stop()
        own_gateway.start()
        proxy.upstream = own_gateway.address
        code, output, errors = follower.end()
    assert output.split("\n") == [f"line {i}" for i in range(2, 151)] + [""], errors
    assert code == DONE


def test_a_follower_waits_for_a_job_that_has_not_started(gateway):
    job = shell_job(gateway, "echo at last", "--suspended")
    follower = Started(gateway, "logs", job, "--follow")
    time.sleep(0.3)
    assert follower.process.poll() is None
    run(gateway, "resume", job)
    assert follower.end()[:2] == (DONE, "at last\n")


# --- files ---


def contents(gateway: Gateway, job: str, path: str) -> bytes:
    return gateway.get(f"/v1/jobs/{job}/artifacts/{path}").content


def test_artifacts_and_checkpoints_are_listed(gateway, finished):
    table = out(gateway, "artifacts", finished)
    assert re.search(r"^model\.pth +2\.9 MiB ", table, re.M)
    assert out(gateway, "artifacts", finished, "-o", "name").split("\n") == ["empty", "model.pth", "sub/a b%.txt"]
    script = "cd /output; mkdir -p checkpoints; echo 1 > checkpoints/e1.pt; sleep 0.05; echo 22 > checkpoints/e2.pt"
    job = shell_job(gateway, script, "--checkpoints", ":checkpoints")
    assert gateway.wait(job)["state"] == "succeeded", gateway.logs(job)
    assert out(gateway, "checkpoints", job, "-o", "name").split() == ["e1.pt", "e2.pt"]
    assert run(gateway, "download", job, "--latest-checkpoint", "--to", "-").stdout == "22\n"


def test_without_a_checkpoint_there_is_nothing_to_download(gateway):
    job = shell_job(gateway, "true", "--checkpoints", ":checkpoints")
    gateway.wait(job)
    run(gateway, "download", job, "--latest-checkpoint", code=NOT_FOUND)


def test_a_file_is_downloaded_under_its_name_or_another(gateway, finished, tmp_path):
    model = contents(gateway, finished, "model.pth")
    assert out(gateway, "download", finished, "model.pth", cwd=tmp_path) == "model.pth"
    out(gateway, "download", finished, "model.pth", "--to", tmp_path / "other")
    (tmp_path / "folder").mkdir()
    out(gateway, "download", finished, "sub/a b%.txt", "--to", tmp_path / "folder")
    out(gateway, "download", finished, "empty", "--to", tmp_path / "empty")
    assert (tmp_path / "model.pth").read_bytes() == (tmp_path / "other").read_bytes() == model
    assert (tmp_path / "folder/a b%.txt").read_text() == "one\n"
    assert (tmp_path / "empty").read_bytes() == b""
    assert run(gateway, "download", finished, "model.pth", "--to", "-", text=False).stdout == model
    run(gateway, "download", finished, "missing", "--to", tmp_path / "missing", code=NOT_FOUND)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "folder", "model.pth", "other"]


@pytest.mark.parametrize("to", ["file", "-"])
def test_a_download_that_is_cut_off_goes_on_where_it_stopped(gateway, finished, tmp_path, to):
    cuts = [-1, 0, 1, 1000000, 5, 900000]
    target = tmp_path / to if to != "-" else "-"
    with CuttingProxy(gateway.address, cuts, where="/artifacts/") as proxy:
        done = run(None, "download", finished, "model.pth", "--to", target, env=through(proxy, gateway), text=False)
    model = contents(gateway, finished, "model.pth")
    assert (done.stdout if to == "-" else target.read_bytes()) == model
    ranges = [seen.headers.get("range") for seen in proxy.requests("/artifacts/")]
    assert ranges[-1] == "bytes=1900006-"
    assert all("if-range" in seen.headers for seen in proxy.requests("/artifacts/") if "range" in seen.headers)
    assert [path.name for path in tmp_path.iterdir()] == ([] if to == "-" else ["file"])


def part_of(gateway: Gateway, job: str, path: str, target: pathlib.Path, part: bytes) -> None:
    """What a client leaves behind that was killed in the middle of a download."""
    etag = gateway.request("HEAD", f"/v1/jobs/{job}/artifacts/{path}").headers["ETag"]
    target.with_name(target.name + ".part").write_bytes(part)
    target.with_name(target.name + ".part.etag").write_text(etag)


def test_a_later_run_goes_on_with_the_part_of_an_earlier_one(gateway, finished, tmp_path):
    model = contents(gateway, finished, "model.pth")
    for have in (1234567, len(model)):
        target = tmp_path / f"file-{have}"
        part_of(gateway, finished, "model.pth", target, model[:have])
        with CuttingProxy(gateway.address) as proxy:
            run(None, "download", finished, "model.pth", "--to", target, env=through(proxy, gateway))
        assert target.read_bytes() == model
        assert proxy.requests("/artifacts/")[0].headers["range"] == f"bytes={have}-"


def test_a_part_of_another_file_is_not_gone_on_with(gateway, finished, tmp_path):
    target = tmp_path / "file"
    target.with_name("file.part").write_bytes(b"old" * 1000)
    target.with_name("file.part.etag").write_text('"of-another-file"')
    run(gateway, "download", finished, "model.pth", "--to", target)
    assert target.read_bytes() == contents(gateway, finished, "model.pth")


def test_a_damaged_download_is_told_and_thrown_away(gateway, finished, tmp_path):
    target = tmp_path / "file"
    part_of(gateway, finished, "model.pth", target, b"x" * 1000)
    assert "SHA-256" in run(gateway, "download", finished, "model.pth", "--to", target, code=FAILED).stderr
    assert list(tmp_path.iterdir()) == []


def test_all_files_are_fetched_into_a_tree_and_only_once(gateway, finished, tmp_path):
    run(gateway, "download", finished, "--all", tmp_path / "tree")
    assert (tmp_path / "tree/sub/a b%.txt").read_text() == "one\n"
    assert (tmp_path / "tree/model.pth").read_bytes() == contents(gateway, finished, "model.pth")
    with CuttingProxy(gateway.address) as proxy:
        run(None, "download", finished, "--all", tmp_path / "tree", env=through(proxy, gateway))
    assert {seen.method for seen in proxy.requests("/artifacts/")} == {"HEAD"}


# --- volumes, tokens, tenants ---


def test_volumes_are_made_shown_and_removed(gateway):
    assert (
        out(gateway, "volumes", "create", "cli-data", "1Gi", "--access-mode", "read_write_many", "-o", "name")
        == "cli-data"
    )
    assert json.loads(out(gateway, "volumes", "get", "cli-data", "-o", "json"))["access_mode"] == "read_write_many"
    assert "cli-data" in out(gateway, "volumes", "-o", "name").split()
    run(gateway, "volumes", "create", "cli-data", "1Gi", code=REFUSED)
    run(gateway, "volumes", "delete", "cli-data")
    run(gateway, "volumes", "get", "cli-data", code=NOT_FOUND)
    run(gateway, "volumes", "delete", "cli-data", code=NOT_FOUND)
    run(gateway, "volumes", "delete", "cli-data", "--allow-missing")


def test_tokens_are_made_rotated_and_revoked(gateway, tmp_path):
    file = tmp_path / "token"
    token = out(
        gateway, "tokens", "create", "for tests", "--role", "viewer", "--expires", "1d", "--to", file, "-o", "name"
    )
    assert file.stat().st_mode & 0o777 == 0o600
    first = {"TRAINYARD_TOKEN_FILE": str(file)}
    assert "viewer" in out(gateway, "whoami", env=first)
    run(gateway, "submit", "--no-follow", "--command", "--", "true", code=AUTH, env=first)
    old = {"TRAINYARD_TOKEN": file.read_text().strip()}
    run(gateway, "tokens", "rotate", token, "--to", file)
    run(gateway, "whoami", code=AUTH, env=old)
    run(gateway, "whoami", env=first)
    run(gateway, "--token-file", file, "whoami", env=old)
    assert token in out(gateway, "tokens", "list", "-o", "name").split()
    run(gateway, "tokens", "delete", token)
    run(gateway, "whoami", code=AUTH, env=first)
    shown = json.loads(out(gateway, "tokens", "create", "b", "--scopes", "jobs:read,logs:read", "-o", "json"))
    assert shown["scopes"] == ["jobs:read", "logs:read"] and shown["token"].startswith("ty_u_")
    run(gateway, "tokens", "delete", shown["id"])


def test_a_policy_comes_from_a_file_or_a_word(gateway, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text("images: ['pytorch/*']\nlimits: {gpus: 2}\n")
    made = json.loads(out(gateway, "tenants", "create", "cli-policy", "--policy", file, "-o", "json"))
    assert made["policy"] == {"images": ["pytorch/*"], "limits": {"gpus": 2}}
    assert "pytorch/*" in out(gateway, "tenants", "get", "cli-policy")
    file.write_text("limits: {gpus: null, replicas: 3}\n")
    changed = json.loads(out(gateway, "tenants", "update", "cli-policy", "--policy", file, "-o", "json"))
    assert changed["policy"] == {"images": ["pytorch/*"], "limits": {"replicas": 3}}
    shut = json.loads(out(gateway, "tenants", "update", "cli-policy", "--policy", "closed", "-o", "json"))
    assert shut["policy"] == {}
    refused = run(gateway, "--tenant", "cli-policy", "submit", "--command", "--", "true", code=REFUSED)
    assert "/image" in refused.stderr and "images lists none" in refused.stderr
    opened = json.loads(out(gateway, "tenants", "update", "cli-policy", "--policy", "open", "-o", "json"))
    assert opened["policy"] == json.loads(out(gateway, "tenants", "get", "default", "-o", "json"))["policy"]
    file.write_text("images: [ghcr.io]\n")
    bad = run(gateway, "tenants", "update", "cli-policy", "--policy", file, code=REFUSED)
    assert "/policy/images/0" in bad.stderr
    run(gateway, "tenants", "delete", "cli-policy")


def test_get_tells_how_a_clone_differs(gateway):
    job = out(gateway, "submit", "--no-follow", "-o", "name", "--command", "--", "true").strip()
    clone = out(gateway, "clone", job, "--no-follow", "--epochs", 3, "-o", "name").strip()
    shown = out(gateway, "get", clone)
    assert re.search(r"^changed +/epochs: \(nothing\) -> 3$", shown, re.M), shown
    assert re.search(rf"^origin .*{job}", shown, re.M) and "changed" not in out(gateway, "get", job)


def test_tenants_are_made_changed_used_and_removed(gateway):
    made = json.loads(
        out(gateway, "tenants", "create", "cli-team", "--max-gpus", 8, "--default-keep", "2h", "-o", "json")
    )
    assert (made["quota"]["max_gpus"], made["default_keep_seconds"]) == (8, 7200)
    changed = json.loads(
        out(gateway, "tenants", "update", "cli-team", "--max-gpus", "none", "--max-jobs", 2, "-o", "json")
    )
    assert (changed["quota"]["max_gpus"], changed["quota"]["max_jobs"]) == (None, 2)
    assert out(gateway, "--tenant", "cli-team", "list", "-o", "json") == "[]"
    assert (
        json.loads(out(gateway, "whoami", "-o", "json", env={"TRAINYARD_TENANT": "cli-team"}))["tenant"]["name"]
        == "cli-team"
    )
    assert made["policy"] == {}
    assert "cli-team" in out(gateway, "tenants", "-o", "name").split()
    assert re.search(r"^max_jobs|^quota +max_jobs=2", out(gateway, "tenants", "get", "cli-team"), re.M)
    run(gateway, "tenants", "delete", "cli-team")
    run(gateway, "tenants", "get", "cli-team", code=NOT_FOUND)


# --- calls that fail, and their repeats ---


def test_a_busy_gateway_is_asked_again_with_the_same_key(gateway):
    with CuttingProxy(gateway.address, busy=2) as proxy:
        done = run(None, "submit", "--no-follow", "--command", "-o", "name", "--", "true", env=through(proxy, gateway))
    posts = proxy.requests("/v1/jobs")
    assert len(posts) == 3
    assert len({seen.headers["idempotency-key"] for seen in posts}) == 1
    assert "again in" in done.stderr


def test_an_answer_lost_on_the_way_does_not_make_two_jobs(gateway):
    with CuttingProxy(gateway.address, [-1, -1]) as proxy:
        run(
            None, "submit", "--no-follow", "--label", "lost=answer", "--command", "-o", "name", "--", "true",
            env=through(proxy, gateway),
        )  # fmt: skip
    assert len(proxy.requests()) == 3
    assert len(out(gateway, "list", "--label", "lost=answer", "-o", "name").split()) == 1


def test_a_removal_whose_answer_was_lost_is_done(gateway):
    job = shell_job(gateway, "true")
    gateway.wait(job)
    with CuttingProxy(gateway.address, [-1]) as proxy:
        run(None, "delete", job, env=through(proxy, gateway))
    assert [seen.method for seen in proxy.requests()] == ["DELETE", "DELETE"]


def test_a_change_without_a_key_is_not_repeated(gateway):
    with CuttingProxy(gateway.address, busy=1) as proxy:
        run(None, "tenants", "update", "default", "--description", "x", code=UNAVAILABLE, env=through(proxy, gateway))
    assert len(proxy.requests()) == 1


def test_a_gateway_that_is_not_there_is_code_7():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    job = "job_01j9z3k4m5n6p7q8r9s0t1v2w3"
    clients = [
        Started(None, "--address", address, *words, env={"TRAINYARD_TOKEN": "ty_u_x"})
        for words in (["list"], ["wait", job], ["wait", job, "--timeout", "1"], ["logs", job], ["logs", job, "-f"],
                      ["download", job, "x", "--to", "-"])
    ]  # fmt: skip
    for client in clients:
        code, output, errors = client.end()
        assert (code, output) == (UNAVAILABLE, "") and "cannot be reached" in errors


def test_without_a_token_and_with_a_bad_one_it_is_code_4(gateway, tmp_path):
    run(None, "list", code=AUTH, env={"TRAINYARD_DATA": str(tmp_path)})
    run(gateway, "list", code=AUTH, env={"TRAINYARD_TOKEN": "ty_u_" + "x" * 36})
    assert "missing" in run(gateway, "list", "--token-file", tmp_path / "missing", code=AUTH).stderr


def test_the_token_of_this_machine_stays_on_this_machine(gateway):
    done = run(gateway, "--address", "http://gateway.invalid:1", "list", code=AUTH)
    assert "no token" in done.stderr


# --- terminals ---


def in_terminal(words: list[str], env: dict[str, str]) -> tuple[int, str]:
    """Run with a terminal on all three ends; exit code and what the terminal showed."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(CLIENT, [str(CLIENT), *words], env)
    shown = b""
    while True:
        if not select.select([terminal], [], [], 60)[0]:
            os.kill(child, signal.SIGKILL)
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


def test_colours_are_for_terminals_that_want_them(gateway, finished):
    words = ["get", finished]
    assert f"{ESCAPE}32msucceeded{ESCAPE}0m" in in_terminal(words, environment(gateway))[1]
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}):
        assert ESCAPE not in in_terminal(words, environment(gateway, **env))[1]
    assert ESCAPE not in in_terminal([*words, "--no-color"], environment(gateway))[1]
    assert ESCAPE not in out(gateway, *words)
    assert ESCAPE not in out(gateway, *words, env={"CLICOLOR_FORCE": "0"})
    assert ESCAPE in out(gateway, *words, env={"CLICOLOR_FORCE": "1"})
    assert ESCAPE in out(gateway, "list", env={"CLICOLOR_FORCE": "1"})
    assert ESCAPE not in out(gateway, "list", "-o", "json", env={"CLICOLOR_FORCE": "1"})


def test_a_terminal_follows_by_default_and_shows_progress(gateway, finished, tmp_path):
    code, shown = in_terminal(["submit", "--command", "--", "echo", "hello"], environment(gateway))
    assert code == DONE and "hello" in shown and "succeeded" in shown and "starting" in shown
    code, shown = in_terminal(["submit", "--no-follow", "--command", "--", "true"], environment(gateway))
    assert code == DONE and "trainyard logs job_" in shown
    code, shown = in_terminal(["download", finished, "model.pth", "--to", str(tmp_path / "f")], environment(gateway))
    assert code == DONE and re.search(r"\rmodel\.pth  2\.9 MiB", shown)
    code, shown = in_terminal(["submit", "-o", "name", "--command", "--", "true"], environment(gateway))
    assert re.search(r"^job_\w+\r$", shown, re.MULTILINE)


def test_control_characters_of_a_description_do_not_reach_the_terminal(gateway):
    job = shell_job(gateway, "true", "--description", "a\x1b[31mb\nc")
    assert "a?[31mb?c" in out(gateway, "get", job)


# --- help and completion ---


def commands_of(text: str) -> list[str]:
    return re.findall(r"^  ([a-z]+(?: [a-z]+)?) {2,}\S", text.split("Commands:")[1].split("\n\n")[0], re.M)


def test_every_command_has_help(gateway):
    names = commands_of(run(None, "help").stdout)
    assert {"submit", "logs", "download", "tenants", "completion"} <= set(names)
    for name in names:
        shown = run(None, "help", name).stdout
        assert shown == run(None, name, "--help").stdout
        assert shown.startswith(f"trainyard {name}")
        for child in commands_of(shown) if "Commands:" in shown else []:
            assert run(None, *child.split(), "-h").stdout.startswith(f"trainyard {child}")
    assert "130" in run(None, "help", "exit-codes").stdout
    assert re.match(r"trainyard \d", run(None, "--version").stdout)
    assert run(None, "--help").stdout == run(None, "help").stdout


def complete_in_bash(gateway: Gateway | None, *words: str) -> list[str]:
    """What bash would offer for the last word."""
    script = (
        'eval "$(trainyard completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _trainyard;'
        ' printf "%s\\n" "${COMPREPLY[@]-}"'
    )
    env = environment(gateway, PATH=f"{BIN}:{os.environ['PATH']}")
    done = subprocess.run(
        ["bash", "-uc", script, "bash", "trainyard", *words], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split()


def test_bash_completes_commands_flags_values_and_live_names(gateway, finished):
    assert complete_in_bash(gateway, "su") == ["submit", "suspend"]
    assert "--replicas" in complete_in_bash(gateway, "submit", "--re")
    assert complete_in_bash(gateway, "submit", "--backend", "") == ["nccl", "gloo", "mpi"]
    assert complete_in_bash(gateway, "-o", "json", "list", "-o", "") == ["table", "wide", "json", "yaml", "name"]
    assert complete_in_bash(gateway, "volumes", "cr") == ["create"]
    assert complete_in_bash(gateway, "tokens", "create", "x", "--role", "v") == ["viewer"]
    assert finished in complete_in_bash(gateway, "logs", finished[:10])
    assert "finished" in complete_in_bash(gateway, "--no-color", "get", "fin")
    assert complete_in_bash(gateway, "completion", "") == ["bash", "zsh", "fish"]
    assert complete_in_bash(None, "logs", "x") == []


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_takes_the_script_and_completes(gateway, finished):
    # zpty gives the completion system the terminal it wants.
    script = r"""
        zmodload zsh/zpty
        zpty z zsh -f -i
        zpty -w z 'PS1=; autoload -Uz compinit; compinit -u -D; source <(trainyard completion zsh); stty columns 500'
        zpty -w z 'zstyle ":completion:*" list-prompt ""; LISTMAX=1000; print re""ady'
        zpty -r z line '*ready*'
        zpty -w -n z "$1"$'\t\t'
        sleep 2
        while zpty -r -t z line; do print -r -- $line; done
    """
    env = environment(gateway, PATH=f"{BIN}:{os.environ['PATH']}")

    def shown(typed: str) -> str:
        return subprocess.run(
            ["zsh", "-fc", script, "zsh", typed], env=env, capture_output=True, text=True, timeout=60
        ).stdout

    assert "suspend" in shown("trainyard su")
    assert "create" in shown("trainyard volumes ")
    assert "viewer" in shown("trainyard tokens create x --role=")
    assert finished in shown(f"trainyard logs {finished[:29]}")


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_takes_the_script_and_completes(gateway, finished, tmp_path):
    env = environment(gateway, PATH=f"{BIN}:{os.environ['PATH']}", HOME=str(tmp_path))

    def complete(line: str) -> list[str]:
        done = subprocess.run(
            ["fish", "-c", f"trainyard completion fish | source; complete -C {json.dumps(line)}"],
            env=env, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.stderr == ""
        return [row.split("\t")[0] for row in done.stdout.split("\n") if row]

    assert complete("trainyard su") == ["submit", "suspend"]
    assert "create" in complete("trainyard volumes ")
    assert complete("trainyard submit --backend ") == ["gloo", "mpi", "nccl"]
    assert finished in complete("trainyard logs job_")
    assert finished in complete("trainyard get ")
    assert finished not in complete("trainyard volumes get ")


def test_base64_of_the_digest_is_what_the_gateway_says(gateway, finished):
    """The comparison that downloads rest on, made by hand."""
    model = contents(gateway, finished, "model.pth")
    digest = gateway.request("HEAD", f"/v1/jobs/{finished}/artifacts/model.pth").headers["Repr-Digest"]
    assert digest == f"sha-256=:{base64.b64encode(hashlib.sha256(model).digest()).decode()}:"
