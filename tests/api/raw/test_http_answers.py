"""What an ordinary client sees: routes, negotiation, conditions, ranges, coding, common fields."""

from __future__ import annotations

import gzip
import json
import re

import pytest

from wire import SECURITY, Wire, ask, check_problem, get, post


# ---- routes ----

ROUTED = {
    "a path that is not there": (get("/nope"), 404, "not_found"),
    "a path below a route": (get("/echo/x"), 404, "not_found"),
    "a trailing slash": (get("/echo/"), 404, "not_found"),
    "a doubled slash": (get("//echo"), 404, "not_found"),
    "the root": (get("/"), 404, "not_found"),
    "an empty variable": (get("/items/"), 404, "not_found"),
    "an empty rest": (get("/items/1/files/"), 404, "not_found"),
    "another case": (get("/ECHO"), 404, "not_found"),
    "an encoded slash between segments": (get("/items%2F1"), 404, "not_found"),
    "an encoded slash in a rest": (get("/items/1/files/a%2Fb"), 404, "not_found"),
    "a dot segment": (get("/./echo"), 400, "bad_target"),
    "a dot-dot segment": (get("/items/../echo"), 400, "bad_target"),
    "an encoded dot-dot segment": (get("/items/%2e%2E/echo"), 400, "bad_target"),
    "a half-encoded dot-dot segment": (get("/items/.%2e/echo"), 400, "bad_target"),
    "dot-dot at the end": (get("/items/.."), 400, "bad_target"),
    "an encoded NUL in the path": (get("/items/a%00b"), 400, "bad_target"),
    "an encoded NUL in the query": (get("/echo?a=%00"), 400, "bad_target"),
    "a cut escape": (get("/items/a%2"), 400, "bad_target"),
    "an escape at the end": (get("/items/a%"), 400, "bad_target"),
    "an escape that is no number": (get("/items/%zz"), 400, "bad_target"),
    "a cut escape in the query": (get("/echo?a=%4"), 400, "bad_target"),
    "a query that is no UTF-8": (get("/echo?a=%ff"), 400, "bad_target"),
    "overlong UTF-8 in the query": (get("/echo?a=%c0%af"), 400, "bad_target"),
    "a surrogate in the query": (get("/echo?a=%ed%a0%80"), 400, "bad_target"),
    "a target without a slash": (get("echo"), 400, "bad_target"),
    "an asterisk on GET": (get("*"), 400, "bad_target"),
    "another scheme": (get("ftp://t/echo"), 400, "bad_target"),
    "an authority": (get("t:80", method="CONNECT"), 400, "bad_target"),
    "a path of 70 segments": (get("/items" + "/a" * 70), 400, "bad_target"),
    "300 parameters": (get("/echo?" + "&".join(f"a{i}" for i in range(300))), 400, "bad_target"),
    "an unknown method": (get("/echo", method="BREW"), 501, "method_unknown"),
    "a method in lower case": (get("/echo", method="get"), 501, "method_unknown"),
    "a method of WebDAV": (get("/echo", method="PROPFIND"), 501, "method_unknown"),
    "a method of one letter": (get("/echo", method="G"), 501, "method_unknown"),
    "a wrong method": (get("/items/1", method="PUT"), 405, "method_not_allowed"),
    "TRACE": (get("/echo", method="TRACE"), 405, "method_not_allowed"),
    "an unknown parameter": (get("/echo?unknown=1"), 400, "invalid_parameter"),
    "a type nobody gives": (get("/echo", "Accept: text/html"), 406, "not_acceptable"),
    "a type refused by quality": (get("/echo", "Accept: application/json;q=0, text/html"), 406, "not_acceptable"),
    "a wrong type": (post("/echo", b"{}", kind="text/plain"), 415, "unsupported_media_type"),
    "no type": (post("/echo", b"{}", kind=""), 415, "unsupported_media_type"),
    "a broken type": (post("/echo", b"{}", kind="json"), 415, "unsupported_media_type"),
    "a wrong charset": (post("/echo", b"{}", kind="application/json; charset=latin1"), 415, "unsupported_media_type"),
    "a coding nobody reads": (post("/echo", b"{}", "Content-Encoding: br"), 415, "unsupported_encoding"),
    "two codings": (post("/echo", b"{}", "Content-Encoding: gzip, gzip"), 415, "unsupported_encoding"),
    "a body where none belongs": (post("/cached", b"{}", method="GET"), 400, "unexpected_body"),
    "a body over the limit": (post("/echo", b"x" * 65537), 413, "body_too_large"),
    "a body that says it is gzip": (post("/echo", b"{}", "Content-Encoding: gzip"), 400, "bad_encoding"),
    "half a gzip body": (post("/echo", gzip.compress(b"[" + b"1," * 99)[:-9], "Content-Encoding: gzip"), 400, "bad_encoding"),
    "two gzip bodies": (post("/echo", gzip.compress(b"[]") * 2, "Content-Encoding: gzip"), 400, "bad_encoding"),
    "a gzip bomb by ratio": (post("/bytes", gzip.compress(b"\0" * 3_000_000), "Content-Encoding: gzip", method="PUT", kind="application/octet-stream"), 413, "body_too_large"),
    "a gzip body over the limit": (post("/echo", gzip.compress(bytes(range(256)) * 300), "Content-Encoding: gzip"), 413, "body_too_large"),
    "no credential": (get("/private"), 401, "unauthenticated"),
    "a bad credential": (get("/private", "Authorization: Bearer x"), 401, "invalid_token"),
    "a missing scope": (post("/private", b"{}", "Authorization: Bearer viewer"), 403, "insufficient_scope"),
    "no credential, and a wrong type": (post("/private", b"{}", kind="text/plain"), 401, "unauthenticated"),
    "no credential, and an empty path": (get("/private/x"), 404, "not_found"),
    "an expectation": (get("/echo", "Expect: 200-ok"), 417, "expectation_failed"),
    "an answer that would be split": (get("/split"), 500, "internal_error"),
    "no memory": (get("/no-memory"), 503, "out_of_memory"),
    "a handler's own error": (get("/faulty"), 422, "spec_rejected"),
}


@pytest.mark.parametrize("name", ROUTED)
def test_a_refused_request_gets_a_whole_problem(probe, name):
    data, status, code = ROUTED[name]
    document = check_problem(ask(probe.port, data), status, code)
    if code not in ("bad_target", "method_unknown"):
        path = data.split(b" ")[1].split(b"?")[0].decode()
        assert document["instance"] == path


# Large refused bodies end the connection.
@pytest.mark.parametrize("name", [name for name, case in ROUTED.items() if len(case[0]) <= 60000])
def test_a_refused_request_leaves_the_connection_usable(probe, name):
    data, _, _ = ROUTED[name]
    with Wire(probe.port) as wire:
        wire.send(data)
        wire.answer()
        wire.send(get("/echo"))
        assert wire.answer().status == 200


DECODED = {
    "plain": ("/items/a", "a", []),
    "an encoded slash stays inside": ("/items/a%2Fb", "a/b", []),
    "an encoded percent": ("/items/100%25", "100%", []),
    "an escape is decoded once": ("/items/a%252Fb", "a%2Fb", []),
    "a plus in a path is a plus": ("/items/a+b", "a+b", []),
    "a blank": ("/items/a%20b", "a b", []),
    "UTF-8": ("/items/%C3%A9", "é", []),
    "an encoded question mark": ("/items/a%3Fb?c=d", "a?b", [["c", "d"]]),
    "an encoded hash": ("/items/a%23b", "a#b", []),
    "three dots": ("/items/...", "...", []),
    "a leading dot": ("/items/.a", ".a", []),
    "a plus in a query is a blank": ("/items/a?b=c+d", "a", [["b", "c d"]]),
    "an encoded plus in a query": ("/items/a?b=c%2Bd", "a", [["b", "c+d"]]),
    "an encoded ampersand": ("/items/a?b=c%26d", "a", [["b", "c&d"]]),
    "an encoded equals sign in a name": ("/items/a?b%3Dc=d", "a", [["b=c", "d"]]),
    "a value with equals signs": ("/items/a?b=c=d", "a", [["b", "c=d"]]),
    "repeated names": ("/items/a?b=1&b=2", "a", [["b", "1"], ["b", "2"]]),
    "a name without a value": ("/items/a?b&c=", "a", [["b", ""], ["c", ""]]),
    "empty pieces": ("/items/a?&&b=1&", "a", [["b", "1"]]),
    "a value without a name": ("/items/a?=1", "a", [["", "1"]]),
    "a question mark in a query": ("/items/a?b=?", "a", [["b", "?"]]),
    "brackets in a query": ("/items/a?b[]=1", "a", [["b[]", "1"]]),
    "an empty query": ("/items/a?", "a", []),
    "a tilde and a colon": ("/items/~a:b@c;d,e", "~a:b@c;d,e", []),
}


@pytest.mark.parametrize("name", DECODED)
def test_targets_are_decoded_once_and_by_piece(probe, name):
    path, variable, parameters = DECODED[name]
    echo = ask(probe.port, get(path)).json()
    assert echo["variable_id"] == variable
    assert echo["parameters"] == parameters
    assert echo["target"] == path


def test_a_rest_variable_takes_the_remaining_segments(probe):
    echo = ask(probe.port, get("/items/7/files/a/b%20c/d.pt")).json()
    assert (echo["variable_id"], echo["variable_path"]) == ("7", "a/b c/d.pt")


def test_a_literal_with_a_colon_is_a_segment_of_its_own(probe):
    assert ask(probe.port, post("/items:batch", b"[]")).status == 200


ALLOWED = {
    "/echo": "GET, HEAD, POST, OPTIONS",
    "/items": "POST, OPTIONS",
    "/items/1": "GET, HEAD, PATCH, DELETE, OPTIONS",
    "/items/1/files/x": "GET, HEAD, OPTIONS",
    "/items:batch": "POST, OPTIONS",
    "/private": "GET, HEAD, POST, OPTIONS",
}


@pytest.mark.parametrize("path", ALLOWED)
def test_options_and_405_name_exactly_the_methods_of_a_path(probe, path):
    options = ask(probe.port, get(path, method="OPTIONS"))
    assert (options.status, options.get("Allow"), options.body) == (204, ALLOWED[path], b"")
    wrong = ask(probe.port, get(path, method="TRACE"))
    check_problem(wrong, 405)
    assert wrong.get("Allow") == ALLOWED[path]


def test_head_where_there_is_no_get_is_405_without_a_body(probe):
    with Wire(probe.port) as wire:
        wire.send(get("/items", method="HEAD") + get("/echo"))
        answer = wire.answer(head_only=True)
        assert (answer.status, answer.get("Allow")) == (405, "POST, OPTIONS")
        assert wire.answer().status == 200


def test_options_asterisk_speaks_for_the_server(probe):
    answer = ask(probe.port, get("*", method="OPTIONS"))
    assert answer.status == 204 and "PATCH" in answer.get("Allow")


# ---- common fields ----


def test_every_answer_carries_the_common_fields_once(probe):
    for data in (get("/cached"), get("/nope"), post("/items", b"{}"), get("/cached", method="OPTIONS"), get("/file")):
        answer = ask(probe.port, data)
        for name, value in SECURITY.items():
            assert answer.count(name) == 1, name
            assert answer.get(name) == value or data.startswith(b"GET /file")
        assert re.fullmatch(r"req_[0-9a-z]{26}", answer.get("Request-Id"))
        assert answer.count("Date") == 1


@pytest.mark.parametrize("size", [0, 1000, 5000, 9000])
def test_an_answer_may_carry_long_fields_even_under_a_pipeline(probe, size):
    behind = post("/text", b"x" * 60_000, kind="text/plain")
    with Wire(probe.port) as wire:
        wire.send(get(f"/wordy?bytes={size}") + behind)
        answer = wire.answer()
        assert answer.status == 200
        assert sum(len(value) for name, value in answer.fields if name == "X-Wordy") == size
        assert wire.answer().json()["body_length"] == 60_000


def test_more_fields_than_there_is_room_for_are_our_fault_said_so(probe):
    check_problem(ask(probe.port, get("/wordy?bytes=20000")), 500, "internal_error")


def test_request_ids_differ(probe):
    with Wire(probe.port) as wire:
        wire.send(get("/cached") * 50)
        assert len({wire.answer().get("Request-Id") for _ in range(50)}) == 50


def test_a_response_may_name_its_own_cache_control(probe):
    assert ask(probe.port, get("/file")).get("Cache-Control") == "private, no-cache"


def test_location_and_etag_of_a_creation(probe):
    answer = ask(probe.port, post("/items", b"{}"))
    assert (answer.status, answer.get("Location"), answer.get("ETag")) == (201, "/items/1", '"v1"')
    assert answer.get("Content-Length") == "0"


def test_fields_noted_while_authenticating_are_in_whatever_answer_follows(probe):
    good = ask(probe.port, get("/private", "Authorization: Bearer secret"))
    assert good.status == 200 and good.get("RateLimit") == '"default";r=9;t=1'
    refused = ask(probe.port, post("/private", b"", "Authorization: Bearer secret", "Accept: text/html"))
    assert refused.status == 406 and refused.get("RateLimit")


@pytest.mark.parametrize(
    ("fields", "challenge"),
    [
        ([], 'Bearer realm="trainyard"'),
        (["Authorization: Bearer x"], 'Bearer realm="trainyard", error="invalid_token"'),
    ],
)
def test_401_challenges_and_says_invalid_only_when_something_was_sent(probe, fields, challenge):
    answer = ask(probe.port, get("/private", *fields))
    check_problem(answer, 401)
    assert answer.get("WWW-Authenticate") == challenge


def test_403_names_the_scope(probe):
    answer = ask(probe.port, post("/private", b"{}", "Authorization: Bearer viewer"))
    assert answer.get("WWW-Authenticate") == 'Bearer realm="trainyard", error="insufficient_scope", scope="items:write"'


def test_503_says_when_to_come_back(probe):
    assert int(ask(probe.port, get("/no-memory")).get("Retry-After")) >= 1


def test_all_faults_are_listed_with_their_places(probe):
    document = check_problem(ask(probe.port, get("/faulty")), 422, "spec_rejected")
    assert document["errors"] == [
        {"pointer": "/image", "code": "required", "detail": "image is missing"},
        {"parameter": "limit", "code": "out_of_range", "detail": "limit is at most 500"},
    ]
    assert document["detail"] == "the spec breaks 2 rules"


# ---- trace context ----

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"

CONTINUED = {
    "a traceparent": ([f"traceparent: 00-{TRACE}-{PARENT}-01", "tracestate: a=b"], True, "01", "a=b"),
    "not sampled": ([f"traceparent: 00-{TRACE}-{PARENT}-00"], True, "00", None),
    "unknown flags are cleared": ([f"traceparent: 00-{TRACE}-{PARENT}-ff"], True, "01", None),
    "a later version": ([f"traceparent: 01-{TRACE}-{PARENT}-01-more"], True, "01", None),
    "two tracestates": ([f"traceparent: 00-{TRACE}-{PARENT}-01", "tracestate: a=b", "tracestate: c=d"], True, "01", "a=b, c=d"),
    "capitals": ([f"traceparent: 00-{TRACE.upper()}-{PARENT}-01", "tracestate: a=b"], False, None, None),
    "a zero trace id": ([f"traceparent: 00-{'0' * 32}-{PARENT}-01", "tracestate: a=b"], False, None, None),
    "a zero parent id": ([f"traceparent: 00-{TRACE}-{'0' * 16}-01"], False, None, None),
    "version ff": ([f"traceparent: ff-{TRACE}-{PARENT}-01"], False, None, None),
    "version 00 with more": ([f"traceparent: 00-{TRACE}-{PARENT}-01-x"], False, None, None),
    "too short": ([f"traceparent: 00-{TRACE}-{PARENT}"], False, None, None),
    "twice": ([f"traceparent: 00-{TRACE}-{PARENT}-01"] * 2, False, None, None),
    "none": (["tracestate: a=b"], False, None, None),
}


@pytest.mark.parametrize("name", CONTINUED)
def test_traces_are_continued_when_valid_and_begun_anew_when_not(probe, name):
    fields, continued, flags, state = CONTINUED[name]
    echo = ask(probe.port, get("/echo", *fields)).json()
    version, trace, parent, sent_flags = echo["traceparent"].split("-")
    assert version == "00" and len(trace) == 32 and len(parent) == 16 and parent != PARENT
    assert (trace == TRACE) == continued
    assert echo["tracestate"] == state
    if flags:
        assert sent_flags == flags


# ---- HEAD ----


@pytest.mark.parametrize("path", ["/cached", "/large", "/file", "/nope", "/private", "/echo?unknown=1", "/later?ms=5", "/pool?ms=5"])
def test_head_says_what_get_says_without_the_body(probe, path):
    with Wire(probe.port) as wire:
        wire.send(get(path))
        whole = wire.answer()
        wire.send(get(path, method="HEAD"))
        head = wire.answer(head_only=True)
        wire.send(get("/echo"))
        assert wire.answer().status == 200, "nothing of a body came"
    varying = {"Date", "Request-Id"}
    assert head.status == whole.status
    assert [f for f in head.fields if f[0] not in varying] == [f for f in whole.fields if f[0] not in varying]


# ---- conditions ----


def etag_of(probe, path: str = "/cached") -> str:
    return ask(probe.port, get(path)).get("ETag")


CONDITIONS = {
    "the tag": ("If-None-Match: {e}", 304),
    "the tag, weak": ("If-None-Match: W/{e}", 304),
    "a star": ("If-None-Match: *", 304),
    "a list with the tag": ('If-None-Match: "a", {e}, "b"', 304),
    "a list in two fields": ('If-None-Match: "a"\r\nIf-None-Match: {e}', 304),
    "another tag": ('If-None-Match: "other"', 200),
    "the tag's gzip form": ("If-None-Match: {g}", 304),
    "no tag at all": ("If-None-Match: garbage", 200),
    "If-Match with the tag": ("If-Match: {e}", 200),
    "If-Match with the tag's gzip form": ("If-Match: {g}", 200),
    "If-Match with a star": ("If-Match: *", 200),
    "If-Match with a weak tag": ("If-Match: W/{e}", 412),
    "If-Match with another tag": ('If-Match: "other"', 412),
    "If-Match before If-None-Match": ('If-Match: "other"\r\nIf-None-Match: {e}', 412),
}


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_conditions_on_reads(probe, name, method):
    etag = etag_of(probe)
    field, status = CONDITIONS[name]
    field = field.format(e=etag, g=etag[:-1] + '-gzip"')
    answer = ask(probe.port, get("/cached", field, method=method), head_only=method == "HEAD")
    assert answer.status == status
    if status == 304:
        assert answer.get("ETag") == etag and answer.get("Cache-Control") == "no-store"
        assert answer.get("Content-Length") in (None, "700"), "if sent, it is the length of the 200"


WRITES = {
    "no condition": ("A: b", 204, None),
    "If-Match with the tag": ("If-Match: {e}", 204, None),
    "If-Match with its gzip form": ("If-Match: {g}", 204, None),
    "If-Match with another": ('If-Match: "x"', 412, "precondition_failed"),
    "If-Match with a weak one": ("If-Match: W/{e}", 412, "precondition_failed"),
    "If-Match with a star": ("If-Match: *", 204, None),
    "If-Match that cannot be read": ("If-Match: x", 400, "bad_header"),
    "If-None-Match with a star": ("If-None-Match: *", 412, "precondition_failed"),
    "If-None-Match with another": ('If-None-Match: "x"', 204, None),
}


@pytest.mark.parametrize("name", WRITES)
def test_conditions_on_writes(probe, name):
    etag = etag_of(probe)
    field, status, code = WRITES[name]
    answer = ask(probe.port, get("/cached", field.format(e=etag, g=etag[:-1] + '-gzip"'), method="PUT"))
    assert answer.status == status
    if code:
        check_problem(answer, status, code)


def test_a_write_may_insist_on_a_condition(probe):
    check_problem(ask(probe.port, get("/cached?must=1", method="PUT")), 428, "precondition_required")


# ---- ranges ----

SIZE = 1000

RANGES = {
    "first byte": ("bytes=0-0", 0, 1),
    "first hundred": ("bytes=0-99", 0, 100),
    "the rest": ("bytes=900-", 900, 100),
    "beyond the end": ("bytes=900-5000", 900, 100),
    "the last ten": ("bytes=-10", 990, 10),
    "more than all from the end": ("bytes=-5000", 0, 1000),
    "all": ("bytes=0-999", 0, 1000),
    "an end that overflows": ("bytes=0-99999999999999999999999", 0, 1000),
    "a unit in capitals": ("BYTES=0-0", 0, 1),
}


@pytest.mark.parametrize("name", RANGES)
def test_one_range_is_answered_with_206(probe, name, sample):
    value, first, length = RANGES[name]
    answer = ask(probe.port, get("/file", f"Range: {value}"))
    assert answer.status == 206
    assert answer.get("Content-Range") == f"bytes {first}-{first + length - 1}/{SIZE}"
    assert answer.body == sample.read_bytes()[first : first + length]


@pytest.mark.parametrize(
    "value",
    ["bytes=0-1,5-6", "items=0-1", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=1", "bytes 0-1", "bytes=0-1x", "bytes=--1"],
)
def test_what_is_not_one_range_gets_the_whole(probe, value, sample):
    answer = ask(probe.port, get("/file", f"Range: {value}"))
    assert answer.status == 200 and answer.body == sample.read_bytes()
    assert answer.get("Content-Range") is None and answer.get("Accept-Ranges") == "bytes"


@pytest.mark.parametrize("value", ["bytes=1000-", "bytes=5000-6000", "bytes=-0", "bytes=99999999999999999999999-"])
def test_a_range_past_the_end_gets_416(probe, value):
    answer = ask(probe.port, get("/file", f"Range: {value}"))
    check_problem(answer, 416, "range_not_satisfiable")
    assert answer.get("Content-Range") == f"bytes */{SIZE}"


def test_if_range_gives_the_part_only_of_the_very_version(probe):
    etag = etag_of(probe, "/file")
    cases = {etag: 206, '"other"': 200, "W/" + etag: 200, "Mon, 02 Jan 2026 03:04:05 GMT": 200, "junk": 200}
    for value, status in cases.items():
        assert ask(probe.port, get("/file", "Range: bytes=0-9", f"If-Range: {value}")).status == status, value


def test_if_none_match_goes_before_range(probe):
    etag = etag_of(probe, "/file")
    assert ask(probe.port, get("/file", "Range: bytes=0-9", f"If-None-Match: {etag}")).status == 304


def test_range_is_for_get_alone(probe):
    answer = ask(probe.port, get("/file", "Range: bytes=0-9", method="HEAD"), head_only=True)
    assert (answer.status, answer.get("Content-Length")) == (200, str(SIZE))


def test_an_attachment_is_named_in_ascii_and_in_full(probe):
    value = ask(probe.port, get("/file")).get("Content-Disposition")
    assert value == "attachment; filename=\"mod__l _1_.pt\"; filename*=UTF-8''mod%C3%A9l%20%221%22.pt"


def test_an_empty_file_is_served(start, tmp_path):
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    own = start(file=empty)
    answer = ask(own.port, get("/file"))
    assert (answer.status, answer.get("Content-Length"), answer.body) == (200, "0", b"")
    check_problem(ask(own.port, get("/file", "Range: bytes=0-")), 416)


def test_a_file_that_shrinks_breaks_the_connection(start, tmp_path):
    large = tmp_path / "large"
    large.write_bytes(b"x" * 40_000_000)
    own = start(file=large)
    with Wire(own.port) as wire:
        wire.send(get("/file"))
        head = wire.head()
        assert head.get("Content-Length") == "40000000"
        large.write_bytes(b"x" * 1000)
        got = len(wire.pending)
        try:
            while data := wire.socket.recv(1 << 20):
                got += len(data)
        except ConnectionError:
            pass
        assert got < 40_000_000, "a short body must not look whole"


# ---- coding ----

ENCODINGS = {
    "gzip": ("gzip", True),
    "among others": ("br, gzip;q=0.5, deflate", True),
    "x-gzip": ("x-gzip", True),
    "a star": ("*", True),
    "capitals": ("GZIP", True),
    "refused": ("gzip;q=0", False),
    "refused, others taken": ("gzip;q=0, *", False),
    "identity liked better": ("gzip;q=0.5, identity", False),
    "identity": ("identity", False),
    "only brotli": ("br", False),
    "empty": ("", False),
    "unreadable quality": ("gzip;q=x", False),
}


@pytest.mark.parametrize("path", ["/large", "/large/plain"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_large_json_is_compressed_when_the_client_takes_it(probe, name, path):
    value, compressed = ENCODINGS[name]
    plain = ask(probe.port, get(path))
    answer = ask(probe.port, get(path, f"Accept-Encoding: {value}"))
    assert "Accept-Encoding" in answer.get("Vary")
    assert (answer.get("Content-Encoding") == "gzip") == compressed
    assert (gzip.decompress(answer.body) if compressed else answer.body) == plain.body
    assert (answer.get("ETag") != plain.get("ETag")) == compressed
    assert len(answer.body) == int(answer.get("Content-Length"))
    again = ask(probe.port, get(path, f"Accept-Encoding: {value}", f"If-None-Match: {answer.get('ETag')}"))
    assert (again.status, again.get("ETag")) == (304, answer.get("ETag"))


@pytest.mark.parametrize("path", ["/cached", "/large/plain?secret=1", "/file"])
def test_small_secret_and_file_answers_are_not_compressed(probe, path):
    answer = ask(probe.port, get(path, "Accept-Encoding: gzip"))
    assert answer.get("Content-Encoding") is None and answer.get("Vary") is None


@pytest.mark.parametrize("size", [0, 1, 1000, 65534])
@pytest.mark.parametrize("path", ["/echo", "/pool/echo"])
def test_gzip_request_bodies_are_inflated(probe, size, path):
    body = b"[" + b"1" * size + b"]"
    echo = ask(probe.port, post(path, gzip.compress(body, mtime=1) if size != 65534 else gzip.compress(body, 1), "Content-Encoding: gzip"))
    if size == 65534:  # inflates to exactly the limit, but at a ratio above 100
        assert echo.status in (200, 413)
    else:
        assert echo.json()["body_length"] == len(body)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("text/plain", "text/plain"),
        ("text/*", "text/plain"),
        ("application/*;q=0.5, text/plain;q=0.4", "application/json"),
        ("application/json;q=0.1, application/yaml", "application/yaml"),
        ("text/html, */*;q=0.1", "application/json"),
        ("application/json;q=0, */*", "application/yaml"),
        ("TEXT/PLAIN", "text/plain"),
        ("text/plain;charset=utf-8", "text/plain"),
        ("garbage", "application/json"),
        ("", "application/json"),
    ],
)
def test_the_answers_type_is_negotiated(probe, accept, expected):
    fields = [] if accept is None else [f"Accept: {accept}"]
    assert ask(probe.port, get("/text", *fields)).json()["answer_type"] == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("application/json", "application/json"),
        ("Application/JSON", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
        ('application/json; charset="UTF-8"', "application/json"),
        ("text/plain", "text/plain"),
        ("application/yaml;a=b", "application/yaml"),
    ],
)
def test_the_bodys_type_is_read(probe, kind, expected):
    assert ask(probe.port, post("/text", b"x", kind=kind)).json()["body_type"] == expected


def test_415_lists_what_is_read(probe):
    assert ask(probe.port, post("/text", b"x", kind="a/b")).get("Accept") == "application/json, application/yaml, text/plain"
    assert ask(probe.port, post("/items/1", b"x", kind="a/b", method="PATCH")).get("Accept-Patch") == "application/json"
    assert ask(probe.port, post("/echo", b"x", "Content-Encoding: br")).get("Accept-Encoding") == "gzip"


# ---- bodies ----


@pytest.mark.parametrize("size", [0, 1, 100, 8191, 8192, 8193, 65536, 1_000_000, 4 * 1024 * 1024])
@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_of_any_size_arrive_whole(probe, size, chunked):
    import hashlib

    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    kind = "Content-Type: application/octet-stream"
    with Wire(probe.port) as wire:
        if chunked:
            wire.send(get("/bytes", "Transfer-Encoding: chunked", kind, method="PUT"))
            for at in range(0, size, 70_001):
                part = body[at : at + 70_001]
                wire.send(b"%x\r\n%b\r\n" % (len(part), part))
            wire.send(b"0\r\n\r\n")
        else:
            wire.send(get("/bytes", f"Content-Length: {size}", kind, method="PUT") + body)
        echo = wire.answer().json()
        assert (echo["body_length"], echo["body_sha256"]) == (size, hashlib.sha256(body).hexdigest())
        wire.send(get("/echo"))
        assert wire.answer().status == 200


def test_100_continue_comes_only_when_the_body_will_be_read(probe):
    body = b"{}"
    fields = ["Content-Type: application/json", "Expect: 100-continue"]
    with Wire(probe.port) as wire:
        wire.send(get("/echo", f"Content-Length: {len(body)}", *fields, method="POST"))
        assert wire.head().status == 100
        wire.send(body)
        assert wire.answer().json()["body_length"] == 2


@pytest.mark.parametrize(
    ("path", "length", "status"),
    [("/echo", 70000, 413), ("/private", 2, 401), ("/nope", 2, 404), ("/cached", 2, 405)],
)
def test_a_refused_request_with_an_expectation_gets_no_100(probe, path, length, status):
    with Wire(probe.port) as wire:
        wire.send(get(path, f"Content-Length: {length}", "Content-Type: application/json", "Expect: 100-continue", method="POST"))
        answer = wire.answer()
        check_problem(answer, status)
        assert "continued" not in answer.extra and answer.get("Connection") == "close"
        assert wire.closed()


def test_a_large_refused_body_does_not_hide_its_answer(probe):
    """A client that writes on regardless still reads why it was refused."""
    for _ in range(20):
        with Wire(probe.port) as wire:
            wire.send(get("/echo", "Content-Length: 3000000", "Content-Type: application/json", method="POST"))
            try:
                wire.send(b"x" * 400_000)
            except ConnectionError:
                pass
            check_problem(wire.answer(), 413, "body_too_large")


# ---- CORS ----


def test_cors_is_off_by_default(probe):
    answer = ask(probe.port, get("/cached", "Origin: https://a.example"))
    assert not [name for name, _ in answer.fields if name.lower().startswith("access-control")]
    assert answer.get("Vary") is None


def test_cors_by_exact_origin(start):
    own = start("--origin", "https://a.example")
    good = ask(own.port, get("/cached", "Origin: https://a.example"))
    assert good.get("Access-Control-Allow-Origin") == "https://a.example"
    assert "ETag" in good.get("Access-Control-Expose-Headers") and "Origin" in good.get("Vary")
    assert good.get("Access-Control-Allow-Credentials") is None
    for origin in ("https://b.example", "null", "https://a.example.evil", "http://a.example", "https://A.example"):
        bad = ask(own.port, get("/cached", f"Origin: {origin}"))
        assert bad.status == 200 and bad.get("Access-Control-Allow-Origin") is None and "Origin" in bad.get("Vary")
    problem = ask(own.port, get("/private", "Origin: https://a.example"))
    assert problem.status == 401 and problem.get("Access-Control-Allow-Origin") == "https://a.example"


def test_preflight_comes_before_authentication(start):
    own = start("--origin", "https://a.example")
    answer = ask(own.port, get("/private", "Origin: https://a.example", "Access-Control-Request-Method: POST", method="OPTIONS"))
    assert answer.status == 204
    assert answer.get("Access-Control-Allow-Methods") == "GET, HEAD, POST, OPTIONS"
    assert "Authorization" in answer.get("Access-Control-Allow-Headers")
    assert answer.get("Access-Control-Max-Age") == "600"
    other = ask(own.port, get("/private", "Origin: https://b.example", "Access-Control-Request-Method: POST", method="OPTIONS"))
    assert other.status == 204 and other.get("Access-Control-Allow-Methods") is None


def test_json_answers_are_json(probe):
    assert json.loads(ask(probe.port, get("/large")).body)["state"] == "running"
