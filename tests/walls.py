#!/usr/bin/python3
"""Holds the tree against its walls.

Fails when an #include or a CMake link crosses from one room into another without an arrow, when a third-party
header is used outside of its home, when a banned function is called, or when a file names a path of the machine it
was written on. `--selftest` plants one of each in a copy of the tree and fails unless every one is found.

Usage: walls.py [--root FOLDER] [--selftest]
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Which rooms a room may use: their doors in include/trainyard/ and their libraries. Everyone may use itself.
ARROWS: dict[str, set[str]] = {
    "base": set(),
    "domain": {"base"},
    "contract": {"base"},
    "render": {"domain", "base"},
    "store": {"domain", "base"},
    "logs": {"base"},
    "events": {"domain", "base"},
    "executor": {"render", "logs", "domain", "base"},
    "engine": {"executor", "store", "render", "logs", "events", "domain", "base"},
    "notify": {"store", "domain", "base"},
    "http": {"contract", "base"},
    "api": {
        "engine", "http", "contract", "store", "logs", "events", "executor", "render", "domain", "base",
    },
    "cli": {"render", "contract", "domain", "base"},
}  # fmt: skip
ARROWS["app"] = set(ARROWS) - {"cli"}

# The home of each third-party library: headers that start so, and the names it is linked by. A home is a room or a
# folder of one.
THIRD_PARTY: list[tuple[tuple[str, ...], tuple[str, ...], set[str]]] = [
    (("sqlite3",), ("SQLITE", "sqlite3"), {"store"}),
    (("microhttpd",), ("MICROHTTPD", "microhttpd"), {"http"}),
    (("yaml.h",), ("YAML", "yaml"), {"base"}),
    (("curl/",), ("CURL", "curl"), {"notify", "executor/kubernetes", "cli"}),
    (("openssl/",), ("CRYPTO", "OPENSSL", "crypto", "ssl"), {"base"}),
    (("zlib.h",), ("ZLIB", "z"), {"base", "http"}),
    (("pcre2",), ("PCRE2", "pcre2-8"), {"contract", "engine"}),
    (("zstd",), ("ZSTD", "zstd"), {"logs"}),
]

# Text functions without a bound, functions with hidden shared state, and a shell behind a call.
BANNED = {
    "sprintf", "vsprintf", "strcpy", "stpcpy", "strcat", "strtok", "atoi", "atol", "atoll", "atof", "gets", "gmtime",
    "localtime", "asctime", "ctime", "tmpnam", "mktemp", "alloca", "system",
}  # fmt: skip

# The cache below root's home is a common place to mount a volume in an image, and no machine's own.
MACHINE_PATH = re.compile(rb"(?<![\w.~%/-])(?:/(?:work|root)/(?!\.cache)|/home/[A-Za-z_])")

COMMENT_OR_TEXT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|\"([^\"\n]+)\")", re.MULTILINE)
CALL = re.compile(r"(?<![\w.>])(" + "|".join(sorted(BANNED)) + r")\s*\(")

# What a cleanup releases must have a value from the start: an early return would release what the stack held before.
UNSET = re.compile(r"^[ \t]+ty_auto_\w+\s+[^=;(]*;", re.M)
COMMAND = re.compile(r"\b(ty_room|ty_program|target_link_libraries|add_library)\s*\(([^)]*)\)")
KEYWORDS = {"PUBLIC", "PRIVATE", "INTERFACE", "SOURCES", "LINKS", "STATIC", "OBJECT"}


def list_files(root: Path) -> list[Path]:
    """All files of the tree that are or could be committed, as paths below the root."""
    git = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    top = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "--show-toplevel"], capture_output=True, check=False
    )
    if git.returncode == 0 and Path(top.stdout.decode().strip()) == root.resolve():
        names = [Path(name) for name in git.stdout.decode().split("\0") if name]
    else:
        names = [path.relative_to(root) for path in root.rglob("*")]
    return sorted(name for name in names if (root / name).is_file())


def room_of(path: Path) -> str | None:
    """The room a file belongs to; None for files that no wall surrounds."""
    parts = path.parts
    if parts[:2] == ("clients", "cli"):
        return "cli"
    if parts[:2] == ("include", "trainyard") and len(parts) > 3:
        return parts[2]
    if parts[0] == "server" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ("tests", "unit") and len(parts) > 3:
        return parts[2]
    return None


def may_use(room: str, other: str) -> bool:
    return room == other or other in ARROWS[room]


def is_home(path: Path, homes: set[str]) -> bool:
    room = room_of(path)
    inner = "/".join(path.parts[1:-1])
    return room in homes or any(inner == home or inner.startswith(home + "/") for home in homes)


def without_comments(text: str, keep_texts: bool) -> str:
    """The source with comments, and texts unless kept, blanked out; line numbers stay."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if keep_texts and found[0] in "\"'":
            return found
        return "\n" * found.count("\n") or " "

    return COMMENT_OR_TEXT.sub(blank, text)


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def check_quoted(root: Path, path: Path, name: str) -> str | None:
    """An include in quotes: a door of an allowed room, or a private header of the same room."""
    room = room_of(path)
    if room is None:
        return None
    if name.startswith("trainyard/"):
        other = name.split("/")[1]
        if other not in ARROWS:
            return f"includes {name}: there is no room {other}"
        return None if may_use(room, other) else f"includes {name}: no arrow from {room} to {other}"
    for folder in (path.parent, Path("server"), Path("clients/cli"), Path("include"), Path("tests/support")):
        target = Path(*(folder / name).parts)
        resolved = (root / target).resolve()
        if not resolved.is_file():
            continue
        inside = resolved.relative_to(root.resolve())
        other_room = room_of(inside)
        if other_room is None or other_room == room:
            return None
        if inside.parts[0] == "tests" and may_use(room, other_room):
            return None  # a header of tests, not of the product
        return f"includes {name}: a private header of {other_room}"
    return None  # made by the build, or missing: the compiler's business


def check_angled(path: Path, name: str) -> str | None:
    for headers, _, homes in THIRD_PARTY:
        if name.startswith(headers) and not is_home(path, homes):
            return f"includes <{name}>: its home is {', '.join(sorted(homes))}"
    return None


def check_source(root: Path, path: Path) -> Iterator[str]:
    text = (root / path).read_text(errors="replace")
    code = without_comments(text, keep_texts=True)
    guarded = room_of(path) is not None
    for match in INCLUDE.finditer(code):
        angled, quoted = match.groups()
        fault = check_angled(path, angled or quoted) if guarded else None
        fault = fault or (check_quoted(root, path, quoted) if quoted else None)
        if fault:
            yield f"{path}:{line_of(code, match.start())}: {fault}"
    bare = without_comments(text, keep_texts=False)
    for match in CALL.finditer(bare):
        yield f"{path}:{line_of(bare, match.start())}: calls {match.group(1)}, which is banned"
    for match in UNSET.finditer(bare):
        yield f"{path}:{line_of(bare, match.start())}: releases {match.group().split()[-1][:-1]}, which has no value yet"


def cmake_commands(root: Path, path: Path) -> Iterator[tuple[int, str, list[str]]]:
    text = re.sub(r"#[^\n]*", "", (root / path).read_text())
    for match in COMMAND.finditer(text):
        yield line_of(text, match.start()), match.group(1), match.group(2).split()


def library_rooms(root: Path, scripts: list[Path]) -> dict[str, str]:
    """The room that makes each library: ty_room(supervisor …) below server/executor is ty_supervisor of executor."""
    rooms = {}
    for path in scripts:
        room = room_of(path)
        for _, command, words in cmake_commands(root, path):
            if room and words and command in ("ty_room", "add_library"):
                rooms[("ty_" if command == "ty_room" else "") + words[0]] = room
    return rooms


def check_link(path: Path, word: str, libraries: dict[str, str]) -> str | None:
    room = room_of(path)
    assert room is not None
    if word.startswith("ty_"):
        other = libraries.get(word, word[3:])
        if other not in ARROWS:
            return f"links {word}: no room makes it"
        return None if may_use(room, other) else f"links {word}: no arrow from {room} to {other}"
    name = word.removeprefix("PkgConfig::")
    for _, names, homes in THIRD_PARTY:
        # A room with a folder as home links for that folder.
        if name in names and not any(home.split("/")[0] == room for home in homes):
            return f"links {word}: its home is {', '.join(sorted(homes))}"
    return None


def check_scripts(root: Path, scripts: list[Path]) -> Iterator[str]:
    guarded = [path for path in scripts if path.parts[0] != "tests" and room_of(path)]
    libraries = library_rooms(root, guarded)
    for path in guarded:
        for line, command, words in cmake_commands(root, path):
            if command == "add_library":
                continue
            links = words[words.index("LINKS") + 1 :] if "LINKS" in words else []
            if command == "target_link_libraries":
                links = words[1:]
            for word in links:
                fault = None if word in KEYWORDS else check_link(path, word, libraries)
                if fault:
                    yield f"{path}:{line}: {fault}"


def check_paths(root: Path, path: Path) -> Iterator[str]:
    content = (root / path).read_bytes()
    if b"\0" in content[:8000]:
        return
    for match in MACHINE_PATH.finditer(content):
        line = content.count(b"\n", 0, match.start()) + 1
        yield f"{path}:{line}: names a path of one machine, {match.group().decode()}…"


def check_tree(root: Path) -> list[str]:
    files = list_files(root)
    scripts = [path for path in files if path.name == "CMakeLists.txt"]
    faults = []
    for path in files:
        room = room_of(path)
        if room is not None and room not in ARROWS:
            faults.append(f"{path}:1: the room {room} has no row in the table of arrows")
            continue
        if path.suffix in (".c", ".h"):
            faults.extend(check_source(root, path))
        faults.extend(check_paths(root, path))
    faults.extend(check_scripts(root, scripts))
    return faults


# What the self-test plants: a file (made when it is missing), a text put at its end, and a part of the fault. Paths are
# in pieces, so that this file has no fault itself.
PLANTS: list[tuple[str, str, str]] = [
    ("server/domain/planted.c", '#include "trainyard/store/store.h"\n', "no arrow from domain to store"),
    ("include/trainyard/base/planted.h", '#include "trainyard/domain/job.h"\n', "no arrow from base to domain"),
    ("clients/cli/planted.c", '#include "trainyard/store/store.h"\n', "no arrow from cli to store"),
    ("server/http/planted.c", '# include  "../base/utf8.h" /* in the way */\n', "a private header of base"),
    ("server/api/planted.c", "#include <sqlite3.h>\n", "its home is store"),
    ("server/executor/local/planted.c", "#include <curl/curl.h>\n", "its home is cli, executor/kubernetes"),
    ("server/api/planted2.c", "#include <openssl/evp.h>\n", "its home is base"),
    ("tests/unit/domain/planted.c", '#include "trainyard/api/api.h"\n', "no arrow from domain to api"),
    ("server/base/CMakeLists.txt", "target_link_libraries(ty_base PUBLIC ty_domain)\n", "from base to domain"),
    ("server/domain/CMakeLists.txt", "ty_room(planted SOURCES a.c\n LINKS ty_base ty_store)\n", "to store"),
    ("server/events/CMakeLists.txt", "ty_room(planted2 LINKS PkgConfig::SQLITE)\n", "its home is store"),
    ("clients/cli/CMakeLists.txt", "ty_program(planted LINKS ty_base ty_store)\n", "from cli to store"),
    ("server/newroom/planted.c", "int x;\n", "has no row"),
    ("tests/support/planted.c", "void f(char *a) { strcpy(a, a); }\n", "calls strcpy"),
    ("server/logs/planted.c", 'int f(void) { return system ("x"); }\n', "calls system"),
    ("server/logs/planted2.c", "void f(void)\n{\n    ty_auto_buf text;\n}\n", "which has no value yet"),
    ("README.md", "see " + "/ro" + "ot/notes\n", "a path of one machine"),
    ("deploy/planted.txt", "path=" + "/wo" + "rk/main\n", "a path of one machine"),
    ("tests/planted.py", 'HOME = "' + "/ho" + 'me/ann"\n', "a path of one machine"),
]

# What must not be taken for a fault.
INNOCENT: list[tuple[str, str]] = [
    ("server/domain/innocent.c", '/* #include "trainyard/store/store.h" */\n// #include <sqlite3.h>\n'),
    ("server/api/innocent.c", '#include "trainyard/store/store.h"\n#include "trainyard/base/buf.h"\n'),
    ("server/executor/kubernetes/innocent.c", "#include <curl/curl.h>\n"),
    ("server/logs/innocent.c", 'void f(void) { ty_clock_system(); x->system(); puts("atoi(x)"); snprintf(); }\n'),
    ("server/base/innocent.c", "/* not strcpy(a, b) */\nint my_system(int);\n"),
    ("docs.txt", "a job sees network/root/x, sub/home/x and https://example.org/home/\n"),
]


def copy_tree(root: Path, to: Path) -> None:
    for path in list_files(root):
        (to / path.parent).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, to / path)


def plant(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write("\n" + text)


def self_test(root: Path) -> list[str]:
    """Each plant must give one fault more, at its own file and with the right words; the innocent must give none."""
    with tempfile.TemporaryDirectory(prefix="walls-") as folder:
        copy = Path(folder)
        copy_tree(root, copy)
        before = set(check_tree(copy))
        for name, text, *_ in [*PLANTS, *INNOCENT]:
            plant(copy, name, text)
        new = [fault for fault in check_tree(copy) if fault not in before]
    missed = [
        f"self-test: not found in {name}: {words}"
        for name, _, words in PLANTS
        if not any(fault.startswith(name + ":") and words in fault for fault in new)
    ]
    planted = {name for name, _, _ in PLANTS}
    wrong = [f"self-test: found wrongly: {fault}" for fault in new if fault.split(":")[0] not in planted]
    return missed + wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Hold the tree against its walls.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--selftest", action="store_true", help="also prove that planted faults are found")
    arguments = parser.parse_args()
    faults = check_tree(arguments.root)
    if arguments.selftest:
        faults += self_test(arguments.root)
    for fault in faults:
        print(fault)
    print(f"walls: {len(faults)} faults" if faults else "walls: no faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
