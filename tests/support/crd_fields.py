#!/usr/bin/python3
"""Every field that the schema of the PyTorchJob's CRD knows, each alone in a manifest: the import carries or refuses it.

A field that changes nothing of what is imported and is not refused was lost. Only empty objects may be: they say nothing.

Usage: crd_fields.py CRD.yaml TRAINYARD
"""

from __future__ import annotations

import collections
import concurrent.futures
import copy
import functools
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import yaml

MANIFEST = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j}
spec:
  nprocPerNode: "1"
  runPolicy: {backoffLimit: 3, cleanPodPolicy: None}
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
            - {name: pytorch, image: "a:1", workingDir: /w, command: [x], volumeMounts: [{name: v, mountPath: /a}]}
          volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]
"""
SAMPLES = {"string": "x1", "integer": 7, "number": 7, "boolean": True}

Path = list[str | int]
Answer = tuple[int, str, str]


def fields(schema: dict, path: Path) -> Iterator[tuple[Path, Any]]:
    """The paths of the leaves, each with a value that is not its default."""
    if "properties" in schema:
        for name, inner in schema["properties"].items():
            yield from fields(inner, [*path, name])
    elif schema.get("type") == "array":
        yield from fields(schema["items"], [*path, 0])
    elif path[-1] == "pytorchReplicaSpecs":
        yield from fields(schema["additionalProperties"], [*path, "Master"])
    elif schema.get("type") == "object":
        quantities = schema.get("additionalProperties", {}).get("x-kubernetes-int-or-string")
        yield path, {"k": "7" if quantities else "v"}
        yield path, {}
    elif schema.get("x-kubernetes-int-or-string"):
        yield path, "7"
    else:
        yield path, schema.get("enum", [SAMPLES[schema["type"]]])[-1]


def put(value: Any, path: Path, sample: Any) -> Any:
    """`value` with the sample at the path; what is missing on the way is made, the first of a list is what is there."""
    if not path:
        return sample
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = list(value) if isinstance(value, list) else []
        return [put(items[0] if items else None, rest, sample), *items[1:]]
    members = dict(value) if isinstance(value, dict) else {}
    return {**members, step: put(members.get(step), rest, sample)}


def run_import(program: str, manifest: dict) -> Answer:
    done = subprocess.run([program, "import", "-"], input=json.dumps(manifest), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def judge(program: str, plain: Answer, field: tuple[Path, Any]) -> tuple[str, str]:
    """What became of a field, and its name."""
    path, sample = field
    manifest = copy.deepcopy(yaml.safe_load(MANIFEST))
    manifest["spec"] = put(manifest["spec"], path, sample)
    answer = run_import(program, manifest)
    name = "/spec/" + "/".join(map(str, path))
    if answer[0] == 0:
        said = answer != plain
        return ("carried" if said else "empty" if sample == {} else "lost"), name
    return ("refused" if answer[0] == 6 and "/spec/" in answer[2] else "broken"), name


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        crd = yaml.load(file, Loader=yaml.CSafeLoader)
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    plain = run_import(sys.argv[2], yaml.safe_load(MANIFEST))
    assert plain[0] == 0, plain
    found = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for fate, name in pool.map(functools.partial(judge, sys.argv[2], plain), fields(schema, [])):
            found[fate] += 1
            if fate in ("lost", "broken"):
                print(f"{name}: {fate}")
    print("fields of the schema: " + ", ".join(f"{count} {fate}" for fate, count in sorted(found.items())))
    return 1 if found["lost"] or found["broken"] or found["carried"] < 10 or found["refused"] < 500 else 0


if __name__ == "__main__":
    sys.exit(main())
