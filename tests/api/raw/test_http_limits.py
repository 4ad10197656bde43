"""Deadlines, connection limits, clients that are slow or gone, and stopping."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import socket
import threading
import time

import pytest

from wire import Closed, Wire, ask, check_problem, get, post


def wait_for(condition, seconds: float = 60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("it did not come to that")


def stats(probe) -> dict:
    return ask(probe.port, get("/stats")).json()


# ---- deadlines ----


@pytest.mark.parametrize("sent", [b"G", b"GET /echo HTTP/1.1\r\n", b"GET /echo HTTP/1.1\r\nHost: t\r\n", b"GET /echo HTTP/1.1\r\nHost: t\r\n\r"])
def test_a_head_that_does_not_end_gets_408(start, sent):
    own = start("--header-ms", 300)
    with Wire(own.port) as wire:
        wire.send(sent)
        check_problem(wire.answer(), 408, "header_timeout")
        assert wire.closed()


def test_a_head_that_trickles_gets_408_all_the_same(start):
    """A byte now and then does not move the deadline (slowloris)."""
    own = start("--header-ms", 500)
    with Wire(own.port) as wire:
        wire.send(b"GET /echo HTTP/1.1\r\nHost: t\r\n")
        began = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() - began < 8:
                wire.send(b"A: b\r\n")
                time.sleep(0.05)
        assert time.monotonic() - began < 6


def test_the_second_head_of_a_connection_has_a_deadline_of_its_own(start):
    own = start("--header-ms", 400)
    with Wire(own.port) as wire:
        for _ in range(4):
            time.sleep(0.2)
            wire.send(get("/echo"))
            assert wire.answer().status == 200
        wire.send(b"GET /ec")
        check_problem(wire.answer(), 408, "header_timeout")


def test_a_head_behind_a_slow_answer_is_not_hurried(start):
    own = start("--header-ms", 300)
    with Wire(own.port) as wire:
        data = get("/echo")
        wire.send(get("/pool?ms=1000") + data[:10])
        assert wire.answer().json() == {"slept": True}
        wire.send(data[10:])
        assert wire.answer().status == 200


@pytest.mark.parametrize("framing", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
def test_a_body_that_does_not_come_gets_408(start, framing):
    own = start("--body-ms", 300)
    with Wire(own.port) as wire:
        wire.send(get("/echo", framing, "Content-Type: application/json", method="POST") + b"5\r\n[")
        check_problem(wire.answer(), 408, "body_timeout")
        assert wire.closed()
    wait_for(lambda: stats(own)["body_memory"] == 0)


def test_a_body_that_keeps_its_rate_may_take_long(start):
    own = start("--body-ms", 300, "--body-rate", 20)
    with Wire(own.port) as wire:
        wire.send(get("/echo", "Content-Length: 400", "Content-Type: application/json", method="POST"))
        for _ in range(40):
            wire.send(b"x" * 10)
            time.sleep(0.03)  # 1.2 s in all; each ten bytes buy half a second
        assert wire.answer().json()["body_length"] == 400


def test_a_body_below_its_rate_is_ended(start):
    own = start("--body-ms", 300, "--body-rate", 1000000)
    with Wire(own.port) as wire:
        wire.send(get("/echo", "Content-Length: 4000", "Content-Type: application/json", method="POST"))
        with pytest.raises(ConnectionError):
            for _ in range(200):
                wire.send(b"x" * 10)
                time.sleep(0.03)


def test_a_refused_but_small_body_is_under_the_deadline_too(start):
    own = start("--body-ms", 300)
    with Wire(own.port) as wire:
        wire.send(get("/nope", "Content-Length: 10", method="POST"))
        check_problem(wire.answer(), 408, "body_timeout")


def test_an_idle_connection_is_closed_without_a_word(start):
    own = start("--idle-ms", 1000)
    with Wire(own.port) as wire:
        wire.send(get("/echo"))
        assert wire.answer().status == 200
        assert wire.closed() and wire.pending == b""


def test_a_reader_that_stops_reading_is_let_go(start, tmp_path):
    large = tmp_path / "large"
    large.write_bytes(b"x" * 50_000_000)
    own = start("--idle-ms", 1000, file=large)
    with Wire(own.port, receive_buffer=4096) as wire:
        wire.send(get("/file"))
        wire.head()
        wait_for(lambda: stats(own)["connections"] == 1)


def test_a_connection_ends_after_its_number_of_requests(start):
    own = start("--requests", 5)
    with Wire(own.port) as wire:
        for n in range(5):
            wire.send(get("/echo"))
            assert wire.answer().get("Connection") == ("close" if n == 4 else None)
        assert wire.closed()


# ---- connection limits ----


def test_connections_over_the_limit_get_503_and_the_listener_recovers(start):
    own = start("--connections", 20)
    held = [Wire(own.port) for _ in range(20)]
    for wire in held:
        wire.send(get("/echo"))
        assert wire.answer().status == 200
    for _ in range(30):
        with Wire(own.port) as wire:
            wire.send(get("/echo"))
            answer = wire.answer()
            check_problem(answer, 503, "too_many_connections")
            assert int(answer.get("Retry-After")) >= 1 and answer.get("Connection") == "close"
            assert wire.closed()
    for wire in held[:10]:
        wire.socket.close()
    wait_for(lambda: ask(own.port, get("/echo")).status == 200)
    assert stats(own)["refused"] >= 30
    for wire in held[10:]:
        wire.send(get("/echo"))
        assert wire.answer().status == 200
        wire.socket.close()


def test_connections_of_one_address_are_limited_and_others_are_not(start):
    own = start("--connections", 100, "--per-address", 5)
    held = [Wire(own.port) for _ in range(5)]
    wait_for(lambda: True)
    for wire in held:
        wire.send(get("/echo"))
        assert wire.answer().status == 200
    with Wire(own.port) as wire:
        wire.send(get("/echo"))
        check_problem(wire.answer(), 503, "too_many_connections")
    other = socket.create_connection(("127.0.0.1", own.port), source_address=("127.0.0.2", 0))
    other.sendall(get("/echo"))
    assert other.recv(4096).startswith(b"HTTP/1.1 200")
    other.close()
    for wire in held:
        wire.socket.close()
    wait_for(lambda: ask(own.port, get("/echo")).status == 200)


def test_silent_connections_over_the_limit_do_not_hold_their_place(start):
    own = start("--connections", 3)
    held = [Wire(own.port) for _ in range(3)]
    for wire in held:
        wire.send(get("/echo"))
        wire.answer()
    silent = [Wire(own.port) for _ in range(50)]
    assert all(wire.closed() for wire in silent)
    for wire in held:
        wire.socket.close()
    wait_for(lambda: ask(own.port, get("/echo")).status == 200)


def test_all_request_bodies_together_are_bounded(start):
    own = start("--body-memory", 100_000)
    kind = "Content-Type: application/octet-stream"
    with Wire(own.port) as first, Wire(own.port) as second:
        first.send(get("/bytes", "Content-Length: 200000", kind, method="PUT") + b"x" * 60_000)
        wait_for(lambda: stats(own)["body_memory"] == 60_000)
        second.send(get("/bytes", "Content-Length: 200000", kind, method="PUT") + b"x" * 60_000)
        second.send(b"x" * 10)
        check_problem(second.answer(), 503, "overloaded")
        assert second.closed()
    wait_for(lambda: stats(own)["body_memory"] == 0)
    assert ask(own.port, post("/bytes", b"x" * 90_000, kind="application/octet-stream", method="PUT")).status == 200


# ---- vanishing clients ----


def test_clients_that_vanish_leave_nothing_behind(start):
    own = start("--threads", 2)
    full = post("/pool/echo", b"{}")
    acts = [
        full,
        full[: len(full) // 2],
        get("/echo", "Content-Length: 50", "Content-Type: application/json", method="POST") + b"{}",
        get("/pool?ms=50"),
        get("/later?ms=50"),
        get("/stream?count=100&ms=10"),
        get("/large") * 20,
        b"GET / HT",
        b"",
    ]
    for turn in range(100):
        wire = Wire(own.port)
        data = acts[turn % len(acts)]
        if data:
            wire.send(data)
        if turn % 2:
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # reset
        wire.socket.close()
    final = wait_for(lambda: (s := stats(own))["in_flight"] == 1 and s["connections"] == 1 and s["streams"] == 0 and s)
    assert final["body_memory"] == 0


def test_half_of_a_body_reaches_no_handler(start):
    own = start()
    before = stats(own)["observed"]
    with Wire(own.port) as wire:
        wire.send(get("/echo", "Content-Length: 50", "Content-Type: application/json", method="POST") + b"{}")
        wire.half_close()
        assert wire.closed() and wire.pending == b""
    wait_for(lambda: stats(own)["observed_499"] == 1)
    assert stats(own)["observed"] > before


def test_a_client_that_half_closes_still_gets_its_answer(start):
    own = start()
    for path in ("/echo", "/pool?ms=100", "/later?ms=100", "/large"):
        with Wire(own.port) as wire:
            wire.send(get(path))
            wire.half_close()
            assert wire.answer().status == 200
            assert wire.closed()


# ---- streams ----


def read_events(wire: Wire) -> list[bytes]:
    chunks = []
    while data := wire.chunk():
        chunks.append(data)
    return b"".join(chunks).split(b"\n\n")[:-1]


def test_a_stream_delivers_every_event_in_order_and_ends(start):
    own = start()
    with Wire(own.port) as wire:
        wire.send(get("/stream?count=3000&size=50"))
        head = wire.head()
        assert head.get("Content-Type") == "text/event-stream" and head.get("X-Accel-Buffering") == "no"
        assert head.get("Cache-Control") == "no-store" and head.get("Transfer-Encoding") == "chunked"
        events = read_events(wire)
        assert [event.split(b"\n")[0] for event in events] == [b"id: %d" % n for n in range(3000)]
        wire.send(get("/echo"))
        assert wire.answer().status == 200, "the connection lives on"


def test_a_stream_over_http_1_0_ends_with_the_connection(start):
    own = start()
    with Wire(own.port) as wire:
        wire.send(b"GET /stream?count=5&ms=5 HTTP/1.0\r\n\r\n")
        head = wire.head()
        assert head.get("Transfer-Encoding") is None and head.get("Content-Length") is None
        assert wire.closed() and wire.pending.count(b"data:") == 5


def test_a_live_event_arrives_at_once(start):
    own = start()
    with Wire(own.port) as wire:
        wire.send(get("/stream?count=20&ms=50"))
        wire.head()
        times = []
        while wire.chunk():
            times.append(time.monotonic())
        assert len(times) == 20, "each event in a write of its own"


def test_many_streams_at_once_each_get_everything(start):
    own = start()
    wires = [Wire(own.port, timeout=60) for _ in range(200)]
    for wire in wires:
        wire.send(get("/stream?count=50&ms=5"))
    for wire in wires:
        wire.head()
        assert len(read_events(wire)) == 50
        wire.socket.close()
    wait_for(lambda: stats(own)["released"] == 200)


def test_one_event_reaches_every_stream_once_and_in_order(start):
    own = start("--threads", 2, "--drain", 20)
    wires = [Wire(own.port, timeout=60) for _ in range(400)]
    for wire in wires:
        wire.send(get("/feed"))
    for wire in wires:
        wire.head()
    with Wire(own.port) as producer:
        for _ in range(50):
            producer.send(post("/feed/push", b"", kind=""))
            assert producer.answer().status == 204
    time.sleep(0.3)
    own.terminate()  # a stream without a drain of its own ends where it has nothing more
    for wire in wires:
        assert read_events(wire) == [b"data: %d" % n for n in range(1, 51)]
        wire.socket.close()


def test_a_silent_stream_gets_heartbeats(start):
    own = start("--heartbeat-ms", 300)
    with Wire(own.port) as wire:
        wire.send(get("/stream"))
        wire.head()
        assert wire.chunk() == b": hb\n\n"
        assert wire.chunk() == b": hb\n\n"


def test_a_stream_whose_client_left_is_released_within_seconds(start):
    own = start()
    wires = [Wire(own.port) for _ in range(10)]
    for wire in wires:
        wire.send(get("/stream"))
        wire.head()
    assert stats(own)["streams"] == 10
    for wire in wires:
        wire.socket.close()
    wait_for(lambda: (s := stats(own))["streams"] == 0 and s["released"] == 10)


def test_a_stream_that_breaks_never_looks_complete(start):
    own = start()
    with Wire(own.port) as wire:
        wire.send(get("/stream/broken"))
        wire.head()
        assert wire.chunk() == b"x" * 10
        with pytest.raises((Closed, ConnectionError)):
            wire.chunk()


def test_head_of_a_stream_releases_it(start):
    own = start()
    with Wire(own.port) as wire:
        wire.send(get("/stream", method="HEAD"))
        answer = wire.answer(head_only=True)
        assert answer.status == 200 and answer.get("Content-Type") == "text/event-stream"
        assert wire.closed() and wire.pending == b"", "no byte of a body"
    wait_for(lambda: stats(own)["released"] == 1)


def test_a_slow_reader_of_a_stream_loses_nothing(start):
    own = start()
    with Wire(own.port, timeout=60, receive_buffer=32768) as wire:
        wire.send(get("/stream?count=20000&size=120"))
        wire.head()
        time.sleep(1)
        assert [e.split(b"\n")[0] for e in read_events(wire)] == [b"id: %d" % n for n in range(20000)]


# ---- stopping ----


def test_draining_finishes_what_runs_and_refuses_what_is_new(start):
    own = start("--drain", 10)
    with Wire(own.port) as slow, Wire(own.port) as idle, Wire(own.port) as streaming:
        idle.send(get("/echo"))
        idle.answer()
        streaming.send(get("/stream?count=1000000&ms=20"))
        streaming.head()
        slow.send(get("/pool?ms=1000"))
        time.sleep(0.2)
        own.terminate()
        time.sleep(0.2)
        with pytest.raises(ConnectionError):
            Wire(own.port)
        answer = slow.answer()
        assert answer.json() == {"slept": True} and answer.get("Connection") == "close"
        assert slow.closed()
        assert read_events(streaming)[-1] == b"event: reconnect\ndata: {}"
        assert idle.closed() and idle.pending == b""
    assert own.stop() == "drained yes"


def test_a_request_on_an_idle_connection_early_in_the_drain_is_served(start):
    own = start("--drain", 10)
    with Wire(own.port) as wire:
        wire.send(get("/echo"))
        wire.answer()
        own.terminate()
        time.sleep(0.1)
        wire.send(get("/echo"))
        answer = wire.answer()
        assert answer.status == 200 and answer.get("Connection") == "close"
    assert own.stop() == "drained yes"


def test_a_drain_that_runs_out_says_so_and_breaks_off(start):
    own = start("--drain", 1)
    with Wire(own.port) as wire:
        wire.send(get("/echo", "Content-Length: 10", "Content-Type: application/json", method="POST"))
        time.sleep(0.1)
        own.terminate()
        assert wire.closed()
    assert own.stop() == "drained no"


def test_stopping_under_load_is_clean(start):
    own = start("--drain", 0)
    stop = threading.Event()

    def load(path: str) -> None:
        while not stop.is_set():
            try:
                with Wire(own.port) as wire:
                    while not stop.is_set():
                        wire.send(get(path))
                        wire.answer()
            except (OSError, Closed, ValueError):
                time.sleep(0.01)

    paths = ["/cached", "/pool?ms=1", "/later", "/stream?count=20&ms=1", "/large", "/stats"]
    threads = [threading.Thread(target=load, args=(path,)) for path in paths * 2]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    own.terminate()
    own.process.wait(timeout=30)
    stop.set()
    for thread in threads:
        thread.join()
    own.stop()


def test_interrupted_by_many_kinds_of_request_at_once_every_answer_is_its_own(start):
    """Answers from the HTTP thread, the pool and another thread, over few connections, never change places."""
    own = start("--threads", 2)

    def run(seed: int) -> int:
        done = 0
        with Wire(own.port, timeout=60) as wire:
            for n in range(60):
                tag = f"{seed}-{n}"
                wire.send(get(f"/echo?t={tag}") + get("/later") + get("/pool?ms=0") + get(f"/echo?u={tag}"))
                assert wire.answer().json()["parameters"] == [["t", tag]]
                assert wire.answer().json() == {"later": True}
                assert wire.answer().json() == {"slept": True}
                assert wire.answer().json()["parameters"] == [["u", tag]]
                done += 4
        return done

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(run, range(16))) == 16 * 240


def test_a_full_pool_is_503_not_a_wait(start):
    own = start()

    def one(_: int) -> int:
        with Wire(own.port, timeout=60) as wire:
            wire.send(get("/pool?ms=40"))
            return wire.answer().status

    with concurrent.futures.ThreadPoolExecutor(400) as pool:
        statuses = list(pool.map(one, range(400)))
    assert statuses.count(200) >= 4 and statuses.count(503) > 0
    assert set(statuses) == {200, 503}


def test_the_server_listens_on_the_loopback_only(start):
    own = start()
    links = os.popen(f"ss -Hltn sport = :{own.port}").read() if os.path.exists("/usr/bin/ss") else ""
    if not links:
        pytest.skip("no ss here")
    assert "127.0.0.1" in links and "0.0.0.0:%d" % own.port not in links


def test_signals_do_not_end_the_server(start):
    own = start()
    own.process.send_signal(signal.SIGPIPE)
    assert ask(own.port, get("/echo")).status == 200
