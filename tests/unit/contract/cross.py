"""The same schemas and instances through Python's jsonschema and through ours; they must agree.

Random small schemas over our vocabulary with instances that come near them, then the request schemas of the contract with
mutations of their own examples. Where we differ on purpose (1.0 is no integer), such instances are left out.
"""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jsonschema
import yaml

SEED = 20260102
SCHEMAS = 1500
MUTATIONS = 400

TEXTS = ["", "a", "ab", "abc", "A", "ü", "模型", "a-b", "1", "null", "x" * 12, "a\nb", "a\n"]
NUMBERS = [0, 1, -1, 2, 3, 5, 10, 100, 0.5, -2.5, 9007199254740993]
PATTERNS = ["^[a-z]+$", "^a", "b$", "^(a|b)*$", "^[^a]*$", "^[a-z]{1,2}$"]
NAMES = ["a", "b", "c", "ab"]


def value(r: random.Random, depth: int = 0) -> Any:
    kind = r.randrange(6 if depth > 2 else 8)
    if kind < 2:
        return r.choice(TEXTS)
    if kind < 4:
        return r.choice(NUMBERS)
    if kind == 4:
        return r.choice([True, False])
    if kind == 5:
        return None
    if kind == 6:
        return [value(r, depth + 1) for _ in range(r.randrange(4))]
    return {r.choice(NAMES): value(r, depth + 1) for _ in range(r.randrange(4))}


def schema(r: random.Random, depth: int = 0) -> Any:
    if r.random() < 0.05:
        return r.choice([True, False])
    out: dict[str, Any] = {}
    for add in r.sample(KEYWORDS, r.randrange(1, 4)):
        out.update(add(r, depth + 1))
    if "multipleOf" in out:
        out["type"] = "integer"  # ours takes it for integers only
    return out


def sub(r: random.Random, depth: int) -> Any:
    return schema(r, depth) if depth < 4 else {}


def subs(r: random.Random, depth: int) -> list[Any]:
    return [sub(r, depth) for _ in range(r.randrange(1, 3))]


TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
KEYWORDS = [
    lambda r, d: {"type": r.choice(TYPES)},
    lambda r, d: {"type": r.sample(TYPES, 2)},
    lambda r, d: {"enum": [value(r, 2) for _ in range(3)]},
    lambda r, d: {"const": value(r, 2)},
    lambda r, d: {"minLength": r.randrange(3)},
    lambda r, d: {"maxLength": r.randrange(4)},
    lambda r, d: {"pattern": r.choice(PATTERNS)},
    lambda r, d: {"minimum": r.choice(NUMBERS)},
    lambda r, d: {"maximum": r.choice(NUMBERS)},
    lambda r, d: {"exclusiveMinimum": r.choice(NUMBERS)},
    lambda r, d: {"exclusiveMaximum": r.choice(NUMBERS)},
    lambda r, d: {"type": "integer", "multipleOf": r.choice([1, 2, 5])},
    lambda r, d: {"items": sub(r, d)},
    lambda r, d: {"prefixItems": subs(r, d), "items": sub(r, d)},
    lambda r, d: {"minItems": r.randrange(3)},
    lambda r, d: {"maxItems": r.randrange(4)},
    lambda r, d: {"uniqueItems": True, "maxItems": 9},
    lambda r, d: {"properties": {n: sub(r, d) for n in r.sample(NAMES, 2)}},
    lambda r, d: {"required": r.sample(NAMES, 1)},
    lambda r, d: {"properties": {"a": sub(r, d)}, "additionalProperties": sub(r, d)},
    lambda r, d: {"propertyNames": {"pattern": r.choice(PATTERNS)}},
    lambda r, d: {"minProperties": r.randrange(3)},
    lambda r, d: {"maxProperties": r.randrange(3)},
    lambda r, d: {"allOf": subs(r, d)},
    lambda r, d: {"anyOf": subs(r, d)},
    lambda r, d: {"oneOf": subs(r, d)},
    lambda r, d: {"not": sub(r, d)},
    lambda r, d: {"if": sub(r, d), "then": sub(r, d), "else": sub(r, d)},
]


def ecma(node: Any) -> Any:
    """Python's $ also matches before a last newline; ours and ECMA's does not."""
    if isinstance(node, dict):
        return {k: v.replace("$", r"\Z") if k == "pattern" and isinstance(v, str) else ecma(v) for k, v in node.items()}
    return [ecma(item) for item in node] if isinstance(node, list) else node


def mutations(r: random.Random, example: Any) -> Iterator[Any]:
    """The example with one or two places changed, added or removed."""
    for _ in range(MUTATIONS):
        changed = copy.deepcopy(example)
        for _ in range(r.randrange(1, 3)):
            places: list[tuple[Any, Any]] = []

            def walk(node: Any, places: list[tuple[Any, Any]] = places) -> None:
                for key in node if isinstance(node, dict) else range(len(node)):
                    places.append((node, key))
                    if isinstance(node[key], dict | list):
                        walk(node[key])

            walk(changed)
            if not places:
                changed = value(r)
                break
            node, key = r.choice(places)
            what = r.randrange(4)
            if what == 0:
                node[key] = value(r)
            elif what == 1 and isinstance(node, dict):
                del node[key]
            elif what == 2 and isinstance(node, dict):
                node[r.choice([*NAMES, "labels", "epochs", "env", "description"])] = value(r)
            elif isinstance(node[key], str):
                node[key] += r.choice(TEXTS)
            else:
                node[key] = r.choice([node[key], value(r)])
        yield changed


def request_examples(document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for item in document["paths"].values():
        for operation in item.values():
            body = operation.get("requestBody", {}) if isinstance(operation, dict) else {}
            for media in body.get("content", {}).values():
                name = media["schema"]["$ref"].rsplit("/", 1)[1]
                for example in media.get("examples", {}).values():
                    yield name, example["value"]


RICH = {
    "name": "mnist",
    "image": "pytorch/pytorch:2.0.0",
    "script": {"name": "t.py", "content": "x"},
    "args": ["a", ""],
    "files": [{"path": "a/b.py", "content": "x", "encoding": "utf-8"}],
    "epochs": 3,
    "parameters": {"lr": 0.5, "n": 1, "on": True},
    "replicas": 3,
    "gpus": 1,
    "env": {"A": "b"},
    "labels": {"team": "x"},
    "dataset": {"claim": "d", "mount_path": "/in"},
    "volumes": [{"create": {"size": "1Gi"}, "mount_path": "/v"}],
    "output": "out",
    "checkpoints": {"volume": "c", "path": "/ckpt", "resume": True},
    "resources": {"cpu": "500m", "memory": "1.5Gi", "limits": {"cpu": 2}},
    "master": {"args": []},
    "worker": {"env": {}},
    "restart": "never",
    "max_retries": 0,
    "timeout_seconds": 60,
    "priority": -5,
    "suspended": False,
}


def batches(document: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any, list[Any]]]:
    """What goes to our side, the schema for Python's, the instances."""
    r = random.Random(SEED)
    for _ in range(SCHEMAS):
        made = schema(r)
        yield {"schema": made}, made, [value(r) for _ in range(12)]
    for name, example in [*request_examples(document), ("JobSpec", RICH)]:
        whole = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        yield {"name": name}, whole, [example, *mutations(r, example)]


def main() -> int:
    with open(sys.argv[2], encoding="utf-8") as file:
        document = yaml.safe_load(file)
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    work = list(batches(document))
    lines = "".join(json.dumps({**ours, "instances": i}) + "\n" for ours, _, i in work)
    run = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, check=True)
    compared = valid = 0
    for (ours, theirs, instances), answer in zip(work, run.stdout.splitlines(), strict=True):
        if answer.startswith("!"):
            print("refused:", answer, json.dumps(ours))
            return 1
        validator = jsonschema.Draft202012Validator(ecma(theirs), format_checker=checker)
        for instance, flag in zip(instances, answer, strict=True):
            expected = validator.is_valid(instance)
            compared += 1
            valid += expected
            if expected != (flag == "1"):
                print("differ:", json.dumps(ours), json.dumps(instance), "python says", expected)
                return 1
    print(f"{compared} instances agree, {valid} of them valid")
    return 0 if valid > compared // 20 else 1


if __name__ == "__main__":
    sys.exit(main())
