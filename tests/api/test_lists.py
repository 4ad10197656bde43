"""Pages: keyset cursors, filters, and what happens to a walk while jobs come and go."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def jobs(gateway):
    """Thirty jobs that never start."""
    gateway.patch("/v1/tenants/default", {"quota": {"max_jobs": 0}})
    made = [
        gateway.submit(name=f"page-{i % 3}", command=["true"], labels={"third": str(i % 3), "all": "yes"})["id"]
        for i in range(30)
    ]
    yield made
    for job in made:
        gateway.delete(f"/v1/jobs/{job}?force=true")
    gateway.patch("/v1/tenants/default", {"quota": {"max_jobs": None}})


def walk(gateway, limit, **filters):
    """All ids over all pages, and how many pages there were."""
    ids, pages, cursor = [], 0, None
    while True:
        params = {**filters, "limit": limit, **({"cursor": cursor} if cursor else {})}
        answer = gateway.get("/v1/jobs", params=params)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        ids += [item["id"] for item in page["items"]]
        pages += 1
        cursor = page["next_cursor"]
        assert ("next" in answer.links) == (cursor is not None)
        if cursor is None:
            return ids, pages


@pytest.mark.parametrize(("limit", "pages"), [(1, 30), (7, 5), (10, 3), (30, 1), (500, 1), (1000000, 1)])
def test_every_job_comes_once_newest_first(gateway, jobs, limit, pages):
    ids, seen = walk(gateway, limit, label="all=yes")
    assert ids == jobs[::-1] and seen == pages


def test_oldest_first_is_the_same_walk_backwards(gateway, jobs):
    assert walk(gateway, 7, label="all=yes", sort="created_at")[0] == jobs


def test_filters_are_joined(gateway, jobs):
    assert walk(gateway, 4, label=["all=yes", "third=1"])[0] == jobs[1::3][::-1]
    assert walk(gateway, 50, name="page-2")[0] == jobs[2::3][::-1]
    assert walk(gateway, 50, name="page-*", state="queued")[0] == jobs[::-1]
    assert walk(gateway, 50, state="running,failed", label="all=yes")[0] == []
    middle = gateway.get(f"/v1/jobs/{jobs[15]}").json()["created_at"]
    assert walk(gateway, 50, created_after=middle, label="all=yes")[0] == jobs[15:][::-1]
    assert walk(gateway, 50, created_before=middle, label="all=yes")[0] == jobs[:15][::-1]


def test_items_carry_the_etag_that_a_read_gives(gateway, jobs):
    item = gateway.get("/v1/jobs?limit=1").json()["items"][0]
    assert gateway.get(f"/v1/jobs/{item['id']}").headers["ETag"] == item["etag"]


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "limit=abc", "limit=1.5", "limit=99999999999999999999"])
def test_bad_limits_are_refused(gateway, query):
    answer = gateway.get(f"/v1/jobs?{query}")
    assert answer.status_code == 400 and answer.json()["errors"][0]["parameter"] == "limit"


@pytest.mark.parametrize("query", ["state=nonsense", "unknown=1", "created_after=yesterday", "label=novalue", "sort=name"])
def test_bad_filters_are_refused_by_name(gateway, query):
    answer = gateway.get(f"/v1/jobs?{query}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["parameter"] == query.split("=")[0]


def test_cursors_are_bound_to_their_query(gateway, jobs):
    cursor = gateway.get("/v1/jobs?limit=5&label=all=yes").json()["next_cursor"]
    assert gateway.get("/v1/jobs", params={"limit": 5, "label": "all=yes", "cursor": cursor}).status_code == 200
    assert gateway.get("/v1/jobs", params={"limit": 5, "cursor": cursor}).status_code == 400
    forged = cursor[:-2] + ("AA" if cursor[-2:] != "AA" else "BB")
    for bad in (forged, "made-up", cursor + "A"):
        assert gateway.get("/v1/jobs", params={"label": "all=yes", "cursor": bad}).status_code == 400


def test_jobs_that_come_and_go_disturb_no_walk(gateway, jobs):
    first = gateway.get("/v1/jobs?limit=10&name=page-*").json()
    extra = [gateway.submit(name="page-0", command=["true"])["id"] for _ in range(5)]
    gone = [item["id"] for item in first["items"][:3]]
    for job in gone:
        gateway.post(f"/v1/jobs/{job}/cancel")
        gateway.wait(job, {"cancelled"})
        assert gateway.delete(f"/v1/jobs/{job}").status_code == 204
    seen = [item["id"] for item in first["items"]]
    cursor = first["next_cursor"]
    while cursor:
        page = gateway.get("/v1/jobs", params={"limit": 10, "name": "page-*", "cursor": cursor}).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert len(seen) == len(set(seen))
    assert set(jobs) <= set(seen)
    for job in extra:
        gateway.delete(f"/v1/jobs/{job}?force=true")
