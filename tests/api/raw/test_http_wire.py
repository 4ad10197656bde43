"""Wire strictness (RFC 9112 2.2, 3, 5, 6, 7): what is refused, how, and that the connection ends with it."""

from __future__ import annotations

import pytest

from wire import Wire, ask, check_problem, get

H = b"Host: t\r\n"
J = b"Content-Type: application/json\r\n"


def head(line: bytes, *fields: bytes) -> bytes:
    return b"\r\n".join([line, b"Host: t", *fields, b"", b""])


# name: (bytes, status, code)
REFUSED = {
    # the request line
    "bare LF after the request line": (b"GET /echo HTTP/1.1\nHost: t\r\n\r\n", 400, "bad_request_line"),
    "bare LF everywhere": (b"GET /echo HTTP/1.1\nHost: t\n\n", 400, "bad_request_line"),
    "bare CR after the request line": (b"GET /echo HTTP/1.1\rHost: t\r\n\r\n", 400, "bad_request_line"),
    "two blanks before the target": (head(b"GET  /echo HTTP/1.1"), 400, "bad_request_line"),
    "two blanks before the version": (head(b"GET /echo  HTTP/1.1"), 400, "bad_request_line"),
    "a tab instead of a blank": (head(b"GET\t/echo HTTP/1.1"), 400, "bad_request_line"),
    "a blank behind the version": (head(b"GET /echo HTTP/1.1 "), 400, "bad_request_line"),
    "a blank before the method": (head(b" GET /echo HTTP/1.1"), 400, "bad_request_line"),
    "no version": (head(b"GET /echo"), 400, "bad_request_line"),
    "only a method": (head(b"GET"), 400, "bad_request_line"),
    "only a method and a blank": (head(b"GET "), 400, "bad_request_line"),
    "an empty target": (head(b"GET  HTTP/1.1"), 400, "bad_request_line"),
    "a version in lower case": (head(b"GET /echo http/1.1"), 400, "bad_request_line"),
    "a version without digits": (head(b"GET /echo HTTP/x.y"), 400, "bad_request_line"),
    "a version with two digits": (head(b"GET /echo HTTP/1.10"), 400, "bad_request_line"),
    "another protocol": (head(b"GET /echo HTTQ/1.1"), 400, "bad_request_line"),
    "HTTP/0.9": (head(b"GET /echo HTTP/0.9"), 505, "version_not_supported"),
    "HTTP/2.0": (head(b"GET /echo HTTP/2.0"), 505, "version_not_supported"),
    "the HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "version_not_supported"),
    "HTTP/3.1": (head(b"GET /echo HTTP/3.1"), 505, "version_not_supported"),
    "a NUL in the target": (head(b"GET /ec\0ho HTTP/1.1"), 400, "bad_target"),
    "a raw byte above 127 in the target": (head(b"GET /\xc3\xa9 HTTP/1.1"), 400, "bad_target"),
    "a control byte in the target": (head(b"GET /\x01 HTTP/1.1"), 400, "bad_target"),
    "DEL in the target": (head(b"GET /\x7f HTTP/1.1"), 400, "bad_target"),
    "a fragment in the target": (head(b"GET /echo#a HTTP/1.1"), 400, "bad_target"),
    "a quote in the target": (head(b'GET /echo?a="b" HTTP/1.1'), 400, "bad_target"),
    "a backslash in the target": (head(b"GET /a\\b HTTP/1.1"), 400, "bad_target"),
    "braces in the target": (head(b"GET /{a} HTTP/1.1"), 400, "bad_target"),
    "a blank in the target": (head(b"GET /a b HTTP/1.1"), 400, "bad_request_line"),
    "a colon in the method": (head(b"GE:T /echo HTTP/1.1"), 400, "bad_request_line"),
    "a NUL in the method": (head(b"G\0T /echo HTTP/1.1"), 400, "bad_request_line"),
    "a TLS hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "bad_request_line"),
    "two empty lines before the request": (b"\r\n\r\n" + head(b"GET /echo HTTP/1.1"), 400, "bad_request_line"),
    "a bare LF before the request": (b"\n" + head(b"GET /echo HTTP/1.1"), 400, "bad_request_line"),
    "a bare CR before the request": (b"\r" + head(b"GET /echo HTTP/1.1"), 400, "bad_request_line"),
    # header fields
    "a bare LF in the fields": (b"GET /echo HTTP/1.1\r\nHost: t\nA: b\r\n\r\n", 400, "bad_header"),
    "a bare LF as the end": (b"GET /echo HTTP/1.1\r\nHost: t\r\n\n", 400, "bad_header"),
    "a bare CR in a value": (head(b"GET /echo HTTP/1.1", b"A: b\rc"), 400, "bad_header"),
    "CR CR LF": (b"GET /echo HTTP/1.1\r\nHost: t\r\r\n\r\n", 400, "bad_header"),
    "a NUL in a value": (head(b"GET /echo HTTP/1.1", b"A: b\0c"), 400, "bad_header"),
    "a NUL in a name": (head(b"GET /echo HTTP/1.1", b"A\0: b"), 400, "bad_header"),
    "a bell in a value": (head(b"GET /echo HTTP/1.1", b"A: b\x07"), 400, "bad_header"),
    "DEL in a value": (head(b"GET /echo HTTP/1.1", b"A: b\x7f"), 400, "bad_header"),
    "a blank before the colon": (head(b"GET /echo HTTP/1.1", b"A : b"), 400, "bad_header"),
    "a tab before the colon": (head(b"GET /echo HTTP/1.1", b"A\t: b"), 400, "bad_header"),
    "a blank in the name": (head(b"GET /echo HTTP/1.1", b"A B: c"), 400, "bad_header"),
    "no colon": (head(b"GET /echo HTTP/1.1", b"Abc"), 400, "bad_header"),
    "an empty name": (head(b"GET /echo HTTP/1.1", b": b"), 400, "bad_header"),
    "a folded field": (head(b"GET /echo HTTP/1.1", b"A: b", b" c"), 400, "bad_header"),
    "a field folded by a tab": (head(b"GET /echo HTTP/1.1", b"A: b", b"\tc"), 400, "bad_header"),
    "a fold before the first field": (b"GET /echo HTTP/1.1\r\n Host: t\r\n\r\n", 400, "bad_header"),
    "a folded length": (head(b"POST /echo HTTP/1.1", b"Content-Length:", b" 5"), 400, "bad_header"),
    "a raw byte above 127 in a name": (head(b"GET /echo HTTP/1.1", b"\xc3\xa9: b"), 400, "bad_header"),
    "parentheses in a name": (head(b"GET /echo HTTP/1.1", b"A(b): c"), 400, "bad_header"),
    "Authorization twice": (head(b"GET /private HTTP/1.1", b"Authorization: Bearer a", b"Authorization: Bearer secret"), 400, "bad_header"),
    "Content-Type twice": (head(b"POST /echo HTTP/1.1", b"Content-Type: application/json", b"content-type: text/plain", b"Content-Length: 0"), 400, "bad_header"),
    "Range twice": (head(b"GET /file HTTP/1.1", b"Range: bytes=0-1", b"Range: bytes=2-3"), 400, "bad_header"),
    "Idempotency-Key twice": (head(b"POST /items HTTP/1.1", b"Idempotency-Key: a", b"Idempotency-Key: a"), 400, "bad_header"),
    "Expect twice": (head(b"GET /echo HTTP/1.1", b"Expect: 100-continue", b"Expect: 100-continue"), 400, "bad_header"),
    "Origin twice": (head(b"GET /echo HTTP/1.1", b"Origin: a", b"Origin: b"), 400, "bad_header"),
    "Content-Encoding twice": (head(b"POST /echo HTTP/1.1", b"Content-Encoding: gzip", b"Content-Encoding: gzip"), 400, "bad_header"),
    # Host
    "no Host": (b"GET /echo HTTP/1.1\r\n\r\n", 400, "bad_host"),
    "Host twice": (head(b"GET /echo HTTP/1.1", b"Host: t"), 400, "bad_header"),
    "Host twice, different": (head(b"GET /echo HTTP/1.1", b"host: u"), 400, "bad_header"),
    "an empty Host": (b"GET /echo HTTP/1.1\r\nHost:\r\n\r\n", 400, "bad_host"),
    "a Host with a path": (b"GET /echo HTTP/1.1\r\nHost: t/x\r\n\r\n", 400, "bad_host"),
    "a Host with a user": (b"GET /echo HTTP/1.1\r\nHost: u@t\r\n\r\n", 400, "bad_host"),
    "two hosts in one Host": (b"GET /echo HTTP/1.1\r\nHost: t, u\r\n\r\n", 400, "bad_host"),
    "a Host with a blank": (b"GET /echo HTTP/1.1\r\nHost: t u\r\n\r\n", 400, "bad_host"),
    "a Host with a bad port": (b"GET /echo HTTP/1.1\r\nHost: t:8x\r\n\r\n", 400, "bad_host"),
    "a Host with a long port": (b"GET /echo HTTP/1.1\r\nHost: t:123456\r\n\r\n", 400, "bad_host"),
    "a Host with an open bracket": (b"GET /echo HTTP/1.1\r\nHost: [::1\r\n\r\n", 400, "bad_host"),
    # framing
    "both lengths": (head(b"POST /echo HTTP/1.1", b"Content-Length: 4", b"Transfer-Encoding: chunked") + b"0\r\n\r\n", 400, "bad_content_length"),
    "both lengths, the other order": (head(b"POST /echo HTTP/1.1", b"Transfer-Encoding: chunked", b"Content-Length: 4") + b"0\r\n\r\n", 400, "bad_content_length"),
    "a length twice, different": (head(b"POST /echo HTTP/1.1", b"Content-Length: 4", b"Content-Length: 5"), 400, "bad_header"),
    "a length twice, the same": (head(b"POST /echo HTTP/1.1", b"Content-Length: 4", b"Content-Length: 4"), 400, "bad_header"),
    "a length list": (head(b"POST /echo HTTP/1.1", b"Content-Length: 4, 4"), 400, "bad_content_length"),
    "a length with a plus": (head(b"POST /echo HTTP/1.1", b"Content-Length: +4"), 400, "bad_content_length"),
    "a negative length": (head(b"POST /echo HTTP/1.1", b"Content-Length: -4"), 400, "bad_content_length"),
    "a length with leading zeros": (head(b"POST /echo HTTP/1.1", b"Content-Length: 004"), 400, "bad_content_length"),
    "a hexadecimal length": (head(b"POST /echo HTTP/1.1", b"Content-Length: 0x4"), 400, "bad_content_length"),
    "an empty length": (head(b"POST /echo HTTP/1.1", b"Content-Length:"), 400, "bad_content_length"),
    "a length with a blank inside": (head(b"POST /echo HTTP/1.1", b"Content-Length: 1 0"), 400, "bad_content_length"),
    "a length with a fraction": (head(b"POST /echo HTTP/1.1", b"Content-Length: 4.0"), 400, "bad_content_length"),
    "a length beyond 64 bits": (head(b"POST /echo HTTP/1.1", b"Content-Length: 99999999999999999999"), 413, "body_too_large"),
    "a coding that is not chunked": (head(b"POST /echo HTTP/1.1", b"Transfer-Encoding: gzip"), 400, "bad_transfer_encoding"),
    "two codings": (head(b"POST /echo HTTP/1.1", b"Transfer-Encoding: gzip, chunked"), 400, "bad_transfer_encoding"),
    "chunked twice in one field": (head(b"POST /echo HTTP/1.1", b"Transfer-Encoding: chunked, chunked"), 400, "bad_transfer_encoding"),
    "chunked in two fields": (head(b"POST /echo HTTP/1.1", b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"), 400, "bad_header"),
    "chunked with a parameter": (head(b"POST /echo HTTP/1.1", b"Transfer-Encoding: chunked;q=1"), 400, "bad_transfer_encoding"),
    "chunked in quotes": (head(b"POST /echo HTTP/1.1", b'Transfer-Encoding: "chunked"'), 400, "bad_transfer_encoding"),
    "xchunked": (head(b"POST /echo HTTP/1.1", b"Transfer-Encoding: xchunked"), 400, "bad_transfer_encoding"),
    "an empty coding": (head(b"POST /echo HTTP/1.1", b"Transfer-Encoding:"), 400, "bad_transfer_encoding"),
    "identity as a coding": (head(b"POST /echo HTTP/1.1", b"Transfer-Encoding: identity"), 400, "bad_transfer_encoding"),
    "chunked with a vertical tab": (head(b"POST /echo HTTP/1.1", b"Transfer-Encoding: \x0bchunked"), 400, "bad_header"),
    "chunked on HTTP/1.0": (head(b"POST /echo HTTP/1.0", b"Transfer-Encoding: chunked") + b"0\r\n\r\n", 400, "bad_transfer_encoding"),
    # absolute targets
    "an absolute target of another host": (head(b"GET http://u/echo HTTP/1.1"), 400, "bad_host"),
    "an absolute target of another port": (head(b"GET http://t:81/echo HTTP/1.1"), 400, "bad_host"),
    "an absolute target without a host": (head(b"GET http:///echo HTTP/1.1"), 400, "bad_host"),
    "an absolute target with a user": (b"GET http://u@t/echo HTTP/1.1\r\nHost: t\r\n\r\n", 400, "bad_host"),
    # limits
    "a target beyond 8 KiB": (head(b"GET /" + b"a" * 8300 + b" HTTP/1.1"), 414, "target_too_long"),
    "a request line without an end": (b"GET /" + b"a" * 9000, 414, "target_too_long"),
    "fields beyond 32 KiB": (head(b"GET /echo HTTP/1.1", *[b"A%d: " % i + b"x" * 1000 for i in range(40)]), 431, "headers_too_large"),
    "one field beyond 32 KiB": (head(b"GET /echo HTTP/1.1", b"A: " + b"x" * 33000), 431, "headers_too_large"),
    "101 fields": (head(b"GET /echo HTTP/1.1", *[b"A%d: x" % i for i in range(100)]), 431, "headers_too_large"),
    "a thousand fields": (head(b"GET /echo HTTP/1.1", *[b"A: x"] * 1000), 431, "headers_too_large"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_head_is_refused_with_a_problem_and_the_connection_ends(probe, name):
    data, status, code = REFUSED[name]
    with Wire(probe.port) as wire:
        wire.send(data)
        answer = wire.answer()
        check_problem(answer, status, code)
        assert answer.get("Connection") == "close"
        assert answer.get("Date")
        assert wire.closed(), "the connection stays open"


# The limits are tried in one piece only.
@pytest.mark.parametrize("name", [name for name, case in REFUSED.items() if len(case[0]) <= 400])
def test_a_broken_head_byte_by_byte_is_refused_the_same(probe, name):
    data, status, code = REFUSED[name]
    with Wire(probe.port) as wire:
        try:
            for at in range(len(data)):
                wire.send(data[at : at + 1])
        except ConnectionError:
            pass  # it was refused before its end
        check_problem(wire.answer(), status, code)


# An empty line behind the good request would belong to that one.
@pytest.mark.parametrize("name", [name for name, case in REFUSED.items() if case[2].startswith("bad_") and case[0][0] not in b"\r\n"])
def test_a_broken_head_behind_a_good_request_does_not_harm_that_one(probe, name):
    data, status, code = REFUSED[name]
    with Wire(probe.port) as wire:
        wire.send(get("/echo?first=1") + data)
        first = wire.answer()
        assert first.status == 200 and first.json()["parameters"] == [["first", "1"]]
        check_problem(wire.answer(), status, code)
        assert wire.closed()


CHUNKED = head(b"POST /echo HTTP/1.1", b"Transfer-Encoding: chunked", b"Content-Type: application/json")

# name: (what follows the head, status, code or the body's length)
CHUNKS = {
    "one chunk": (b"2\r\n{}\r\n0\r\n\r\n", 200, 2),
    "three chunks": (b"1\r\n[\r\n3\r\n1,2\r\n1\r\n]\r\n0\r\n\r\n", 200, 5),
    "a size in capitals": (b"A\r\n[123456789\r\n1\r\n]\r\n0\r\n\r\n", 200, 11),
    "leading zeros": (b"0002\r\n{}\r\n000\r\n\r\n", 200, 2),
    "nothing": (b"0\r\n\r\n", 200, 0),
    "an extension": (b"2;a=b\r\n{}\r\n0;c\r\n\r\n", 200, 2),
    "an extension of 256 bytes": (b"2;" + b"a" * 255 + b"\r\n{}\r\n0\r\n\r\n", 200, 2),
    "an extension of 257 bytes": (b"2;" + b"a" * 256 + b"\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "trailers": (b"2\r\n{}\r\n0\r\nA: b\r\nC: d\r\n\r\n", 200, 2),
    "a trailer without a colon": (b"2\r\n{}\r\n0\r\nA\r\n\r\n", 400, "bad_chunk"),
    "a folded trailer": (b"2\r\n{}\r\n0\r\nA: b\r\n c\r\n\r\n", 400, "bad_chunk"),
    "trailers without an end": (b"2\r\n{}\r\n0\r\n" + b"A: b\r\n" * 2000, 400, "bad_chunk"),
    "a bare LF behind the size": (b"2\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "a bare LF behind the data": (b"2\r\n{}\n0\r\n\r\n", 400, "bad_chunk"),
    "a bare LF at the end": (b"2\r\n{}\r\n0\r\n\n", 400, "bad_chunk"),
    "a bare LF in an extension": (b"2;a\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "a bare CR in an extension": (b"2;a\rb\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "a NUL in an extension": (b"2;a\0\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "a blank before the size": (b" 2\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "a blank behind the size": (b"2 \r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "a plus before the size": (b"+2\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "a minus before the size": (b"-2\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "0x before the size": (b"0x2\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "an underscore in the size": (b"0_2\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "no size": (b"\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "only an extension": (b";a\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "letters for a size": (b"zz\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "a size of 16 digits": (b"1000000000000002\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "a size that wraps around": (b"10000000000000002\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "data longer than its size": (b"1\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "data shorter than its size": (b"5\r\n{}\r\n0\r\n\r\n", 400, "bad_chunk"),
    "no line end behind the data": (b"2\r\n{}0\r\n\r\n", 400, "bad_chunk"),
    "beyond the route's limit": (b"10001\r\n" + b"x" * 0x10001 + b"\r\n0\r\n\r\n", 413, "body_too_large"),
}


@pytest.mark.parametrize("name", CHUNKS)
def test_chunked_bodies_are_read_by_the_letter(probe, name):
    body, status, expected = CHUNKS[name]
    with Wire(probe.port) as wire:
        wire.send(CHUNKED + body)
        answer = wire.answer()
        if status == 200:
            assert answer.status == 200 and answer.json()["body_length"] == expected
            wire.send(get("/echo"))
            assert wire.answer().status == 200, "the connection lives on"
        else:
            check_problem(answer, status, expected)
            assert wire.closed()


@pytest.mark.parametrize("name", [name for name, case in CHUNKS.items() if len(case[0]) < 400])
def test_chunked_bodies_byte_by_byte_are_read_the_same(probe, name):
    body, status, expected = CHUNKS[name]
    with Wire(probe.port) as wire:
        try:
            for byte in CHUNKED + body:
                wire.send(bytes([byte]))
        except ConnectionError:
            assert status != 200
        answer = wire.answer()
        if status == 200:
            assert answer.json()["body_length"] == expected
        else:
            check_problem(answer, status, expected)


# What is unusual but right.
ACCEPTED = {
    "an empty line before the request": b"\r\n" + get("/echo"),
    "no blank behind the colon": b"GET /echo HTTP/1.1\r\nHost:t\r\n\r\n",
    "blanks around the value": b"GET /echo HTTP/1.1\r\nHost: \t t \t\r\n\r\n",
    "an empty value": get("/echo", "A:"),
    "a name in capitals": b"GET /echo HTTP/1.1\r\nHOST: t\r\n\r\n",
    "bytes above 127 in a value": get("/echo", "A: \xe9"),
    "a name of odd token bytes": get("/echo", "!#$%&'*+-.^_`|~: x"),
    "an IPv6 host": b"GET /echo HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n",
    "a host with a port": b"GET /echo HTTP/1.1\r\nHost: t:8080\r\n\r\n",
    "HTTP/1.0 without Host": b"GET /echo HTTP/1.0\r\n\r\n",
    "HTTP/1.2": get("/echo", version="HTTP/1.2"),
    "an absolute target": b"GET http://t/echo HTTP/1.1\r\nHost: t\r\n\r\n",
    "an absolute target in capitals": b"GET HTTP://T/echo HTTP/1.1\r\nHost: t\r\n\r\n",
    "Content-Length: 0 on GET": get("/echo", "Content-Length: 0"),
    "Connection with several options": get("/echo", "Connection: keep-alive, Upgrade", "Upgrade: websocket"),
    "a hundred fields": get("/echo", *[f"A{i}: x" for i in range(99)]),
    "a field of 31 KiB": get("/echo", "A: " + "x" * 31000),
    "a target of just 8 KiB": get("/echo?a=" + "x" * (8192 - 8)),
    "a thousand cookies": get("/echo", "Cookie: " + "a=b; " * 1000),
    "a query of 250 parameters": get("/echo?" + "&".join(f"a{i}=b" for i in range(250))),
    "Accept twice": get("/echo", "Accept: text/html", "Accept: application/json"),
    "a Trailer field": get("/echo", "Trailer: A"),
    "TE": get("/echo", "TE: trailers"),
    "a long name": get("/echo", "A" * 2000 + ": x"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_unusual_but_right_is_served(probe, name):
    answer = ask(probe.port, ACCEPTED[name])
    assert answer.status == 200, answer.body
    assert answer.json()["path"] == "/echo"


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_unusual_but_right_is_served_byte_by_byte(probe, name):
    data = ACCEPTED[name]
    with Wire(probe.port) as wire:
        step = 1 if len(data) < 500 else 997
        for at in range(0, len(data), step):
            wire.send(data[at : at + step])
        assert wire.answer().status == 200


def test_a_refused_head_request_has_no_body(probe):
    with Wire(probe.port) as wire:
        wire.send(b"HEAD /echo HTTP/1.1\r\nHost: t\r\nA : b\r\n\r\n")
        answer = wire.answer(head_only=True)
        assert answer.status == 400 and int(answer.get("Content-Length")) > 0
        assert wire.closed() and wire.pending == b""


def test_pipelined_requests_are_answered_in_order(probe):
    count = 50
    with Wire(probe.port) as wire:
        wire.send(b"".join(get(f"/echo?n={n}") for n in range(count)))
        for n in range(count):
            assert wire.answer().json()["parameters"] == [["n", str(n)]]


def test_pipelined_bodies_keep_to_their_requests(probe):
    bodies = [b"[" + b"1," * n + b"1]" for n in range(0, 4000, 97)]
    with Wire(probe.port) as wire:
        parts = []
        for n, body in enumerate(bodies):
            length = b"Content-Length: %d" % len(body)
            if n % 2:
                parts.append(head(b"POST /echo?n=%d HTTP/1.1" % n, length, J.strip()) + body)
            else:
                cut = len(body) // 2
                chunks = b"%x\r\n%b\r\n%x;x=y\r\n%b\r\n0\r\nT: v\r\n\r\n" % (cut, body[:cut], len(body) - cut, body[cut:])
                if cut == 0:
                    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
                parts.append(head(b"POST /echo?n=%d HTTP/1.1" % n, b"Transfer-Encoding: chunked", J.strip()) + chunks)
        data = b"".join(parts)
        for at in range(0, len(data), 1999):
            wire.send(data[at : at + 1999])
        for n, body in enumerate(bodies):
            echo = wire.answer().json()
            assert (echo["parameters"], echo["body_length"]) == ([["n", str(n)]], len(body))


def test_pipelined_requests_across_pool_and_thread_keep_their_order(probe):
    paths = ["/pool?ms=30", "/echo?n=1", "/later?ms=20", "/cached", "/pool?ms=1", "/later"]
    with Wire(probe.port) as wire:
        wire.send(b"".join(get(path) for path in paths))
        bodies = [wire.answer().json() for _ in paths]
    assert bodies[0] == {"slept": True} and bodies[1]["parameters"] == [["n", "1"]]
    assert bodies[2] == {"later": True} and bodies[3]["state"] == "running"
    assert bodies[4] == {"slept": True} and bodies[5] == {"later": True}


def test_what_follows_the_last_request_of_a_connection_is_dropped(probe):
    with Wire(probe.port) as wire:
        wire.send(get("/echo", "Connection: close") + get("/echo?second=1"))
        answer = wire.answer()
        assert answer.status == 200 and answer.get("Connection") == "close"
        assert wire.closed() and wire.pending == b""


def test_a_smuggled_request_in_a_body_is_a_body(probe):
    inner = get("/echo?smuggled=1")
    with Wire(probe.port) as wire:
        wire.send(head(b"POST /text HTTP/1.1", b"Content-Type: text/plain", b"Content-Length: %d" % len(inner)) + inner)
        assert wire.answer().json()["body_length"] == len(inner)
        wire.send(get("/echo?next=1"))
        assert wire.answer().json()["parameters"] == [["next", "1"]]


def test_http_1_0_closes_unless_it_asks_to_stay(probe):
    with Wire(probe.port) as wire:
        wire.send(b"GET /cached HTTP/1.0\r\n\r\n")
        assert wire.answer().status == 200
        assert wire.closed()
    with Wire(probe.port) as wire:
        for _ in range(3):
            wire.send(b"GET /cached HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
            answer = wire.answer()
            assert answer.status == 200 and answer.get("Connection").lower() == "keep-alive"
