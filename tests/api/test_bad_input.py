"""Bad requests: refused by a clear error that names the field, with nothing made. And good ones that others broke on."""

from __future__ import annotations

import json
import threading

import pytest

IMAGE = "pytorch/pytorch:2.0.0"


def judge(gateway, spec):
    """A dry run of a spec: the answer."""
    return gateway.post("/v1/jobs?dry_run=true", {"image": IMAGE, **spec})


def pointers(answer):
    assert answer.status_code == 422, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    return {fault["pointer"] for fault in answer.json()["errors"]}


def send_raw(gateway, data, content_type="application/json"):
    return gateway.request("POST", "/v1/jobs", data=data, headers={"Content-Type": content_type})


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]x", b'{"a":1} {"b":2}', b'{"image":"a:b","image":"c:d"}', b'{"a":NaN}', b'{"a":1e999}',
        b'{"image":"\xff"}', b'{"image":"\\ud800"}', b'{"epochs":99999999999999999999}', b"\xef\xbb\xbf{}",
        b"[" * 33 + b"]" * 33, b"{'image':'a'}", b'{"name":"ok\\u0000evil"}', b"nul",
    ],
)
def test_what_is_no_json_is_400(gateway, data):
    before = len(gateway.get("/v1/jobs?limit=500").json()["items"])
    answer = send_raw(gateway, data)
    assert answer.status_code in {400, 422}, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert len(gateway.get("/v1/jobs?limit=500").json()["items"]) == before


@pytest.mark.parametrize("member", ["name", "script", "image", "description"])
def test_nul_is_refused_everywhere(gateway, member):
    text = json.dumps({"image": IMAGE, "script": "1", member: "x\x00y"})
    assert send_raw(gateway, text).status_code in {400, 422}
    nested = json.dumps({"image": IMAGE, "script": "1", "env": {"A": "x\x00y"}, "args": ["a\x00b"]})
    assert send_raw(gateway, nested).status_code in {400, 422}


def test_every_fault_is_told_at_once(gateway):
    answer = judge(gateway, {
        "name": "Upper_Case", "image": "NOT AN IMAGE", "script": "1", "epochs": -1, "replicas": 0,
        "ttl_second": 5, "resources": {"memory": "1GB"}, "env": {"1X": "y"},
    })
    assert pointers(answer) >= {"/name", "/image", "/epochs", "/replicas", "/ttl_second", "/resources/memory"}


@pytest.mark.parametrize("spec", [{"ttl_second": 1}, {"Name": "x"}, {"resources": {"gpus": 1}}, {"output": {"claim": "a", "epochs": 1}}])
def test_misplaced_and_misspelt_members_are_named(gateway, spec):
    assert judge(gateway, {"script": "1", **spec}).status_code == 422


@pytest.mark.parametrize(
    "image", ["Ubuntu:latest", "repo/img:tag with space", "img@latest", "img\u200b:1", "", "a" * 300, "a//b", "-a", "a:"]
)
def test_image_references_are_judged(gateway, image):
    assert "/image" in pointers(judge(gateway, {"image": image, "script": "1"}))


@pytest.mark.parametrize(
    "image",
    ["a", "a/b:c", "localhost:5000/x", "registry.example.com:443/a/b__c:T-1.0", "a@sha256:" + "0" * 64, "a:1@sha256:" + "f" * 64],
)
def test_good_image_references_pass(gateway, image):
    assert judge(gateway, {"image": image, "script": "1"}).status_code == 200


@pytest.mark.parametrize(
    ("memory", "good"),
    [
        ("128M", True), ("128Mi", True), ("1G", True), ("1Gi", True), ("0.5Gi", True), ("1.2Gi", True), ("1e9", True),
        ("512m", False), ("1GB", False), ("1 Gi", False), ("1gi", False), ("2K", False), ("", False), ("abc", False),
        ("-1", False), ("１Gi", False), ("1e", False), ("0x10", False),
    ],
)
def test_memory_quantities(gateway, memory, good):
    answer = judge(gateway, {"script": "1", "resources": {"memory": memory}})
    assert answer.status_code == (200 if good else 422), answer.text
    if good:
        workload = answer.json()["manifest"]["items"][-1]
        container = workload["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]
        assert memory in {container["resources"]["requests"].get("memory"), container["resources"]["limits"].get("memory")}


@pytest.mark.parametrize(("cpu", "good"), [("500m", True), ("1", True), ("0.5", True), ("1.5", True), ("-1", False), ("x", False)])
def test_cpu_quantities(gateway, cpu, good):
    assert judge(gateway, {"script": "1", "resources": {"cpu": cpu}}).status_code == (200 if good else 422)


@pytest.mark.parametrize("length", [43, 45, 46, 50, 54, 55, 63, 64])
@pytest.mark.parametrize("replicas", [1, 11, 101])
def test_no_accepted_name_makes_a_child_too_long(gateway, length, replicas):
    answer = judge(gateway, {"name": "n" * length, "script": "1", "replicas": replicas})
    if answer.status_code == 200:
        name = answer.json()["manifest"]["items"][-1]["metadata"]["name"]
        assert len(f"{name}-worker-{replicas - 2}") <= 63
    else:
        assert "/name" in pointers(answer)


@pytest.mark.parametrize("name", ["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "PET_NNODES"])
def test_variables_of_the_launcher_are_reserved(gateway, name):
    assert f"/env/{name}" in pointers(judge(gateway, {"script": "1", "env": {name: "1"}}))


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"elastic": {"min": 3, "max": 2}}, "/elastic/max"),
        ({"elastic": {"min": 0, "max": 2}}, "/elastic/min"),
        ({"elastic": {"min": 1, "max": 2}, "replicas": 3}, "/replicas"),
        ({"elastic": {"min": 2, "max": 4}, "replicas": 1}, "/replicas"),
        ({"elastic": {"min": 1, "max": 2}, "master": {"env": {"A": "1"}}}, "/master"),
        ({"elastic": {"max": 2}}, "/elastic/min"),
    ],
)
def test_elastic_bounds_that_hold_no_job_are_refused(gateway, members, pointer):
    answer = judge(gateway, {"script": "1", **members})
    assert answer.status_code == 422 and pointers(answer) == {pointer}, answer.text


@pytest.mark.parametrize("path", ["/", "/dev/shm", "relative/x", "/a/../b", "/data/", "/proc", "/a//b"])
def test_odd_mount_paths_are_refused(gateway, path):
    answer = judge(gateway, {"script": "1", "dataset": "d", "volumes": [{"claim": "c", "mount_path": path}]})
    assert any(pointer.startswith("/volumes/0") for pointer in pointers(answer))


def test_one_claim_at_two_paths_is_one_volume(gateway):
    answer = judge(gateway, {
        "script": "1",
        "volumes": [{"claim": "c", "mount_path": "/one"}, {"claim": "c", "mount_path": "/two"}],
    })
    pod = answer.json()["manifest"]["items"][-1]["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    volumes = [v for v in pod["volumes"] if v.get("persistentVolumeClaim", {}).get("claimName") == "c"]
    assert len(volumes) == 1
    mounts = [m["mountPath"] for m in pod["containers"][0]["volumeMounts"] if m["name"] == volumes[0]["name"]]
    assert mounts == ["/one", "/two"]


@pytest.mark.parametrize("claim", ["data.v1", "a" * 70, ".".join(["b" * 63] * 3) + "." + "b" * 61])
def test_claim_names_need_not_be_volume_names(gateway, claim):
    answer = judge(gateway, {"script": "1", "dataset": claim})
    assert answer.status_code == 200, answer.text
    pod = answer.json()["manifest"]["items"][-1]["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    names = {v["persistentVolumeClaim"]["claimName"]: v["name"] for v in pod["volumes"] if "persistentVolumeClaim" in v}
    assert claim in names and len(names[claim]) <= 63 and "." not in names[claim]


@pytest.mark.parametrize(("size", "good"), [(1_000_000, True), (1_048_576, False), (1_200_000, False)])
def test_scripts_are_measured_in_bytes(gateway, size, good):
    answer = judge(gateway, {"script": "#" * size})
    assert answer.status_code == (200 if good else 422), answer.text[:500]
    if not good:
        assert "/script" in pointers(answer)


def test_files_are_measured_together(gateway):
    files = [{"path": f"{n}.py", "content": "#" * 600_000} for n in "ab"]
    assert judge(gateway, {"script": "1", "files": files}).status_code == 422


@pytest.mark.parametrize("path", ["utils/helper.py", "a b.py", "ü.py", "x@1.py", ".hidden.py"])
def test_any_file_name_gets_a_legal_key_and_its_own_path(gateway, path):
    files = [{"path": path, "content": "A"}, {"path": "utils_helper.py", "content": "B"}]
    job = gateway.wait(gateway.submit(script=f"print(open({path!r}).read() if 0 else open(__file__.rsplit('/', 1)[0] + '/' + {path!r}).read())", files=files)["id"])
    assert gateway.logs(job["id"]) == b"A\n"


@pytest.mark.parametrize("path", [".", "..", "../x.py", "/x.py", "a//b", "a/../b", "x" * 254, ""])
def test_file_names_that_escape_are_refused(gateway, path):
    answer = judge(gateway, {"script": "1", "files": [{"path": path, "content": ""}]})
    assert any(pointer.startswith("/files/0") for pointer in pointers(answer))


@pytest.mark.parametrize(
    "script",
    [
        "print('a')\r\nprint('b')\r\n", "#!/usr/bin/env python3\r\nprint('a')\r\nprint('b')\r\n",
        "\ufeff#!/usr/bin/env python3\r\nprint('a')\r\nprint('b')\r\n", "print('a')\nprint('b')", "print('a')\nprint('b')\n\n\n",
        "print('a')   \nprint('b')\t\n", "# ---\n---1\nprint('a')\nprint('b')\n", "# key: {a: b} # c\nprint('a')\nprint('b')\n",
    ],
)
def test_scripts_arrive_byte_for_byte(gateway, script):
    job = gateway.wait(gateway.submit(script=script)["id"])
    assert gateway.logs(job["id"]) == b"a\nb\n"
    maps = [o for o in gateway.get(f"/v1/jobs/{job['id']}/manifest").json()["items"] if o["kind"] == "ConfigMap"]
    assert any(script in m.get("data", {}).values() for m in maps)
    assert gateway.get(f"/v1/jobs/{job['id']}").json()["spec"]["script"] == script


ARGUMENTS = ["--msg=it's \"ok\"", "a b", "", "l1\nl2", "*", "; touch pwned", "-", "--", "$$", "a$$b", "$$$", "price=$5", "$(HOME)"]


def test_arguments_arrive_byte_for_byte(gateway):
    script = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['P'], os.path.exists('pwned')]))"
    job = gateway.wait(gateway.submit(script=script, args=ARGUMENTS, env={"P": "pa$$word $(HOME)"})["id"])
    assert json.loads(gateway.logs(job["id"])) == [ARGUMENTS, "pa$$word $(HOME)", False]


TEXTS = ["no", "on", "1e3", "0x1F", "0123", "1:30", "null", "~", "2001-01-01", "1_000", "=", "y", " lead", "- x"]


def test_texts_stay_texts(gateway):
    import yaml

    env = {f"V{i}": text for i, text in enumerate(TEXTS)}
    job = gateway.submit(script="import json, os; print(json.dumps({k: os.environ[k] for k in sorted(os.environ) if k[0] == 'V'}))", env=env, args=TEXTS)
    gateway.wait(job["id"])
    assert json.loads(gateway.logs(job["id"])) == env
    text = gateway.get(f"/v1/jobs/{job['id']}/manifest", headers={"Accept": "application/yaml"}).text
    workload = list(yaml.safe_load_all(text))[-1]
    container = workload["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]
    assert {e["name"]: e["value"] for e in container["env"] if e["name"] in env} == env


def test_epochs_and_parameters_reach_the_script_both_ways(gateway):
    script = "import os, sys; print(sys.argv[1:], os.environ['EPOCHS'], os.environ['LEARNING_RATE'])"
    job = gateway.wait(gateway.submit(script=script, epochs=7, parameters={"learning_rate": 0.5})["id"])
    assert gateway.logs(job["id"]) == b"['--epochs=7', '--learning_rate=0.5'] 7 0.5\n"


def test_a_gpu_is_one_number(gateway):
    pod = judge(gateway, {"script": "1", "gpus": 2}).json()["manifest"]["items"][-1]["spec"]["pytorchReplicaSpecs"]["Master"]
    resources = pod["template"]["spec"]["containers"][0]["resources"]
    assert str(resources["limits"]["nvidia.com/gpu"]) == "2" == str(resources["requests"].get("nvidia.com/gpu", "2"))


def test_too_large_bodies_are_413(gateway):
    answer = send_raw(gateway, b'{"image":"a:b","script":"' + b"#" * (5 * 1024 * 1024) + b'"}')
    assert answer.status_code == 413 and answer.json()["code"] == "body_too_large"


@pytest.mark.parametrize(("content_type", "status"), [("text/plain", 415), ("application/xml", 415), ("", 415)])
def test_other_media_types_are_415(gateway, content_type, status):
    assert send_raw(gateway, b"{}", content_type).status_code == status


def test_methods_and_paths_that_are_not_there(gateway):
    assert gateway.request("PUT", "/v1/jobs").status_code == 405
    assert set(gateway.request("PUT", "/v1/jobs").headers["Allow"].split(", ")) == {"GET", "HEAD", "POST", "OPTIONS"}
    assert gateway.request("BREW", "/v1/jobs").status_code == 501
    assert gateway.get("/v1/nothing").status_code == 404
    assert gateway.get("/v1/jobs/").status_code == 404
    assert gateway.get("/v1/jobs/not-an-id").status_code == 404


def test_errors_show_nothing_of_the_inside(gateway):
    for answer in (gateway.get("/v1/jobs/x"), gateway.get("/v1/jobs?limit=x"), send_raw(gateway, b"{")):
        problem = answer.json()
        assert {"type", "title", "status", "detail", "instance", "code", "request_id"} <= problem.keys()
        assert problem["status"] == answer.status_code and problem["request_id"] == answer.headers["Request-Id"]
        assert str(gateway.data) not in answer.text and "sqlite" not in answer.text.lower()


def test_two_equal_submits_at_once_are_two_jobs(gateway):
    made = []
    threads = [threading.Thread(target=lambda: made.append(gateway.submit(name="same", command=["true"]))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made[0]["id"] != made[1]["id"] and made[0]["object_name"] != made[1]["object_name"]
    assert {gateway.wait(job["id"])["state"] for job in made} == {"succeeded"}


def test_gpus_are_told_as_they_were_asked_for(gateway):
    job = gateway.submit(script="1", replicas=3, gpus=2, suspended=True)
    assert (job["replicas"], job["gpus"]) == (3, 2)
    gateway.delete(f"/v1/jobs/{job['id']}?force=true")
