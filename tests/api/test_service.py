"""What the service tells of itself: health, metrics, contract, pages; and the manners of every answer."""

from __future__ import annotations

import gzip
import hashlib
import json
import re

import pytest
import requests
import yaml
from gateway import TOP


def plain(gateway, path, **headers):
    return requests.get(gateway.url(path), headers=headers, timeout=60)


def test_health_needs_no_token(gateway):
    for path in ("/livez", "/readyz"):
        assert plain(gateway, path).json() == {"status": "ok"}


def test_the_served_contract_is_the_file(gateway):
    served = plain(gateway, "/openapi.json")
    assert served.json() == json.loads(json.dumps(yaml.safe_load((TOP / "openapi/trainyard.v1.yaml").read_text()), default=str))
    assert plain(gateway, "/openapi.json", **{"If-None-Match": served.headers["ETag"]}).status_code == 304


@pytest.mark.parametrize("path", ["/docs/plain", "/docs/errors"])
def test_pages_load_nothing_from_elsewhere(gateway, path):
    page = plain(gateway, path)
    assert page.status_code == 200 and page.headers["Content-Type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert not re.search(r"<script|(?:src|href)=[\"']https?://", page.text)


def test_the_reference_names_its_files_by_their_digest_or_is_the_plain_page(gateway):
    page = plain(gateway, "/docs")
    assert plain(gateway, "/docs", **{"If-None-Match": page.headers["ETag"]}).status_code == 304
    names = re.findall(r'"/docs/assets/([^"]+)"', page.text)
    if not names:
        assert page.text == plain(gateway, "/docs/plain").text
    else:
        assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'; ")
        assert not re.search(r"(?:src|href)=[\"'](?:https?:)?//", page.text) and 'href="/docs/plain"' in page.text
    for name in names:
        path = f"/docs/assets/{name}"
        whole = plain(gateway, path, **{"Accept-Encoding": "identity"})
        packed = plain(gateway, path, **{"Accept-Encoding": "gzip"})
        assert (whole.headers.get("Content-Encoding"), packed.headers["Content-Encoding"]) == (None, "gzip")
        assert whole.content == packed.content and hashlib.sha256(whole.content).hexdigest()[:16] in name
        assert int(whole.headers["Content-Length"]) == len(whole.content) > int(packed.headers["Content-Length"])
        assert "immutable" in whole.headers["Cache-Control"] and packed.headers["Vary"] == "Accept-Encoding"
        for answer in (whole, packed):
            assert plain(gateway, path, **{"If-None-Match": answer.headers["ETag"]}).status_code == 304
        assert plain(gateway, path, Accept="application/json").status_code == 406
        assert plain(gateway, path, Accept="text/css" if name.endswith(".js") else "text/javascript").status_code == 406


@pytest.mark.parametrize("name", ["viewer-0000000000000000.js", "viewer.js", "..%2Fstyle.css", "x"])
def test_a_file_that_the_reference_does_not_name_is_not_there(gateway, name):
    assert plain(gateway, f"/docs/assets/{name}").status_code == 404


def test_every_problem_type_has_its_place_on_the_page(gateway):
    page = plain(gateway, "/docs/errors").text
    for answer in (gateway.get("/v1/nothing"), gateway.get("/v1/jobs?limit=x"), plain(gateway, "/v1/jobs")):
        fragment = answer.json()["type"].partition("#")[2]
        assert f'id="{fragment}"' in page


def test_metrics_are_prometheus_text(gateway):
    gateway.wait(gateway.submit(command=["true"])["id"])
    assert plain(gateway, "/metrics").status_code == 401
    answer = gateway.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    families, samples = {}, {}
    for line in answer.text.splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split(" ")
            assert name not in families, f"{name} stands twice"
            families[name] = kind
        elif not line.startswith("#"):
            match = re.fullmatch(r"(trainyard_[a-z_]+)(\{.*\})? (\S+)", line)
            assert match, line
            family = re.sub(r"_(bucket|sum|count)$", "", match[1]) if match[1] not in families else match[1]
            assert family in families, line
            samples[match[1] + (match[2] or "")] = float(match[3])
            assert not re.search(r"job_[0-9a-z]{26}|ty_[usaj]_", line)
    for name, kind in families.items():
        assert kind != "counter" or name.endswith("_total")
    key = 'route="/v1/jobs",method="POST"'
    assert samples[f'trainyard_http_request_duration_seconds_bucket{{{key},le="+Inf"}}'] == samples[
        f"trainyard_http_request_duration_seconds_count{{{key}}}"
    ]


def test_large_json_is_compressed_when_wanted(gateway):
    whole = gateway.get("/openapi.json")
    packed = gateway.session.get(
        gateway.url("/openapi.json"), headers={"Accept-Encoding": "gzip"}, stream=True, timeout=60
    )
    assert packed.headers["Content-Encoding"] == "gzip" and "Accept-Encoding" in packed.headers["Vary"]
    assert gzip.decompress(packed.raw.read()) == whole.content
    assert packed.headers["ETag"] != whole.headers["ETag"]
    assert plain(gateway, "/livez", **{"Accept-Encoding": "gzip"}).headers.get("Content-Encoding") is None


def test_compressed_requests_are_read_within_limits(gateway):
    def send(data):
        return gateway.request(
            "POST", "/v1/jobs?dry_run=true", data=data, headers={"Content-Type": "application/json", "Content-Encoding": "gzip"}
        )

    assert send(gzip.compress(b'{"image":"a:b","command":["true"]}')).status_code == 200
    assert send(b"no gzip at all").status_code == 400
    assert send(gzip.compress(b" " * 3_000_000)).status_code in {400, 413}


def test_head_and_options_follow_get(gateway):
    head = gateway.request("HEAD", "/v1/whoami")
    get = gateway.get("/v1/whoami")
    assert head.content == b"" and head.headers["Content-Length"] == str(len(get.content))
    options = requests.options(gateway.url("/v1/jobs"), timeout=60)
    assert options.status_code == 204 and set(options.headers["Allow"].split(", ")) == {"GET", "HEAD", "POST", "OPTIONS"}


def test_every_answer_is_numbered_and_guarded(gateway):
    seen = set()
    for answer in (gateway.get("/v1/jobs"), gateway.get("/v1/nothing"), plain(gateway, "/livez"), plain(gateway, "/v1/jobs")):
        seen.add(answer.headers["Request-Id"])
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert len(seen) == 4
    assert gateway.get("/v1/jobs").headers["Cache-Control"] == "no-store"


def test_accept_is_honoured(gateway):
    assert gateway.get("/v1/jobs", headers={"Accept": "application/xml"}).status_code == 406
    assert gateway.get("/v1/jobs", headers={"Accept": "text/*;q=0.1, application/*"}).status_code == 200


def test_cors_is_off_unless_configured(gateway):
    assert "Access-Control-Allow-Origin" not in gateway.get("/v1/jobs", headers={"Origin": "https://a.example"}).headers


def test_executors_say_what_this_machine_can_do(gateway):
    (executor,) = gateway.get("/v1/executors").json()["items"]
    assert executor["name"] == "local" and executor["ready"] is True
    assert executor["capacity"]["replicas"] is None or executor["capacity"]["replicas"] > 0
