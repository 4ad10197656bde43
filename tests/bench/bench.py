"""Measure the gateway against floors of the same run and print one table. Never asserts a time.

usage: bench.py [get|list|submit|logs|events|files|start|true]…   all without arguments
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import select
import socket
import subprocess
import sys
import time

from driver import (
    BUILD,
    CLIENT_CPU,
    CPUS,
    ROUNDS,
    SERVER_CPU,
    Gateway,
    Table,
    alternate,
    bare_server,
    commit_floor,
    first_answer,
    free_port,
    gateway,
    load,
    median,
    on_cpus,
    part,
    rss_mib,
)

MILLION = 1_000_050
FAR_PAGE = 20_000
PAGE = 50
IMAGE = "pytorch/pytorch:2.0.0"
SPEC = {"name": "mnist", "image": IMAGE, "epochs": 10, "script": "print(1)  # " + "x" * 560}
FILE_BYTES = 256 * 1024 * 1024


def million_jobs() -> pathlib.Path:
    """The folder with a million finished jobs, made once."""
    folder = BUILD / "million"
    folder.mkdir(exist_ok=True)
    subprocess.run([BUILD / "bench/fill", folder, str(MILLION)], check=True)
    return folder


def bearer(server: Gateway) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.token}"}


def pid_of(server: Gateway) -> int:
    assert server.process
    return server.process.pid


# --- status ---


def measure_get(table: Table) -> None:
    """Authenticated GET of a job that is in the cache against one fixed body of the bare library."""
    with gateway() as server, bare_server() as (floor_url, floor_pid):
        job = server.submit(**{**SPEC, "script": "print(1)"})
        server.wait(job["id"])
        url = server.url(f"/v1/jobs/{job['id']}")
        headers = bearer(server)
        product, floor = alternate(
            lambda: load(url, pid_of(server), 64, headers), lambda: load(floor_url, floor_pid, 64, headers)
        )
    ours, bare = (median([r.rate for r in results]) for results in (product, floor))
    table.add("GET a cached job", f"{ours:,.0f}/s", f"{bare:,.0f}/s", ours / bare, "ratio >= 0.6")
    ours, bare = (median([r.cpu_us for r in results]) for results in (product, floor))
    table.add("  server CPU of one", f"{ours:.1f} us", f"{bare:.1f} us", ours / bare)


# --- lists ---


def cursor_of_page(server: Gateway, page: int) -> str:
    """The cursor that opens a page of 50; walked in pages of 500, as cursors do not depend on the size."""
    cursor = ""
    for _ in range((page - 1) * PAGE // 500):
        answer = server.get("/v1/jobs", params={"limit": "500", **({"cursor": cursor} if cursor else {})}).json()
        cursor = answer["next_cursor"]
    for _ in range((page - 1) * PAGE % 500 // PAGE):
        answer = server.get("/v1/jobs", params={"limit": str(PAGE), "cursor": cursor}).json()
        cursor = answer["next_cursor"]
    return cursor


def measure_list(table: Table) -> None:
    """Pages of 50 among a million, the first and the last."""
    with gateway(million_jobs()) as server, bare_server() as (floor_url, floor_pid):
        headers = bearer(server)
        near_url = server.url(f"/v1/jobs?limit={PAGE}")
        far_url = f"{near_url}&cursor={cursor_of_page(server, FAR_PAGE)}"
        near, far, floor = alternate(
            lambda: load(near_url, pid_of(server), 4, headers),
            lambda: load(far_url, pid_of(server), 4, headers),
            lambda: load(floor_url, floor_pid, 4, headers),
        )
    first, last, bare = (median([r.rate for r in results]) for results in (near, far, floor))
    table.add("list 50 of 1,000,000, page 1", f"{first:,.0f}/s", f"{bare:,.0f}/s bare", first / bare)
    times = [f"{1e3 / rate:.3f} ms" for rate in (last, first)]
    table.add("list, page 20,000 to page 1", *times, first / last, "ratio <= 1.2")
    first, last = (median([r.cpu_us for r in results]) for results in (near, far))
    table.add("  server CPU of one", f"{last:.0f} us", f"{first:.0f} us", last / first)


# --- submits ---


def measure_submit(table: Table) -> None:
    """Durable submits that wait in the queue, against as many rows in groups of the same size, written raw."""
    for clients, target in ((1, ""), (16, ""), (64, "ratio >= 0.45")):
        name = f"submit, {clients} client" + ("s" if clients > 1 else "")
        compare_submits(table, Submits(name, clients, clients, target=target))
    compare_submits(table, Submits("submit, 64 clients, all CPUs", 64, 64, cpus=set(CPUS)))
    compare_submits(table, Submits("submit, batches of 128", 4, 128, items=128))


@dataclasses.dataclass
class Submits:
    """One way to submit: how many wait at a time, and the group of the floor."""

    name: str
    clients: int
    group: int
    items: int = 1
    target: str = ""
    cpus: set[int] | None = None


def compare_submits(table: Table, way: Submits) -> None:
    with gateway(cpus=way.cpus, max_jobs=0) as server, commit_floor(way.cpus) as floor_run:
        headers = {**bearer(server), "Content-Type": "application/json"}
        path = "/v1/jobs" if way.items == 1 else "/v1/jobs:batch"
        body = SPEC if way.items == 1 else {"items": [SPEC] * way.items}
        first = server.post(path, body)
        assert first.status_code in (200, 201), first.text
        count = 2000 if way.group == 1 else 20000
        product, floor = alternate(
            lambda: load(server.url(path), pid_of(server), way.clients, headers, json.dumps(body), way.cpus),
            lambda: floor_run(way.group, count),
        )
    ours, raw = median([r.rate * way.items for r in product]), median([rate for rate, _ in floor])
    table.add(way.name, f"{ours:,.0f}/s", f"{raw:,.0f}/s raw", ours / raw, way.target)
    ours, raw = median([r.cpu_us / way.items for r in product]), median([cpu for _, cpu in floor])
    table.add("  server CPU of one", f"{ours:.0f} us", f"{raw:.0f} us", ours / raw)


# --- logs ---

TALKER = """
import random, time
random.seed(1)
for _ in range({lines}):
    time.sleep(random.uniform(0.002, 0.03))
    print(time.monotonic_ns(), flush=True)
"""


def line_ages(receive, lines: int) -> list[float]:
    """Seconds from a line's writing to its arrival, for each line that carries its time."""
    ages: list[float] = []
    rest = b""
    while len(ages) < lines:
        data = receive(65536)
        now = time.monotonic_ns()
        if not data:
            break
        *whole, rest = (rest + data).split(b"\n")
        ages += [(now - int(line)) / 1e9 for line in whole if re.fullmatch(rb"\d{12,}", line)]
    return ages


def follow(server: Gateway, lines: int) -> list[float]:
    job = server.submit(name="talker", script=TALKER.format(lines=lines))
    host, port = server.address.rsplit(":", 1)
    request = (
        f"GET /v1/jobs/{job['id']}/logs?follow=true HTTP/1.1\r\nHost: {server.address}\r\n"
        f"Authorization: Bearer {server.token}\r\nAccept: text/plain\r\nConnection: close\r\n\r\n"
    )
    server.wait(job["id"], {"running"})
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request.encode())
        ages = line_ages(connection.recv, lines)
    server.wait(job["id"])
    return ages[5:]  # what was there before the follower came is not live


def read_pipe(lines: int) -> list[float]:
    with on_cpus(SERVER_CPU):
        talker = subprocess.Popen(["/usr/bin/python3", "-c", TALKER.format(lines=lines)], stdout=subprocess.PIPE)
    assert talker.stdout
    descriptor = talker.stdout.fileno()
    ages = line_ages(lambda size: os.read(descriptor, size), lines)
    talker.wait()
    return ages


def measure_logs(table: Table) -> None:
    """A line from write to follower, against a pipe from the same script to the same reader."""
    lines = 200
    with gateway() as server, on_cpus(CLIENT_CPU):
        product, floor = alternate(lambda: follow(server, lines), lambda: read_pipe(lines))
    ours, raw = ([age for ages in results for age in ages] for results in (product, floor))
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        mine, bare = part(ours, share) * 1e3, part(raw, share) * 1e3
        target = f"{mine:.2f} <= 20" if share == 0.99 else ""
        table.add(f"line to follower, {name}", f"{mine:.2f} ms", f"{bare:.2f} ms pipe", mine / bare, target)


# --- events ---

STREAMS = 1000
FANNED = 2000  # events


def open_stream(server: Gateway) -> socket.socket:
    """A stream of the tenant's events whose head has come."""
    host, port = server.address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=60)
    request = f"GET /v1/events HTTP/1.1\r\nHost: {server.address}\r\nAuthorization: Bearer {server.token}\r\n\r\n"
    connection.sendall(request.encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    return connection


def drain(connections: list[socket.socket], most: int) -> float:
    """Read about `most` bytes of each; seconds from the first byte to the last."""
    left = {connection.fileno(): most for connection in connections}
    poll = select.epoll()
    for number in left:
        poll.register(number, select.EPOLLIN)
    begin = 0.0
    while left:
        for number, _ in poll.poll(60):
            begin = begin or time.monotonic()
            left[number] -= len(os.read(number, 1 << 18)) or most
            if left[number] <= 0:
                poll.unregister(number)
                del left[number]
    poll.close()
    return time.monotonic() - begin


def fan_out(server: Gateway) -> tuple[float, int]:
    """Events a second over all streams, and the bytes of one event."""
    streams = [open_stream(server) for _ in range(STREAMS)]
    items = [{"image": IMAGE, "command": ["true"], "suspended": True}] * 500
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        posts = pool.submit(lambda: [server.post("/v1/jobs:batch", {"items": items}) for _ in range(FANNED // 500)])
        size = int(len(server.get("/v1/events?follow=false&type=job.suspended").content.split(b"\n")[0]))
        seconds = drain(streams, FANNED * size)
        posts.result()
    for stream in streams:
        stream.close()
    return STREAMS * FANNED / seconds, size


def fan_out_bare(size: int) -> float:
    with on_cpus(SERVER_CPU):
        floor = subprocess.Popen(
            [BUILD / "bench/event_floor", str(STREAMS), str(FANNED), str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    assert floor.stdin and floor.stdout
    port = int(floor.stdout.readline())
    streams = [socket.create_connection(("127.0.0.1", port)) for _ in range(STREAMS)]
    floor.stdin.write(b"\n")
    floor.stdin.flush()
    seconds = drain(streams, FANNED * size)
    for stream in streams:
        stream.close()
    floor.kill()
    floor.wait()
    return STREAMS * FANNED / seconds


def event_ages(server: Gateway, turns: int) -> tuple[list[float], list[float]]:
    """Seconds from a PATCH to its answer, and to its event."""
    job = server.submit(command=["true"], suspended=True)["id"]
    answers, events = [], []
    stream = open_stream(server)
    for turn in range(turns):
        begin = time.monotonic()
        assert server.patch(f"/v1/jobs/{job}", {"labels": {"turn": str(turn)}}).status_code == 200
        answers.append(time.monotonic() - begin)
        data = b""
        while f'"turn":"{turn}"'.encode() not in data:
            data += stream.recv(65536)
        events.append(time.monotonic() - begin)
        time.sleep(0.005)
    stream.close()
    return answers, events


def measure_events(table: Table) -> None:
    """Idle streams, the way of an event to who waits for it, and one event to many."""
    flags = ("--streams-per-token", "5000", "--streams-per-tenant", "5000", "--max-connections-per-address", "4000")
    with gateway(flags=flags) as server, on_cpus(CLIENT_CPU):
        answers, events = event_ages(server, 300)
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            mine, answer = part(events, share) * 1e3, part(answers, share) * 1e3
            table.add(f"PATCH to its event, {name}", f"{mine:.2f} ms", f"{answer:.2f} ms answer", mine / answer)
        before = rss_mib(pid_of(server))
        streams = [open_stream(server) for _ in range(STREAMS)]
        each = (rss_mib(pid_of(server)) - before) * 1024 / STREAMS
        table.add("idle event stream, resident", f"{each:.1f} KiB", "", None, f"{each:.1f} <= 6")
        for stream in streams:
            stream.close()
        rate, size = fan_out(server)
    with on_cpus(CLIENT_CPU):
        bare = fan_out_bare(size)
    table.add(f"an event to {STREAMS} streams", f"{rate:,.0f}/s", f"{bare:,.0f}/s write()", rate / bare, "ratio >= 0.8")


# --- files ---


def download(url: str, headers: dict[str, str]) -> float:
    """Bytes a second of one download."""
    fields = [part for key, value in headers.items() for part in ("-H", f"{key}: {value}")]
    command = ["curl", "-sS", "--fail", "-o", os.devnull, "-w", "%{speed_download} %{size_download}", *fields, url]
    with on_cpus(CLIENT_CPU):
        speed, size = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert int(size) == FILE_BYTES
    return float(speed)


def measure_files(table: Table) -> None:
    """An artefact of 256 MiB against the same file from the bare library."""
    script = f"open('/output/model.pth', 'wb').write(bytes({FILE_BYTES}))"
    with gateway() as server:
        job = server.submit(name="writer", script=script)
        server.wait(job["id"], {"succeeded"})
        url = server.url(f"/v1/jobs/{job['id']}/artifacts/model.pth")
        server.request("HEAD", f"/v1/jobs/{job['id']}/artifacts/model.pth")
        file = next(path for path in server.data.rglob("model.pth") if path.is_file())
        with bare_server("file", str(file)) as (floor_url, _):
            product, floor = alternate(lambda: download(url, bearer(server)), lambda: download(floor_url, {}))
    ours, raw = median(product), median(floor)
    table.add("download of 256 MiB", f"{ours / 1e9:.2f} GB/s", f"{raw / 1e9:.2f} GB/s bare", ours / raw)


# --- start ---


def start_once(command: list[str], port: int, path: str) -> tuple[float, float]:
    """Seconds from exec to the first 200, and resident MiB a second later."""
    with on_cpus(SERVER_CPU):
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with on_cpus(CLIENT_CPU):
            first_answer(port, path, process)
        seconds = time.perf_counter() - begin
        time.sleep(1)
        return seconds, rss_mib(process.pid)
    finally:
        process.terminate()
        process.wait()


def measure_start(table: Table) -> None:
    """From exec to the first 200 of /readyz with a million jobs, against a bare process that opens the same file."""
    data = million_jobs()
    port = free_port()
    ours = [str(BUILD / "bin/trainyardd"), "serve", "--listen", f"127.0.0.1:{port}", "--data", str(data)]
    bare = [str(BUILD / "bench/http_floor"), str(port), "database", str(data / "trainyard.db")]
    product, floor = alternate(lambda: start_once(ours, port, "/readyz"), lambda: start_once(bare, port, "/"))
    mine, raw = (median([seconds for seconds, _ in results]) * 1e3 for results in (product, floor))
    table.add("start to first 200", f"{mine:.1f} ms", f"{raw:.1f} ms bare", mine / raw, "ratio <= 3")
    mine, raw = (median([rss for _, rss in results]) for results in (product, floor))
    table.add("resident, 1,000,000 jobs", f"{mine:.1f} MiB", f"{raw:.1f} MiB bare", mine / raw)


# --- the shortest job ---

SANDBOX = ["bwrap", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--dev-bind", "/", "/", "--proc", "/proc"]
BATCH = 200


def run_true(server: Gateway) -> float:
    begin = time.perf_counter()
    job = server.submit(name="true", command=["true"])
    while job["state"] not in ("succeeded", "failed", "cancelled", "lost"):
        answer = server.get(f"/v1/jobs/{job['id']}?wait=30", headers={"If-None-Match": job["etag"]})
        job = answer.json() if answer.status_code == 200 else job
    seconds = time.perf_counter() - begin
    assert job["state"] == "succeeded", job
    return seconds


def run_sandbox(_: int = 0) -> float:
    begin = time.perf_counter()
    subprocess.run([*SANDBOX, "true"], check=True)
    return time.perf_counter() - begin


def run_batch(server: Gateway) -> float:
    """Jobs a second from the POST of all to the last one's end."""
    begin = time.perf_counter()
    items = [{"name": "true", "image": IMAGE, "command": ["true"]}] * BATCH
    answer = server.post("/v1/jobs:batch", {"items": items})
    assert all(item["status"] == 201 for item in answer.json()["items"]), answer.text
    live = {"state": "queued,starting,running,restarting,cancelling", "limit": "1"}
    while server.get("/v1/jobs", params=live).json()["items"]:
        time.sleep(0.02)
    seconds = time.perf_counter() - begin
    page = server.get("/v1/jobs", params={"limit": str(BATCH)}).json()["items"]
    assert all(job["state"] == "succeeded" for job in page)
    return BATCH / seconds


def run_sandboxes() -> float:
    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(len(CPUS)) as pool:
        list(pool.map(run_sandbox, range(BATCH)))
    return BATCH / (time.perf_counter() - begin)


def measure_true(table: Table) -> None:
    """`true` from POST to its end, against bwrap alone; on all CPUs, as jobs run there."""
    with gateway(cpus=set(CPUS)) as server:
        run_true(server)
        product, floor = alternate(
            lambda: median([run_true(server) for _ in range(10)]), lambda: median([run_sandbox() for _ in range(10)])
        )
        mine, raw = median(product), median(floor)
        name = "`true`, POST to terminal"
        table.add(name, f"{mine * 1e3:.1f} ms", f"{raw * 1e3:.1f} ms bwrap", mine / raw, f"{mine:.3f} <= 0.1")
        product, floor = alternate(lambda: run_batch(server), run_sandboxes)
    mine, raw = median(product), median(floor)
    table.add(f"{BATCH} such jobs at once", f"{mine:.1f}/s", f"{raw:.0f}/s bwrap", mine / raw, f"{mine:.1f} >= 20")


MEASURES = {
    "get": measure_get,
    "list": measure_list,
    "submit": measure_submit,
    "logs": measure_logs,
    "events": measure_events,
    "files": measure_files,
    "start": measure_start,
    "true": measure_true,
}


def main(names: list[str]) -> int:
    table = Table()
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        print(f"unknown: {' '.join(unknown)}; there are {' '.join(MEASURES)}", file=sys.stderr)
        return 2
    for name in names or MEASURES:
        print(f"measuring {name}, {ROUNDS} rounds", file=sys.stderr)
        MEASURES[name](table)
    table.print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
