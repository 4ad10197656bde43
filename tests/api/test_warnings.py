"""warnings[]: what is accepted but usually goes wrong, in create and dry run alike; and claims as the gateway knows them."""

from __future__ import annotations

SIZED = {"image": "a:1", "command": ["true"], "resources": {"cpu": 1, "memory": "1Gi"}}


def told(answer):
    """Code and pointer of each warning that is about the job, not about this machine."""
    return {(item["code"], item["pointer"]) for item in answer.json()["warnings"] if "pointer" in item}


def both(gateway, spec):
    dry = gateway.post("/v1/jobs?dry_run=true", spec)
    made = gateway.post("/v1/jobs", {**spec, "suspended": True})
    assert (dry.status_code, made.status_code) == (200, 201), dry.text + made.text
    assert told(dry) == told(made)
    read = gateway.get(f"/v1/jobs/{made.json()['id']}")
    assert told(read) == told(made)
    return told(made)


def test_a_job_that_says_everything_has_no_warnings(gateway):
    assert both(gateway, SIZED) == set()


def test_several_warnings_come_together(gateway):
    spec = {"image": "a", "script": "print(1)", "replicas": 2, "timeout_seconds": 5}
    assert both(gateway, spec) == {
        ("image_not_pinned", "/image"),
        ("script_without_process_group", "/script"),
        ("resources_unset", "/resources"),
        ("timeout_below_retries", "/timeout_seconds"),
    }


def test_a_claim_that_is_not_there_yet_is_told_at_every_place(gateway):
    spec = {
        **SIZED,
        "dataset": "absent-a",
        "output": {"claim": "absent-b"},
        "checkpoints": {"volume": "absent-c"},
        "volumes": [{"claim": "absent-d", "mount_path": "/d"}, {"create": {"size": "1Gi"}, "mount_path": "/own"}],
        "master": {"volumes": [{"claim": "absent-e", "mount_path": "/e"}]},
    }
    places = ["/dataset", "/output/claim", "/checkpoints/volume", "/volumes/0/claim", "/master/volumes/0/claim"]
    assert both(gateway, spec) == {("volume_not_found", place) for place in places}
    for name in "abcde":
        assert gateway.post("/v1/volumes", {"name": f"absent-{name}", "size": "1Gi"}).status_code == 201
    assert both(gateway, spec) == set()


def test_a_claim_of_one_node_is_told_when_several_replicas_write_it(gateway):
    for name, mode in (("once", "read_write_once"), ("many", "read_write_many")):
        assert gateway.post("/v1/volumes", {"name": name, "size": "1Gi", "access_mode": mode}).status_code == 201
    several = {**SIZED, "replicas": 3}
    assert both(gateway, {**several, "output": "once"}) == {("claim_of_one_node", "/output")}
    assert both(gateway, {**several, "output": "many"}) == set()
    assert both(gateway, {**several, "dataset": "once"}) == set(), "only read"
    assert both(gateway, {**SIZED, "output": "once"}) == set(), "one replica"
    assert both(gateway, {**several, "master": {"volumes": [{"claim": "once", "mount_path": "/m"}]}}) == set()
    workers = {"worker": {"volumes": [{"claim": "once", "mount_path": "/w"}]}}
    assert both(gateway, {**several, **workers}) == {("claim_of_one_node", "/worker/volumes/0/claim")}
    assert both(gateway, {**SIZED, "replicas": 2, **workers}) == set()
