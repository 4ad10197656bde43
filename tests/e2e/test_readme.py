"""The README says what is so: its shell examples run, its job is accepted, its tables are the program's own."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import time

import pytest

from gateway import BIN, TOP

README = (TOP / "README.md").read_text(encoding="utf-8")
MAPS = ["README.md", "CHANGELOG.md", "server/README.md", "server/executor/README.md"]
# `sh` blocks are run, in order and in one shell; `console` ones set up a machine and are only looked at.
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
# First words of a path that the tree must have when a text names it, from the top or from the page's own folder.
TOPS = {path.name for path in TOP.iterdir()} - {".git", "build"}
ROOMS = {path.name for path in (TOP / "server").iterdir() if path.is_dir()}


def blocks(kind):
    return [text for given, text in BLOCKS if given == kind]


def paths_in(text, first_words=TOPS):
    """What looks like a path of the tree, within code spans and fenced blocks; `*` is a wildcard in it."""
    code = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    code += re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    words = {re.sub(r"<\w+>", "*", word.rstrip(".,:;")) for part in code for word in re.split(r"[\s'\"()]+", part)}
    return sorted(word for word in words if word.split("/")[0] in first_words)


def table(heading, page=README):
    """The rows of the first table behind a heading, as lists of cells."""
    section = page.split(heading + "\n", 1)[1]
    lines = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(cell):
    return re.findall(r"`(\w+)`", cell)


@pytest.fixture(scope="module")
def contract(gateway):
    return gateway.get("/openapi.json").json()["components"]["schemas"]


def test_every_block_says_what_it_is():
    assert {kind for kind, _ in BLOCKS} == {"sh", "console", "json"}
    assert len(blocks("sh")) >= 6


def test_the_examples_run_in_order(gateway, tmp_path):
    (tmp_path / "clients").symlink_to(TOP / "clients")
    parts = [f"echo '@@ block {n}' >&2\n{text}" for n, text in enumerate(blocks("sh"), 1)]
    done = subprocess.run(
        ["bash", "-c", "set -euo pipefail\n" + "\n".join(parts)],
        cwd=tmp_path,
        env={"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path), "TRAINYARD_DATA": str(gateway.data)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=420,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    losses = [float(value) for value in re.findall(r"epoch=\d loss=([0-9.]+)", done.stdout)]
    assert losses[2] < losses[0] / 2, "the first job learns"
    assert "hello tensor(3.)" in done.stdout and "exit code 3" in done.stdout
    for file in ("latest.pt", "mlp.pth", "model.pth"):
        assert (tmp_path / file).read_bytes()[:2] == b"PK", file
    assert (tmp_path / "again.json").read_text() == (tmp_path / "answer.json").read_text()


def kubectl_lines():
    """The rows of the table of kubectl's commands: the first code span of each of its cells."""
    return [[re.search(r"`(.*)`", cell)[1] for cell in row] for row in table("## You already have a manifest")]


def shell(command, folder, gateway, **variables):
    done = subprocess.run(
        ["bash", "-c", f"set -euo pipefail\n{command}"],
        cwd=folder,
        env={"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(folder), "TRAINYARD_DATA": str(gateway.data), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_each_kubectl_line_has_a_curl_and_a_client_line_that_run(gateway, tmp_path):
    """What each pair prints is looked at, too: the same job is shown, its replicas say their rank, and it goes."""
    manifest, = (text for text in blocks("sh") if "cat >pytorchjob.yaml" in text)
    shell(manifest[: manifest.index("\nYAML\n") + 6], tmp_path, gateway)
    (tmp_path / "token.header").write_text(f"Authorization: Bearer {gateway.token}")
    (kubectl, curl_create, client_create), *rows = kubectl_lines()
    assert kubectl == "kubectl apply -f pytorchjob.yaml" and len(rows) == 11
    url = gateway.url("")

    def create():
        made = json.loads(shell(curl_create, tmp_path, gateway, url=url))
        shell(client_create, tmp_path, gateway)
        return made["id"]

    job_id = create()
    for kubectl, curl, client in rows:
        if "delete" in kubectl and not gateway.get(f"/v1/jobs/{job_id}").ok:
            job_id = create()
        newest = gateway.get("/v1/jobs?name=basic-pytorchjob&limit=1").json()["items"][0]["id"]
        if "delete" in kubectl and "--force" not in kubectl:
            for each in (job_id, newest):
                gateway.wait(each)
        by_curl, by_client = shell(curl, tmp_path, gateway, url=url, id=job_id), shell(client, tmp_path, gateway)
        if "logs" in kubectl:
            assert re.match(r"rank \d\n", by_curl) and by_curl == by_client, kubectl
        elif "delete" in kubectl:
            for each in (job_id, newest):
                gone_within(gateway, each)
        else:
            assert "basic-pytorchjob" in by_curl or "master-0" in by_curl or "succeeded" in by_curl or "queued" in by_curl
            assert by_client.strip()


def gone_within(gateway, job_id, seconds=60.0):
    end = time.monotonic() + seconds
    while gateway.get(f"/v1/jobs/{job_id}").status_code != 404:
        assert time.monotonic() < end, "the job stays"
        time.sleep(0.1)


@pytest.mark.parametrize("body", blocks("json"))
def test_each_json_example_is_a_job(gateway, body):
    answer = gateway.post("/v1/jobs?dry_run=true", data=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200, answer.text


def test_the_configuration_table_is_the_daemons_own():
    own = subprocess.run([BIN / "trainyardd", "config", "markdown"], capture_output=True, text=True, check=True).stdout
    assert own.count("\n") > 10 and f"\n{own}\n" in README


def test_the_job_table_names_every_member(contract):
    named = [name for row in table("## The job") for name in names(row[0])]
    assert sorted(named) == sorted(contract["JobSpec"]["properties"])


def test_the_state_table_names_every_state_and_only_known_causes(contract):
    rows = table("### States and causes")
    assert [names(row[0])[0] for row in rows] == contract["State"]["x-extensible-enum"]
    assert {name for row in rows for name in names(row[2])} <= set(contract["Cause"]["x-extensible-enum"])


def test_the_role_table_names_every_role(contract):
    assert [names(row[0])[0] for row in table("## Tenants and tokens")] == contract["Role"]["enum"]


def test_the_policy_table_names_every_member(contract):
    rows = table("### What a tenant's jobs may ask for")
    named = {name for row in rows for name in names(row[0])} | {"require_digest"}
    assert named == set(contract["Policy"]["properties"])
    limits = next(row[1] for row in rows if row[0] == "`limits`")
    assert set(names(limits)) == set(contract["PolicyLimits"]["properties"])


def test_the_limits_are_the_contracts_own(gateway, contract):
    text = README.split("## Limits\n", 1)[1]
    paths = gateway.get("/openapi.json").json()["paths"]
    mebibyte = 1024 * 1024
    assert paths["/v1/jobs"]["post"]["x-body-limit"] == 4 * mebibyte and "4 MiB" in text
    assert paths["/v1/jobs:batch"]["post"]["x-body-limit"] == 16 * mebibyte and "16 MiB" in text
    assert contract["JobBatch"]["properties"]["items"]["maxItems"] == 500
    assert [contract[name]["maximum"] for name in ("Replicas", "Gpus", "Processes")] == [1000, 64, 256]
    assert contract["TokenLife"]["maximum"] == 366 * 86400


@pytest.mark.parametrize("page", MAPS)
def test_every_path_named_is_there(page):
    text = (TOP / page).read_text(encoding="utf-8")
    found = paths_in(text, TOPS | ROOMS) if page == "server/README.md" else paths_in(text)
    assert [path for path in found if not any(TOP.glob(path)) and not any((TOP / "server").glob(path))] == []


def test_the_search_for_paths_finds_some():
    assert {"deploy/quickstart.sh", "tests/run.sh", "server/README.md", ".ci/run"} <= set(paths_in(README))
    assert len(paths_in((TOP / "server/README.md").read_text(), TOPS | ROOMS)) > 20
    assert paths_in("see `server/nothing.c` and `GET /v1/jobs`") == ["server/nothing.c"]


def test_the_maps_arrows_are_the_walls():
    spec = importlib.util.spec_from_file_location("walls", TOP / "tests/walls.py")
    walls = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(walls)
    rows = table("## Rooms and arrows", (TOP / "server/README.md").read_text(encoding="utf-8"))
    assert {names(row[0])[0] for row in rows} == ROOMS
    drawn = {names(row[0])[0]: set(row[2].split(", ")) - {""} for row in rows if not row[2].startswith("every")}
    assert drawn == {room: walls.ARROWS[room] for room in drawn} and len(drawn) > 8


@pytest.mark.parametrize("script", ["deploy/quickstart.sh", "deploy/packages.sh"])
def test_the_scripts_read_by_a_newcomer_are_sound(script):
    path = pathlib.Path(TOP / script)
    subprocess.run(["bash", "-n", path], check=True)
    assert path.read_text().startswith("#!" if os.access(path, os.X_OK) else "#")


def test_the_quickstart_refuses_what_it_does_not_know():
    done = subprocess.run([TOP / "deploy/quickstart.sh", "--nonsense"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage" in done.stderr
