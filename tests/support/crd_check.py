#!/usr/bin/python3
"""Hold objects against the schemas that a cluster has: the PyTorchJob's CRD, and ConfigMap and PersistentVolumeClaim.

Reads arrays of objects, one a line; exits 1 when a schema refuses any of them. Judged as the API server judges with
fieldValidation=Strict: nulls of members are pruned first, unknown members are faults, lists of type map or set have no
twins. The walk below is fast enough for a million objects; every SAMPLE-th one is judged by jsonschema too, whole and
damaged, and the two must agree.

Usage: crd_check.py CRD.yaml OBJECTS.jsonl
"""

from __future__ import annotations

import copy
import json
import random
import re
import sys
from collections.abc import Iterator
from typing import Any

import jsonschema
import yaml

SAMPLE = 499
TEXT = {"type": "string"}
MAP = {"type": "object", "additionalProperties": TEXT}
QUANTITY = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True,
            "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"}
QUANTITIES = {"type": "object", "additionalProperties": QUANTITY}
METADATA = {"type": "object", "required": ["name"], "properties": {
    "name": TEXT, "namespace": TEXT, "labels": MAP, "annotations": MAP,
    "generateName": TEXT, "finalizers": {"type": "array", "items": TEXT}, "uid": TEXT, "resourceVersion": TEXT,
    "selfLink": TEXT, "ownerReferences": {"type": "array", "items": {"type": "object"}},
    "managedFields": {"type": "array", "items": {"type": "object"}}}}

# api/core/v1/types.go, as far as a job's objects go.
CORE = {
    "ConfigMap": {"type": "object", "properties": {
        "apiVersion": TEXT, "kind": TEXT, "metadata": METADATA, "data": MAP, "binaryData": MAP,
        "immutable": {"type": "boolean"}}},
    "PersistentVolumeClaim": {"type": "object", "properties": {
        "apiVersion": TEXT, "kind": TEXT, "metadata": METADATA, "status": {"type": "object"},
        "spec": {"type": "object", "properties": {
            "accessModes": {"type": "array", "items": {"enum": [
                "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]}},
            "selector": {"type": "object"}, "storageClassName": TEXT, "volumeMode": TEXT, "volumeName": TEXT,
            "volumeAttributesClassName": TEXT,
            "resources": {"type": "object", "properties": {"requests": QUANTITIES, "limits": QUANTITIES}}}}}},
}

TYPES = {"string": str, "object": dict, "array": list, "boolean": bool, "number": (int, float)}
LIMITS = {"int32": 2**31, "int64": 2**63}


def pruned(value: Any) -> Any:
    """Without members that are null, as the API server prunes them."""
    if isinstance(value, dict):
        return {key: pruned(item) for key, item in value.items() if item is not None}
    return [pruned(item) for item in value] if isinstance(value, list) else value


def as_meant(item: dict) -> dict:
    """With the one field in its place that the import takes from beside it, with a warning."""
    spec = item.get("spec")
    if item.get("kind") == "PyTorchJob" and isinstance(spec, dict) and "cleanPodPolicy" in spec:
        policy = spec.pop("cleanPodPolicy")
        spec["runPolicy"] = {"cleanPodPolicy": policy, **spec.get("runPolicy", {})}
    return item


def is_type(name: str, value: Any) -> bool:
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def twins(schema: dict, items: list) -> Iterator[str]:
    keys = schema.get("x-kubernetes-list-map-keys")
    kind = schema.get("x-kubernetes-list-type")
    if kind == "map":
        named = [tuple(json.dumps(item.get(key, schema["items"]["properties"].get(key, {}).get("default")))
                       for key in keys) for item in items if isinstance(item, dict)]
    elif kind == "set":
        named = [json.dumps(item) for item in items]
    else:
        return
    if len(set(named)) != len(named):
        yield "two items are the same"


def faults(schema: dict, value: Any, path: str = "") -> Iterator[str]:
    """What the schema refuses of a value."""
    if schema.get("x-kubernetes-int-or-string"):
        if not (is_type("integer", value) or isinstance(value, str)):
            yield f"{path}: neither a number nor text"
    elif "type" in schema and not is_type(schema["type"], value):
        yield f"{path}: no {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: not in the enum"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"{path}: breaks the pattern"
    if is_type("integer", value):
        limit = LIMITS.get(schema.get("format", ""), None)
        if limit and not -limit <= value < limit:
            yield f"{path}: out of range"
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{path}: out of bounds"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{path}: too few or too many items"
        yield from (f"{path}: {fault}" for fault in twins(schema, value))
        for index, item in enumerate(value):
            yield from faults(schema.get("items", {}), item, f"{path}/{index}")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        yield from (f"{path}: {name} is missing" for name in schema.get("required", ()) if name not in value)
        for key, item in value.items():
            if key in properties:
                yield from faults(properties[key], item, f"{path}/{key}")
            elif "additionalProperties" in schema:
                yield from faults(schema["additionalProperties"], item, f"{path}/{key}")
            elif properties and not schema.get("x-kubernetes-preserve-unknown-fields"):
                yield f"{path}/{key}: unknown"


def standard(schema: Any) -> Any:
    """The same for jsonschema, which knows neither the extensions nor strictness."""
    if isinstance(schema, list):
        return [standard(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: standard(item) for key, item in schema.items()}
    if schema.get("x-kubernetes-int-or-string") is True:
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    limit = LIMITS.get(schema.get("format", "")) if schema.get("type") == "integer" else None
    if limit:
        made.update({"minimum": max(-limit, schema.get("minimum", -limit)), "maximum": limit - 1})
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" \
            and "additionalProperties" not in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made["additionalProperties"] = False
    return made


def read_schemas(path: str) -> dict[str, dict]:
    with open(path, encoding="utf-8") as file:
        crd = yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    version, = (version for version in crd["spec"]["versions"] if version["name"] == "v1")
    job = version["schema"]["openAPIV3Schema"]
    job["properties"]["metadata"] = METADATA
    return {**CORE, "PyTorchJob": job}


def damaged(source: random.Random, value: Any) -> Any:
    """A copy with one member changed, somewhere."""
    root = copy.deepcopy(value)
    node = root
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return root
        key = source.choice(keys)
        if isinstance(node[key], dict | list) and node[key] and source.random() < 0.8:
            node = node[key]
            continue
        node[key] = source.choice([True, 5, "x", [], {}, 2**40])
        return root


class Judge:
    """All schemas, with what each has seen."""

    def __init__(self, path: str) -> None:
        self.schemas = read_schemas(path)
        self.slow = {kind: jsonschema.Draft7Validator(standard(schema)) for kind, schema in self.schemas.items()}
        self.source = random.Random(1)
        self.seen = 0
        self.compared = 0

    def judge(self, item: dict) -> list[str]:
        self.seen += 1
        return list(faults(self.schemas[item["kind"]], item))

    def compare(self, item: dict) -> None:
        """The walk and jsonschema agree about an object and about damaged copies of it."""
        for case in [item, *(damaged(self.source, item) for _ in range(6))]:
            if not isinstance(case.get("kind"), str) or case["kind"] not in self.schemas:
                continue
            ours = [fault for fault in faults(self.schemas[case["kind"]], case) if "two items" not in fault]
            theirs = self.slow[case["kind"]].is_valid(case)
            if bool(ours) == theirs:
                raise SystemExit(f"crd_check: the judges disagree: {ours} {json.dumps(case)}")
            self.compared += 1


def main() -> int:
    judge = Judge(sys.argv[1])
    refused = 0
    with open(sys.argv[2], encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            for document in json.loads(line):
                for item in document["items"] if document and document.get("kind") == "List" else [document]:
                    if item is None:
                        continue
                    item = as_meant(pruned(item))
                    if number % SAMPLE == 0:
                        judge.compare(item)
                    for fault in judge.judge(item):
                        refused += 1
                        print(f"crd_check: line {number + 1}: {item['kind']} {fault}", file=sys.stderr)
                        if refused >= 20:
                            return 1
    print(f"crd_check: {judge.seen} objects, {judge.compared} of them by both judges, {refused} faults")
    return 1 if refused or not judge.seen or not judge.compared else 0


if __name__ == "__main__":
    sys.exit(main())
