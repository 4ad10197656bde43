"""The reference page's viewer as C: what npm fetched and the files of server/contract/viewer in, one C file out.

Usage: viewer.py OWN_FOLDER NODE_MODULES OUT.c
Three files: script, style and the licences, each named by its digest and packed with gzip; and the page that names them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import sys
from pathlib import Path
from typing import NamedTuple

BYTES_A_LINE = 24
PACKAGE = "swagger-ui-dist"


class Asset(NamedTuple):
    kind: str
    ending: str
    media_type: str
    content: bytes

    @property
    def name(self) -> str:
        return f"viewer-{hashlib.sha256(self.content).hexdigest()[:16]}.{self.ending}"


def joined(*files: Path) -> bytes:
    """The files one after another, without references to source maps, which are not served."""
    lines = [line for file in files for line in file.read_bytes().split(b"\n") if b"# sourceMappingURL=" not in line]
    return b"\n".join(lines) + b"\n"


def assets(own: Path, package: Path) -> list[Asset]:
    script = joined(package / "swagger-ui-bundle.js", own / "start.js")
    style = joined(package / "swagger-ui.css", own / "page.css")
    licences = joined(package / "NOTICE", package / "LICENSE", package / "swagger-ui-bundle.js.LICENSE.txt")
    return [
        Asset("script", "js", "text/javascript; charset=utf-8", script),
        Asset("style", "css", "text/css; charset=utf-8", style),
        Asset("licences", "txt", "text/plain; charset=utf-8", licences),
    ]


def array(name: str, data: bytes) -> str:
    rows = (data[at : at + BYTES_A_LINE] for at in range(0, len(data), BYTES_A_LINE))
    return f"static const unsigned char {name}[] = {{\n" + "".join(",".join(map(str, row)) + ",\n" for row in rows) + "};\n\n"


def document(media_type: str, array_name: str, content: bytes, whole_len: int) -> str:
    tag = base64.urlsafe_b64encode(hashlib.sha256(content).digest()[:18]).decode()
    return (
        f'{{.media_type = "{media_type}", .bytes = (const char *){array_name}, .len = sizeof {array_name}, '
        f'.whole_len = {whole_len}, .etag = "\\"{tag}\\""}}'
    )


def main() -> int:
    own, package, out = Path(sys.argv[1]), Path(sys.argv[2]) / PACKAGE, Path(sys.argv[3])
    files = assets(own, package)
    page = (own / "page.html").read_text(encoding="utf-8")
    for file in files:
        page = page.replace(f"{{{file.kind}}}", file.name)
    text = '/* Made by viewer.py. */\n#include "contract/viewer.h"\n\n' + array("page_bytes", page.encode())
    rows = ""
    for file in files:
        text += array(file.kind, gzip.compress(file.content, compresslevel=9, mtime=0))
        rows += f'    {{"{file.name}", {document(file.media_type, file.kind, file.content, len(file.content))}}},\n'
    text += (
        f"static const struct ty_document page = {document('text/html; charset=utf-8', 'page_bytes', page.encode(), 0)};\n\n"
        f"static const struct ty_viewer_asset assets[] = {{\n{rows}}};\n\n"
        "const struct ty_viewer ty_viewer = {&page, assets, sizeof assets / sizeof *assets};\n"
    )
    out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
