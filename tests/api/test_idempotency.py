"""Idempotency-Key: one effect, however often the request is sent."""

from __future__ import annotations

import concurrent.futures

import pytest

SPEC = {"image": "pytorch/pytorch:2.0.0", "command": ["true"]}


def send(gateway, key, body=None, **more):
    return gateway.post("/v1/jobs", body or SPEC, headers={"Idempotency-Key": key, **more.pop("headers", {})}, **more)


def test_a_repeat_gets_the_first_answer_again(gateway):
    first = send(gateway, "once")
    gateway.wait(first.json()["id"])
    again = send(gateway, "once")
    assert again.status_code == 201
    assert again.headers["Idempotency-Replayed"] == "true" and "Idempotency-Replayed" not in first.headers
    assert again.json() == first.json()
    assert again.headers["Location"] == first.headers["Location"]


def test_quoted_and_bare_keys_are_one(gateway):
    assert send(gateway, '"quoted"').json()["id"] == send(gateway, "quoted").json()["id"]


def test_another_body_under_the_same_key_is_refused(gateway):
    send(gateway, "fixed")
    other = send(gateway, "fixed", {**SPEC, "name": "other"})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_member_order_and_blanks_do_not_matter(gateway):
    first = send(gateway, "order")
    text = '{ "command" : ["true"],\n "image":"pytorch/pytorch:2.0.0" }'
    again = gateway.request(
        "POST", "/v1/jobs", data=text, headers={"Idempotency-Key": "order", "Content-Type": "application/json"}
    )
    assert again.json()["id"] == first.json()["id"]


def test_ten_at_once_make_one_job(gateway):
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: send(gateway, "at-once"), range(10)))
    created = [answer for answer in answers if answer.status_code == 201]
    assert len({answer.json()["id"] for answer in created}) == 1
    assert {answer.status_code for answer in answers} <= {201, 409}


def test_keys_survive_a_kill(own_gateway):
    first = send(own_gateway, "survives")
    own_gateway.kill()
    own_gateway.start()
    assert send(own_gateway, "survives").json()["id"] == first.json()["id"]


def test_tenants_do_not_share_keys(gateway):
    gateway.tenant("keys-b")
    mine = send(gateway, "shared")
    theirs = send(gateway, "shared", headers={"Trainyard-Tenant": "keys-b"})
    assert theirs.status_code == 201 and theirs.json()["id"] != mine.json()["id"]


@pytest.mark.parametrize("key", ["", "x" * 300, "a b", "ü"])
def test_bad_keys_are_refused(gateway, key):
    answer = send(gateway, key.encode("utf-8"))
    assert answer.status_code == 400 and answer.json()["errors"][0]["header"] == "Idempotency-Key"


def test_a_refused_request_uses_up_no_key(gateway):
    assert send(gateway, "retry", {"image": "UPPER"}).status_code == 422
    assert send(gateway, "retry").status_code == 201


def test_restart_and_clone_take_keys_too(gateway):
    job = gateway.wait(gateway.submit(command=["true"])["id"])
    for action in ("restart", "clone"):
        url = f"/v1/jobs/{job['id']}/{action}"
        first = gateway.post(url, headers={"Idempotency-Key": action})
        again = gateway.post(url, headers={"Idempotency-Key": action})
        assert first.status_code == again.status_code == 201
        assert first.json()["id"] == again.json()["id"]


@pytest.mark.parametrize(
    ("path", "body"),
    [("/v1/volumes", {"name": "keyed", "size": "1Gi"}), ("/v1/tenants", {"name": "keyed"})],
)
def test_other_things_are_made_once_too(gateway, path, body):
    headers = {"Idempotency-Key": "thing"}
    first = gateway.post(path, body, headers=headers)
    again = gateway.post(path, body, headers=headers)
    assert first.status_code == again.status_code == 201
    assert again.headers["Idempotency-Replayed"] == "true" and again.json()["name"] == "keyed"
    other = gateway.post(path, {**body, "name": "another"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert gateway.post(path, body).status_code == 409


def test_a_repeated_token_is_not_shown_again(gateway):
    headers = {"Idempotency-Key": "token"}
    body = {"name": "once", "role": "viewer"}
    first = gateway.post("/v1/tokens", body, headers=headers).json()
    again = gateway.post("/v1/tokens", body, headers=headers)
    assert (again.status_code, again.json()["code"]) == (409, "token_shown_once")
    assert first["id"] in again.json()["detail"] and first["token"] not in again.text
    names = [token["name"] for token in gateway.get("/v1/tokens?limit=500").json()["items"]]
    assert names.count("once") == 1


def test_a_repeated_batch_makes_no_second_jobs(gateway):
    items = [SPEC, {"image": "NOT AN IMAGE", "command": ["true"]}, {**SPEC, "name": "second"}]
    headers = {"Idempotency-Key": "batch"}
    first = gateway.post("/v1/jobs:batch", {"items": items}, headers=headers).json()["items"]
    for result in (first[0], first[2]):
        gateway.wait(result["job"]["id"])
    again = gateway.post("/v1/jobs:batch", {"items": items}, headers=headers)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert [result["status"] for result in again.json()["items"]] == [201, 422, 201]
    assert again.json()["items"][0] == first[0] and again.json()["items"][2] == first[2]
