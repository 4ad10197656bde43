#!/usr/bin/python3
"""Run the YAML test suite against a program that reads YAML and prints JSON.

A case is `equal` (the value that the suite gives), `refused`, or accepted otherwise. Everything that is not as it should
be stands in the tables below: libyaml reads YAML 1.1 with most of 1.2, and a job needs no tags of its own. A case that
leaves its table fails the run as well, so that they stay true.

Usage: yaml_suite.py PACKAGE.tgz PROGRAM
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator

# Another value than the suite gives: a question mark before a flow key, blanks at the end of a text, an anchor's colon.
OTHER_VALUE = {"652Z", "HM87-1", "L24T-1", "Y2GN"}

# Not YAML 1.2, and accepted: indentation of flow collections and tabs, comments without a blank, loose directives.
LENIENT = {"9C9N", "9JBA", "CVW2", "DK95-1", "EB22", "G5U8", "MUS6-0", "MUS6-1", "QB6E", "RHX7", "S98Z", "SU5Z", "X4QW",
           "Y79Y-3", "YJV2"}

# YAML 1.2, and refused: tags beyond the core schema, other directives, tabs between tokens, colons next to flow keys,
# anchors of other than letters and digits, documents without a start behind others.
STRICT = {
    "2LFX", "2SXE", "2XXW", "4MUZ-0", "4MUZ-2", "565N", "58MP", "5MUD", "5T43", "5TYM", "6BCT", "6CA3", "6CK3", "6LVF",
    "6WLZ", "7FWL", "7Z25", "8XYN", "96NN-0", "9SA2", "9WXW", "A2M4", "BEC7", "C4HZ", "CC74", "CUP7", "DBG4", "DK3J",
    "DK95-0", "DK95-3", "DK95-4", "FP8R", "HM87-0", "HWV9", "J7PZ", "K3WX", "M5C3", "M7A3", "NJ66", "P76L", "Q5MG", "QT73",
    "R4YG", "UGM3", "UT92", "VJP3-1", "W4TN", "W5VH", "Y79Y-1", "Y79Y-10", "Z67P", "Z9M4",
}


def read_cases(path: str) -> Iterator[tuple[str, dict]]:
    """Each case with its name: the suite's id, with a number where one id has several."""
    with tarfile.open(path) as package:
        for member in sorted(package.getnames()):
            if not member.startswith("package/data/") or not member.endswith(".js") or member.endswith("index.js"):
                continue
            file = package.extractfile(member)
            assert file
            text = file.read().decode()
            suite = json.loads(text[text.index("export default") + len("export default"):].rstrip().rstrip(";"))
            for number, case in enumerate(suite["cases"]):
                yield suite["id"] + (f"-{number}" if len(suite["cases"]) > 1 else ""), case


def read_values(text: str) -> list:
    """JSON values one behind the other."""
    decoder = json.JSONDecoder()
    values = []
    text = text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        values.append(value)
        text = text[end:].lstrip()
    return values


def run(program: str, text: str) -> list | None:
    done = subprocess.run([program, "read"], input=text.encode(), capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"yaml_suite: the program ended with {done.returncode}: {text!r}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def main() -> int:
    found: dict[str, set[str]] = {"equal": set(), "refused": set(), "other": set(), "lenient": set(), "strict": set()}
    for name, case in read_cases(sys.argv[1]):
        got = run(sys.argv[2], case["yaml"])
        if case.get("fail"):
            found["refused" if got is None else "lenient"].add(name)
        elif case.get("json") is not None and got is None:
            found["strict"].add(name)
        elif case.get("json") is not None:
            found["equal" if got == read_values(case["json"]) else "other"].add(name)
    wrong = [f"{kind}: {sorted(found[kind] ^ known)}" for kind, known in
             (("other", OTHER_VALUE), ("lenient", LENIENT), ("strict", STRICT)) if found[kind] != known]
    print("yaml_suite: " + ", ".join(f"{len(cases)} {kind}" for kind, cases in found.items()))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong or len(found["equal"]) < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
