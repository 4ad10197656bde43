"""What our YAML writer puts out means the same to a reader of YAML 1.1 (PyYAML).

Usage: check_yaml11.py PATH-OF-BASE_YAML_FILTER
"""

import json
import random
import subprocess
import sys

import yaml

STRINGS = """no on yes off y n Y N true False null NULL ~ 1e3 0x1F 0123 0o17 1:30 190:20:30 2001-01-01
2001-12-14t21:59:43.10-05:00 1_000 = << .inf -.INF .nan - -- --- ... ? : | > & * ! % @ ` # , [ ] { } 0b1 +1 -1
1. .5 1,000 a:b a: :a a#b key=value pytorch/pytorch:2.0.0""".split() + [
    "", " ", " lead", "trail ", "- x", "a: b", "a #b", "a\n", "a\n\n", "\na", "a\n b", " a\nb", "a \nb",
    "a\tb", "a\n\tb", "a\r\nb", "\r", "\x01", "\x7f", "\x85", "\xa0", "\u2028", "\ufeff", "\ufffe",
    "\U0001f682", "#!/bin/sh\necho hi\n", "---\na\n", "x\n...\n", "k: {a: b} # c\nd", "'", '"', "\\", "a'b\"c",
]
PIECES = list("ab1:#-?|>\"'\\,[]{}&*!%@`~= \n\t\r._") + ["\x85", "é", "\u2029", "\U0001f682", "true", "no", "0x"]


def text(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(STRINGS)
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(12)))


def value(rng: random.Random, depth: int) -> object:
    kind = rng.randrange(9 if depth else 5)
    if kind < 3:
        return text(rng)
    if kind == 3:
        return rng.choice([None, True, False, 0, -7, 2**53 + 1, -(2**63)])
    if kind == 4:
        return rng.choice([0.1, 1e20, -2.5e-7, 1.0, 5e-324, 1.7976931348623157e308, 0.30000000000000004])
    if kind < 7:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {text(rng) * rng.choice([1, 1, 1, 40]): value(rng, depth - 1) for _ in range(rng.randrange(4))}


def same(a: object, b: object) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return a == b


def main() -> int:
    rng = random.Random(1)
    cases = [STRINGS, {string: string for string in STRINGS}] + [value(rng, 5) for _ in range(400)]
    # One root list for most of them: a process for each would take long.
    for case in [*cases[:40], cases]:
        done = subprocess.run([sys.argv[1]], input=json.dumps(case).encode(), stdout=subprocess.PIPE, check=True)
        read = yaml.safe_load(done.stdout.decode())
        if not same(case, read):
            for one in case if case is cases else [case]:
                print("sent", json.dumps(one))
            print("read", read)
            return 1
    print(len(cases), "values read back by PyYAML", yaml.__version__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
