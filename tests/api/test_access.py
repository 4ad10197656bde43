"""Tokens, roles and tenants: who may do what, and what others can tell."""

from __future__ import annotations

import threading
import time
import zlib

import pytest
import requests
import yaml
from gateway import TOP

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SPEC = {"image": "pytorch/pytorch:2.0.0", "command": ["true"]}


def make_token(gateway, role, tenant=None, **more):
    headers = {"Trainyard-Tenant": tenant} if tenant else {}
    answer = gateway.post("/v1/tokens", {"name": f"{role} test", "role": role, **more}, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def tenants(gateway):
    """Two tenants with an operator's token each, and a finished job of the first."""
    tokens = {}
    for name in ("alpha", "beta"):
        gateway.tenant(name)
        tokens[name] = make_token(gateway, "operator", tenant=name)["token"]
    writes = {**SPEC, "command": ["sh", "-c", "echo secret; echo x > /output/f"]}
    answer = gateway.post("/v1/jobs", writes, token=tokens["alpha"])
    job = answer.json()["id"]
    deadline = time.monotonic() + 60
    while gateway.get(f"/v1/jobs/{job}", token=tokens["alpha"]).json()["state"] != "succeeded":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return tokens, job


def checksum(text):
    value, out = zlib.crc32(text.encode()), ""
    for _ in range(6):
        value, digit = divmod(value, 62)
        out = ALPHABET[digit] + out
    return out


def test_tokens_carry_their_checksum(gateway):
    token = make_token(gateway, "viewer")["token"]
    assert token[:-6] + checksum(token[:-6]) == token


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Bearer {t}", 200),
        ("bearer {t}", 200),
        ("BEARER {t}", 200),
        ("Bearer  {t}", 200),
        ("Bearer{t}", 401),
        ("Basic {t}", 401),
        ("Bearer ", 401),
        ("{t}", 401),
        ("Bearer {t}x", 401),
        ("Bearer " + "x" * 10000, 401),
        ("Bearer {swapped}", 401),
    ],
)
def test_authorization_forms(gateway, header, status):
    field = header.format(t=gateway.token, swapped=gateway.token.swapcase())
    answer = requests.get(gateway.url("/v1/whoami"), headers={"Authorization": field}, timeout=60)
    assert answer.status_code == status
    if status == 401:
        assert answer.headers["WWW-Authenticate"].startswith("Bearer realm=")
        assert answer.json()["code"] in {"invalid_token", "unauthenticated"}


def test_no_credential_gets_a_challenge_without_an_error(gateway):
    answer = requests.get(gateway.url("/v1/jobs"), timeout=60)
    assert answer.status_code == 401 and "error=" not in answer.headers["WWW-Authenticate"]


def test_a_token_in_the_query_is_refused_and_never_logged(gateway):
    secret = make_token(gateway, "viewer")["token"]
    answer = requests.get(gateway.url(f"/v1/jobs?access_token={secret}"), timeout=60)
    assert answer.status_code in {400, 401} and secret not in answer.text
    requests.get(gateway.url("/v1/jobs"), headers={"Authorization": f"Bearer {secret[:-1]}"}, timeout=60)
    requests.get(gateway.url("/v1/jobs"), headers={"X-Bad": secret}, timeout=60)
    log = (gateway.data / "daemon.log").read_text()
    assert secret not in log and secret[:-1] not in log


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("viewer", {"list"}),
        ("submitter", {"list", "create"}),
        ("operator", {"list", "create"}),
        ("tenant_admin", {"list", "create", "tokens"}),
        ("system_admin", {"list", "create", "tokens", "tenants"}),
    ],
)
def test_roles_are_fixed_sets_of_scopes(gateway, role, allowed):
    token = make_token(gateway, role)["token"]
    tries = {
        "list": gateway.get("/v1/jobs", token=token),
        "create": gateway.post("/v1/jobs?dry_run=true", SPEC, token=token),
        "tokens": gateway.get("/v1/tokens", token=token),
        "tenants": gateway.get("/v1/tenants", token=token),
    }
    for name, answer in tries.items():
        assert (answer.status_code == 200) == (name in allowed), (name, answer.text)
        if name not in allowed:
            assert answer.status_code == 403 and answer.json()["code"] == "insufficient_scope"
            assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]


def test_a_token_makes_only_subsets_of_itself(gateway):
    admin = make_token(gateway, "tenant_admin")["token"]
    mightier = gateway.post("/v1/tokens", {"name": "up", "role": "system_admin"}, token=admin)
    assert mightier.status_code == 403
    fewer = gateway.post("/v1/tokens", {"name": "down", "role": "viewer", "scopes": ["jobs:read"]}, token=admin)
    assert fewer.json()["scopes"] == ["jobs:read"]
    foreign = gateway.post("/v1/tokens", {"name": "x", "role": "viewer", "scopes": ["jobs:write"]}, token=admin)
    assert foreign.status_code == 422


def test_revocation_acts_at_once(gateway):
    token = make_token(gateway, "viewer")
    assert gateway.get("/v1/jobs", token=token["token"]).status_code == 200
    assert gateway.delete(f"/v1/tokens/{token['id']}").status_code == 204
    assert gateway.get("/v1/jobs", token=token["token"]).status_code == 401
    assert gateway.get(f"/v1/tokens/{token['id']}").status_code == 404


def test_revocation_closes_open_streams(gateway):
    job = gateway.submit(command=["sleep", "600"])
    gateway.wait(job["id"], {"running"})
    token = make_token(gateway, "viewer")
    ended = threading.Event()

    def follow():
        url = gateway.url(f"/v1/jobs/{job['id']}/logs?follow=true")
        headers = {"Authorization": f"Bearer {token['token']}", "Accept": "text/event-stream"}
        with requests.get(url, headers=headers, stream=True, timeout=90) as answer:
            for _ in answer.iter_content(None):
                pass
        ended.set()

    reader = threading.Thread(target=follow)
    reader.start()
    time.sleep(0.5)
    assert not ended.is_set()
    gateway.delete(f"/v1/tokens/{token['id']}")
    assert ended.wait(60)
    reader.join()
    gateway.post(f"/v1/jobs/{job['id']}/cancel")
    gateway.wait(job["id"], {"cancelled"})


def test_tokens_expire(gateway):
    token = make_token(gateway, "viewer", expires_in_seconds=60)
    assert token["expires_at"] is not None
    assert gateway.post("/v1/tokens", {"name": "x", "expires_in_seconds": 367 * 86400}).status_code == 422


def test_rotation_changes_the_text_and_keeps_the_rest(gateway):
    token = make_token(gateway, "viewer")
    rotated = gateway.post(f"/v1/tokens/{token['id']}/rotate", {"overlap_seconds": 60}).json()
    assert rotated["id"] == token["id"] and rotated["token"] != token["token"]
    for text in (token["token"], rotated["token"]):
        assert gateway.get("/v1/jobs", token=text).status_code == 200
    last = gateway.post(f"/v1/tokens/{token['id']}/rotate").json()
    assert gateway.get("/v1/jobs", token=last["token"]).status_code == 200
    assert gateway.get("/v1/jobs", token=rotated["token"]).status_code == 401


def test_a_token_is_shown_once(gateway):
    token = make_token(gateway, "viewer")
    shown = gateway.get(f"/v1/tokens/{token['id']}").json()
    assert "token" not in shown and shown["hint"] == token["token"][-8:]
    assert token["token"] not in gateway.get("/v1/tokens?limit=500").text
    database = b"".join(path.read_bytes() for path in gateway.data.glob("trainyard.db*"))
    assert token["token"].encode() not in database


EVERY_JOB_ROUTE = [
    ("GET", ""),
    ("GET", "/transitions"),
    ("GET", "/replicas"),
    ("GET", "/manifest"),
    ("GET", "/manifest?format=yaml"),
    ("GET", "/events"),
    ("GET", "/events?follow=false"),
    ("GET", "/logs"),
    ("GET", "/logs?follow=true"),
    ("GET", "/artifacts"),
    ("GET", "/artifacts/f"),
    ("HEAD", "/artifacts/f"),
    ("GET", "/checkpoints"),
    ("GET", "?wait=5"),
    ("PATCH", ""),
    ("DELETE", ""),
    ("DELETE", "?force=true"),
    ("POST", "/cancel"),
    ("POST", "/suspend"),
    ("POST", "/resume"),
    ("POST", "/restart"),
    ("POST", "/clone"),
    ("POST", "/scale"),
]
BODIES = {"PATCH": {"labels": {}}, "/scale": {"replicas": 1}}


def test_every_route_of_a_job_is_tried_from_another_tenant():
    contract = yaml.safe_load((TOP / "openapi/trainyard.v1.yaml").read_text())
    wanted = {(method.upper(), path.removeprefix("/v1/jobs/{job_id}").replace("{path}", "f"))
              for path, item in contract["paths"].items() if path.startswith("/v1/jobs/{job_id}")
              for method in item if method in ("get", "head", "post", "patch", "put", "delete")}
    assert wanted <= {(method, path.partition("?")[0]) for method, path in EVERY_JOB_ROUTE}


@pytest.mark.parametrize(("method", "path"), EVERY_JOB_ROUTE)
def test_another_tenants_job_is_like_an_unknown_one(gateway, tenants, method, path):
    tokens, job = tenants
    unknown = job[:-4] + ("aaaa" if job[-4:] != "aaaa" else "bbbb")
    given = BODIES.get(method) or BODIES.get(path)
    body = {"json": given} if given else {}
    theirs = gateway.request(method, f"/v1/jobs/{job}{path}", token=tokens["beta"], **body)
    nobodys = gateway.request(method, f"/v1/jobs/{unknown}{path}", token=tokens["beta"], **body)
    assert theirs.status_code == nobodys.status_code == 404
    if method != "HEAD":
        same = {"request_id", "instance"}
        assert {k: v for k, v in theirs.json().items() if k not in same} == {
            k: v for k, v in nobodys.json().items() if k not in same
        }
    assert gateway.get(f"/v1/jobs/{job}", token=tokens["alpha"]).json()["state"] == "succeeded"


def test_lists_show_ones_own_only(gateway, tenants):
    tokens, job = tenants
    assert gateway.get("/v1/jobs", token=tokens["beta"]).json()["items"] == []
    assert [item["id"] for item in gateway.get("/v1/jobs", token=tokens["alpha"]).json()["items"]] == [job]


def test_only_a_system_admin_acts_elsewhere(gateway, tenants):
    tokens, job = tenants
    assert gateway.get(f"/v1/jobs/{job}", headers={"Trainyard-Tenant": "alpha"}).status_code == 200
    assert gateway.get(f"/v1/jobs/{job}").status_code == 404
    refused = gateway.get("/v1/jobs", token=tokens["beta"], headers={"Trainyard-Tenant": "alpha"})
    assert refused.status_code == 403
    assert gateway.get("/v1/jobs", headers={"Trainyard-Tenant": "nobody"}).status_code == 404


def test_whoami_tells_token_tenant_and_scopes(gateway, tenants):
    tokens, _ = tenants
    me = gateway.get("/v1/whoami", token=tokens["alpha"]).json()
    assert me["tenant"]["name"] == "alpha" and me["token"]["role"] == "operator"
    assert "jobs:cancel" in me["scopes"] and "tokens:manage" not in me["scopes"]


def test_tenants_are_made_changed_and_removed(gateway):
    made = gateway.post("/v1/tenants", {"name": "gamma", "quota": {"max_gpus": 4}})
    assert made.status_code == 201 and made.json()["quota"]["max_gpus"] == 4
    assert gateway.post("/v1/tenants", {"name": "gamma"}).status_code == 409
    etag = made.headers["ETag"]
    changed = gateway.patch("/v1/tenants/gamma", {"quota": {"max_jobs": 1}}, headers={"If-Match": etag})
    assert changed.json()["quota"] == {"max_jobs": 1, "max_queued": None, "max_replicas": None, "max_gpus": 4}
    assert gateway.patch("/v1/tenants/gamma", {"description": "x"}, headers={"If-Match": etag}).status_code == 412
    assert gateway.delete("/v1/tenants/gamma").status_code == 204
    assert gateway.get("/v1/tenants/gamma").status_code == 404
    assert gateway.delete("/v1/tenants/default").status_code == 409


def test_quotas_hold_jobs_back_and_refuse_beyond_the_queue(gateway):
    gateway.tenant("small", quota={"max_jobs": 1, "max_queued": 2})
    act = {"headers": {"Trainyard-Tenant": "small"}}
    jobs = [gateway.post("/v1/jobs", {**SPEC, "command": ["sleep", "600"]}, **act).json()["id"]]
    deadline = time.monotonic() + 60
    while gateway.get(f"/v1/jobs/{jobs[0]}", **act).json()["state"] != "running":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    jobs += [gateway.post("/v1/jobs", SPEC, **act).json()["id"] for _ in range(2)]
    deadline = time.monotonic() + 60
    while True:
        waiting = [gateway.get(f"/v1/jobs/{job}", **act).json() for job in jobs[1:]]
        assert [job["state"] for job in waiting] == ["queued", "queued"]
        if [job["cause"] for job in waiting] == ["waiting_for_quota"] * 2:
            break
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert waiting[0]["queue_position"] < waiting[1]["queue_position"]
    over = gateway.post("/v1/jobs", SPEC, **act)
    assert over.status_code == 429 and over.json()["code"] == "quota_exceeded" and int(over.headers["Retry-After"]) > 0
    gateway.post(f"/v1/jobs/{jobs[0]}/cancel", **act)
    deadline = time.monotonic() + 60
    while {gateway.get(f"/v1/jobs/{job}", **act).json()["state"] for job in jobs[1:]} != {"succeeded"}:
        assert time.monotonic() < deadline
        time.sleep(0.05)
