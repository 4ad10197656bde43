"""Artefacts, checkpoints and volumes: names, ranges, validators, and what must not get out."""

from __future__ import annotations

import base64
import hashlib
import socket
import time
import urllib.parse

import pytest

NAMES = [
    b"a b.pt", b"a+b.pt", b"a%20b.pt", b"a%2Fb.pt", b"a#b.pt", b"a?b.pt", b"a;b.pt", b"100%.pt",
    "模型-最终.pt".encode(), "é.pt".encode(), "e\u0301.pt".encode(), b'a"b.pt', b"a\nX-Evil: 1.pt", b"a\\b.pt",
    b"n" * 251 + b".pt", b"not\xffutf8.pt",
]


def run(gateway, script, **spec):
    job = gateway.wait(gateway.submit(script=script, **spec)["id"])
    assert job["state"] == "succeeded", gateway.logs(job["id"])
    return job["id"]


@pytest.fixture(scope="module")
def thousand(gateway):
    """A job that left one file of 1,000 bytes."""
    return run(gateway, "open('/output/f.bin', 'wb').write(bytes(i % 251 for i in range(1000)))")


CONTENT = bytes(i % 251 for i in range(1000))


def test_a_file_comes_with_digest_and_strong_validator(gateway, thousand):
    answer = gateway.get(f"/v1/jobs/{thousand}/artifacts/f.bin")
    assert answer.status_code == 200 and answer.content == CONTENT
    digest = base64.b64encode(hashlib.sha256(CONTENT).digest()).decode()
    assert answer.headers["Repr-Digest"] == f"sha-256=:{digest}:"
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["ETag"].startswith('"')
    assert gateway.get(f"/v1/jobs/{thousand}/artifacts/f.bin", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    head = gateway.request("HEAD", f"/v1/jobs/{thousand}/artifacts/f.bin")
    assert head.status_code == 200 and head.headers["Content-Length"] == "1000" and head.content == b""
    assert head.headers["ETag"] == answer.headers["ETag"]


@pytest.mark.parametrize(
    ("given", "first", "last"),
    [("0-0", 0, 0), ("0-99", 0, 99), ("900-", 900, 999), ("900-5000", 900, 999), ("-10", 990, 999), ("-5000", 0, 999)],
)
def test_ranges(gateway, thousand, given, first, last):
    answer = gateway.get(f"/v1/jobs/{thousand}/artifacts/f.bin", headers={"Range": f"bytes={given}"})
    assert answer.status_code == 206 and answer.content == CONTENT[first : last + 1]
    assert answer.headers["Content-Range"] == f"bytes {first}-{last}/1000"


@pytest.mark.parametrize("given", ["1000-", "5000-6000"])
def test_ranges_beyond_the_end(gateway, thousand, given):
    answer = gateway.get(f"/v1/jobs/{thousand}/artifacts/f.bin", headers={"Range": f"bytes={given}"})
    assert answer.status_code == 416 and answer.headers["Content-Range"] == "bytes */1000"


@pytest.mark.parametrize("given", ["bytes=0-1,5-6", "lines=0-1", "bytes=b-a", "bytes=5-1"])
def test_other_ranges_give_everything(gateway, thousand, given):
    answer = gateway.get(f"/v1/jobs/{thousand}/artifacts/f.bin", headers={"Range": given})
    assert answer.status_code == 200 and answer.content == CONTENT


def test_if_range_glues_no_halves(gateway):
    job = gateway.submit(command=["sleep", "600"])
    gateway.wait(job["id"], {"running"})
    folder = gateway.data / "volumes" / "default" / f"{job['object_name']}-output"
    path = f"/v1/jobs/{job['id']}/artifacts/model.pt"
    (folder / "model.pt").write_bytes(b"old" * 100)
    old = gateway.get(path).headers["ETag"]
    (folder / "model.pt").write_bytes(b"new" * 100)
    whole = gateway.get(path, headers={"Range": "bytes=150-", "If-Range": old})
    assert whole.status_code == 200 and whole.content == b"new" * 100
    new = whole.headers["ETag"]
    assert new != old
    part = gateway.get(path, headers={"Range": "bytes=150-", "If-Range": new})
    assert part.status_code == 206 and part.content == (b"new" * 100)[150:]
    for stale in (f"W/{new}", "Mon, 02 Jan 2026 03:04:05 GMT"):
        assert gateway.get(path, headers={"Range": "bytes=150-", "If-Range": stale}).status_code == 200
    gateway.post(f"/v1/jobs/{job['id']}/cancel")
    gateway.wait(job["id"], {"cancelled"})


def test_every_name_is_reachable_by_its_own_link(gateway):
    script = f"import os\nfor n in {NAMES!r}: open(os.path.join(b'/output', n), 'wb').write(n)"
    job = run(gateway, script)
    items = gateway.get(f"/v1/jobs/{job}/artifacts?limit=500").json()["items"]
    seen = set()
    for item in items:
        answer = gateway.session.get(
            gateway.url(item["links"]["self"]), headers={"Authorization": f"Bearer {gateway.token}"}
        )
        assert answer.status_code == 200, item
        assert "X-Evil" not in answer.headers
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
        assert "filename*=UTF-8''" in answer.headers["Content-Disposition"]
        seen.add(answer.content)
    assert seen == set(NAMES)


@pytest.mark.parametrize(
    "path",
    [
        "../x", "%2e%2e%2fx", "..%2fx", "%252e%252e%252fx", "..%5cx", "/etc/passwd", "a/./../../x", "a//..//..//x",
        "%00", "f.bin%00.pt", "%2e%2e/%2e%2e/%2e%2e/etc/passwd", "f.bin/", "./f.bin",
    ],
)
def test_no_path_leads_out(gateway, thousand, path):
    with socket.create_connection(tuple(gateway.address.rsplit(":", 1))) as wire:
        wire.sendall(
            f"GET /v1/jobs/{thousand}/artifacts/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            f"Authorization: Bearer {gateway.token}\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: wire.recv(65536), b""))
    assert answer.split(b" ")[1] in {b"400", b"404"}
    assert b"root:" not in answer and str(gateway.data).encode() not in answer


def test_pipes_sockets_links_and_folders_hang_nothing(gateway):
    script = """
import os, socket
os.mkfifo('/output/pipe')
socket.socket(socket.AF_UNIX).bind('/output/socket')
os.symlink('/dev/zero', '/output/device')
os.symlink('/etc/passwd', '/output/outside')
os.mkdir('/output/model.pt')
open('/output/plain', 'w').write('x')
"""
    job = run(gateway, script)
    listed = [item["path"] for item in gateway.get(f"/v1/jobs/{job}/artifacts").json()["items"]]
    assert listed == ["plain"]
    for name in ("pipe", "socket", "device", "outside", "model.pt"):
        answer = gateway.get(f"/v1/jobs/{job}/artifacts/{name}", timeout=60)
        assert answer.status_code == 404, name
    assert gateway.get(f"/v1/jobs/{job}/artifacts/plain").content == b"x"


def test_lists_of_files_have_pages(gateway):
    job = run(gateway, "import os\nfor i in range(25): open(f'/output/{i:02d}', 'w').close()")
    paths, cursor = [], None
    while True:
        params = {"limit": 10, **({"cursor": cursor} if cursor else {})}
        page = gateway.get(f"/v1/jobs/{job}/artifacts", params=params).json()
        paths += [item["path"] for item in page["items"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert paths == [f"{i:02d}" for i in range(25)]


def test_the_latest_checkpoint_is_a_whole_one(gateway):
    script = """
import os, time
folder = os.environ['TRAINYARD_CHECKPOINT_DIR']
for name, text in (('ckpt-1.pt', 'whole'), ('ckpt-2.pt.tmp', 'half'), ('last.pt', '')):
    open(os.path.join(folder, name), 'w').write(text)
    time.sleep(0.02)
"""
    job = run(gateway, script)
    found = gateway.get(f"/v1/jobs/{job}/checkpoints").json()
    assert found["latest"] == "ckpt-1.pt"
    assert {item["path"]: item["latest"] for item in found["items"]} == {
        "ckpt-1.pt": True, "ckpt-2.pt.tmp": False, "last.pt": False,
    }
    link = next(item for item in found["items"] if item["latest"])["links"]["self"]
    assert gateway.get(urllib.parse.unquote(link)).content == b"whole"


def test_resume_names_the_latest_checkpoint(gateway):
    gateway.post("/v1/volumes", {"name": "checkpoints-a", "size": "1Gi"})
    script = """
import os
folder = os.environ['TRAINYARD_CHECKPOINT_DIR']
print('from', os.environ.get('TRAINYARD_RESUME_FROM'))
open(os.path.join(folder, f'ckpt-{len(os.listdir(folder))}.pt'), 'w').write('x')
"""
    spec = {"checkpoints": {"volume": "checkpoints-a", "resume": True}}
    first = run(gateway, script, **spec)
    second = run(gateway, script, **spec)
    assert gateway.logs(first) == b"from None\n"
    assert gateway.logs(second) == b"from /checkpoints/ckpt-0.pt\n"


def test_volumes_are_made_used_and_removed(gateway):
    made = gateway.post("/v1/volumes", {"name": "data-a", "size": "1Gi"})
    assert made.status_code == 201 and made.json()["size_bytes"] == 2**30
    assert gateway.post("/v1/volumes", {"name": "data-a", "size": "1Gi"}).json()["code"] == "volume_exists"
    run(gateway, "open('/somewhere/x', 'wb').write(b'y' * 100000)", volumes=[{"claim": "data-a", "mount_path": "/somewhere"}])
    assert gateway.get("/v1/volumes/data-a").json()["used_bytes"] >= 100000
    job = gateway.submit(command=["sleep", "600"], dataset="data-a")
    gateway.wait(job["id"], {"running"})
    busy = gateway.delete("/v1/volumes/data-a")
    assert (busy.status_code, busy.json()["code"]) == (409, "volume_in_use")
    assert gateway.get("/v1/volumes/data-a").json()["used_by"] == [job["id"]]
    gateway.post(f"/v1/jobs/{job['id']}/cancel")
    gateway.wait(job["id"], {"cancelled"})
    assert gateway.delete("/v1/volumes/data-a").status_code == 204
    assert gateway.get("/v1/volumes/data-a").status_code == 404
    assert not (gateway.data / "volumes/default/data-a").exists()


def test_claims_made_with_a_job_go_with_it(gateway):
    job = gateway.submit(
        script="open('/scratch/x', 'w').write('kept')",
        volumes=[{"create": {"size": "1Gi"}, "mount_path": "/scratch"}],
    )
    assert gateway.wait(job["id"])["state"] == "succeeded"
    made = list((gateway.data / "volumes/default").glob(f"{job['object_name']}-*/x"))
    assert [path.read_text() for path in made] == ["kept"]
    assert gateway.delete(f"/v1/jobs/{job['id']}").status_code == 204
    deadline = time.monotonic() + 60
    while list((gateway.data / "volumes/default").glob(f"{job['object_name']}-*")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_dataset_cannot_be_written(gateway):
    gateway.post("/v1/volumes", {"name": "read-me", "size": "1Gi"})
    job = gateway.wait(gateway.submit(script="open('/data/x', 'w')", dataset="read-me", restart="never")["id"])
    assert job["state"] == "failed"
    assert b"Read-only file system" in gateway.logs(job["id"])


def test_keep_last_holds_when_the_job_is_over(gateway):
    script = (
        "import os, time\nfor i in range(1, 13):\n    open(f'/checkpoints/ckpt-{i}.pt', 'w').write('x')\n"
        "    os.mkdir(f'/checkpoints/step-{i}')\n    open(f'/checkpoints/step-{i}/model.pt', 'w').write('x')\n"
        "open('/checkpoints/best.pt', 'w').write('x')\n"
    )
    job = gateway.submit(script=script, checkpoints={"keep_last": 3})
    assert gateway.wait(job["id"])["state"] == "succeeded"
    page = gateway.get(f"/v1/jobs/{job['id']}/checkpoints").json()
    kept = {f"ckpt-{i}.pt" for i in (10, 11, 12)} | {f"step-{i}/model.pt" for i in (10, 11, 12)} | {"best.pt"}
    assert {item["path"] for item in page["items"]} == kept
    # Of a run that did not succeed the newest may be half written, and stands for none of the older ones.
    job = gateway.submit(script=script.replace("open('/checkpoints/best", "os._exit(3)\nopen('/checkpoints/best"),
                         checkpoints={"keep_last": 3}, restart="never")  # fmt: skip
    assert gateway.wait(job["id"])["state"] == "failed"
    assert len(gateway.get(f"/v1/jobs/{job['id']}/checkpoints").json()["items"]) == 24
