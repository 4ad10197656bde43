"""The reference page from the contract: contract JSON in, one HTML page without scripts out."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]
METHODS = ("get", "head", "post", "put", "patch", "delete")


def escape(text: object) -> str:
    return html.escape(str(text), quote=True)


def inline(text: str) -> str:
    """The few marks that the contract's texts use: `code`, **bold**, [text](path)."""
    text = escape(text)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"\[([^\]]+)\]\((/[^)\s]*)\)", r'<a href="\2">\1</a>', text)


def table(header: list[str], rows: list[list[str]]) -> str:
    """Cells are HTML already."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>\n'


def blocks(text: str) -> str:
    """Paragraphs and tables, divided by blank lines."""
    out = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.splitlines()
        if lines and lines[0].startswith("|"):
            cells = [[inline(c.strip()) for c in line.strip("|").split("|")] for line in lines]
            out.append(table(cells[0], cells[2:]))
        else:
            out.append(f"<p>{inline(' '.join(line.strip() for line in lines))}</p>\n")
    return "".join(out)


class Page:
    def __init__(self, document: Json) -> None:
        self.document = document
        self.schemas: Json = document["components"]["schemas"]

    def follow(self, node: Json) -> Json:
        while "$ref" in node:
            target: Any = self.document
            for token in node["$ref"].removeprefix("#/").split("/"):
                target = target[token]
            node = target
        return node

    # --- schemas ---
    def type_of(self, schema: Any) -> str:
        """The type of a value in a few words, with links to the schemas it names."""
        if schema is True:
            return "anything"
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return f'<a href="#schema-{escape(name)}">{escape(name)}</a>'
        for key, word in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
            if key in schema and "type" not in schema:
                return word.join(self.type_of(part) for part in schema[key])
        if "const" in schema:
            return f"<code>{escape(json.dumps(schema['const']))}</code>"
        kinds = schema.get("type", "anything")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        words = []
        for kind in kinds:
            if kind == "array" and "items" in schema:
                words.append(f"list of {self.type_of(schema['items'])}")
            elif kind == "object" and isinstance(schema.get("additionalProperties"), dict):
                words.append(f"map to {self.type_of(schema['additionalProperties'])}")
            else:
                words.append(escape(kind))
        return " or ".join(words)

    def rules_of(self, schema: Json) -> str:
        rules = []
        for key in ("enum", "x-extensible-enum"):
            if key in schema:
                values = " ".join(f"<code>{escape(v)}</code>" for v in schema[key])
                rules.append(values + (" or more to come" if key.startswith("x-") else ""))
        for low, high, unit in (
            ("minimum", "maximum", ""),
            ("minLength", "maxLength", " characters"),
            ("minItems", "maxItems", " items"),
            ("minProperties", "maxProperties", " members"),
        ):
            if low in schema and schema[low] == schema.get(high):
                rules.append(f"exactly {schema[low]}{unit}")
            elif low in schema and high in schema:
                rules.append(f"{schema[low]} to {schema[high]}{unit}")
            elif low in schema or high in schema:
                word, value = ("at least", schema[low]) if low in schema else ("at most", schema[high])
                rules.append(f"{word} {value}{unit}")
        if "x-explain" in schema:
            rules.append(escape(" ".join(schema["x-explain"].split())))
        elif "pattern" in schema and schema["pattern"] != r"^[^\x00]*$":
            rules.append(f"matches <code>{escape(schema['pattern'])}</code>")
        if "format" in schema:
            rules.append(escape(schema["format"]))
        if "default" in schema:
            rules.append(f"default <code>{escape(json.dumps(schema['default']))}</code>")
        return f'<div class="rule">{"; ".join(rules)}</div>' if rules else ""

    def about(self, schema: Any) -> str:
        if schema is True:
            return ""
        text = schema.get("description") or (self.follow(schema).get("description", "") if "$ref" in schema else "")
        text = "".join(blocks(text)) if text else ""
        return text + self.rules_of({k: v for k, v in schema.items() if k != "$ref"})

    def members(self, schema: Json) -> str:
        required = schema.get("required", [])
        rows = [
            [
                f"<code>{escape(name)}</code>" + (' <span class="must">required</span>' if name in required else ""),
                self.type_of(member),
                self.about(member),
            ]
            for name, member in schema.get("properties", {}).items()
        ]
        return table(["Member", "Type", "About"], rows) if rows else ""

    def schema(self, name: str) -> str:
        schema = self.schemas[name]
        parts = [schema, *(s for s in schema.get("allOf", []) if "$ref" not in s)]
        inner = "".join(self.members(part) for part in parts)
        for branch in schema.get("oneOf", []) + schema.get("anyOf", []):
            inner += self.members(branch)
        if isinstance(schema.get("items"), dict):
            inner += self.members(schema["items"])
        closed = "; other members are refused" if schema.get("additionalProperties") is False else ""
        return (
            f'<article id="schema-{escape(name)}"><h3><code>{escape(name)}</code></h3>\n'
            f'<p class="meta">{self.type_of(schema)}{closed}</p>{self.about(schema)}{inner}</article>\n'
        )

    # --- operations ---
    def parameters(self, item: Json, operation: Json) -> str:
        rows = []
        for reference in item.get("parameters", []) + operation.get("parameters", []):
            p = self.follow(reference)
            must = ' <span class="must">required</span>' if p.get("required") else ""
            schema = p["schema"]
            rows.append(
                [
                    f"<code>{escape(p['name'])}</code>{must}",
                    f"{escape(p['in'])}, {self.type_of(schema)}",
                    blocks(p.get("description", "")) + self.rules_of(self.follow(schema)),
                ]
            )
        return "<h4>Parameters</h4>\n" + table(["Name", "Place and type", "About"], rows) if rows else ""

    def body(self, operation: Json) -> str:
        if "requestBody" not in operation:
            return ""
        body = operation["requestBody"]
        out = [f"<h4>Body{'' if body.get('required') else ' (optional)'}</h4>\n<p>"]
        out.append(
            "<br>\n".join(f"<code>{escape(t)}</code> {self.type_of(m['schema'])}" for t, m in body["content"].items())
        )
        out.append(f". At most {operation['x-body-limit']:,} bytes.</p>\n")
        for media in body["content"].values():
            for example in media.get("examples", {}).values():
                text = json.dumps(example["value"], indent=2, ensure_ascii=False)
                out.append(
                    f"<details><summary>{escape(example.get('summary', 'Example'))}</summary>"
                    f'<pre tabindex="0"><code>{escape(text)}</code></pre></details>\n'
                )
        return "".join(out)

    def answers(self, operation: Json) -> str:
        rows = []
        for status, reference in operation["responses"].items():
            answer = self.follow(reference)
            types = [
                ("" if t == "application/problem+json" else f"<code>{escape(t)}</code> ")
                + self.type_of(m.get("schema", True))
                for t, m in answer.get("content", {}).items()
            ]
            headers = " ".join(f"<code>{escape(h)}</code>" for h in answer.get("headers", {}) if h != "Request-Id")
            about = inline(answer["description"]) + (f'<div class="rule">headers {headers}</div>' if headers else "")
            rows.append([f"<code>{escape(status)}</code>", about, "<br>".join(types)])
        return "<h4>Answers</h4>\n" + table(["Status", "When", "Body"], rows)

    def operation(self, path: str, method: str) -> str:
        item = self.document["paths"][path]
        operation = item[method]
        scope = operation.get("x-scope")
        access = (
            "no token needed"
            if operation.get("security") == []
            else f"scope <code>{escape(scope)}</code>"
            if scope
            else "any token"
        )
        return (
            f'<article id="{escape(operation["operationId"])}">\n'
            f'<h3><span class="method {method}">{method.upper()}</span><code>{escape(path)}</code></h3>\n'
            f'<p class="meta">{escape(operation["summary"])} &middot; {access} &middot; <code>{escape(operation["operationId"])}</code></p>\n'
            f"{blocks(operation['description'])}{self.parameters(item, operation)}{self.body(operation)}{self.answers(operation)}</article>\n"
        )

    def operations_of(self, tag: str) -> list[tuple[str, str]]:
        return [
            (path, method)
            for path, item in self.document["paths"].items()
            for method in METHODS
            if tag in item.get(method, {}).get("tags", [])
        ]

    # --- the page ---
    def navigation(self) -> str:
        out = ['<nav aria-label="Contents"><a href="#top">Conventions</a><a href="/docs/errors">Problem codes</a>\n']
        for tag in self.document["tags"]:
            out.append(f"<h2>{escape(tag['name'].capitalize())}</h2><ul>\n")
            for path, method in self.operations_of(tag["name"]):
                operation = self.document["paths"][path][method]
                out.append(
                    f'<li><a href="#{escape(operation["operationId"])}">{escape(operation["summary"])}</a></li>\n'
                )
            out.append("</ul>\n")
        out.append("<h2>Schemas</h2><ul>\n")
        out.extend(f'<li><a href="#schema-{escape(n)}">{escape(n)}</a></li>\n' for n in self.schemas)
        out.append("</ul></nav>\n")
        return "".join(out)

    def main(self) -> str:
        info = self.document["info"]
        out = [
            f'<main id="main"><h1 id="top">{escape(info["title"])} {escape(info["version"])}</h1>\n',
            f'<p class="lead">{escape(info["summary"])} The contract itself is <a href="/openapi.json">openapi.json</a>.</p>\n',
            blocks(info["description"]),
        ]
        for tag in self.document["tags"]:
            out.append(f"<h2>{escape(tag['name'].capitalize())}</h2>\n<p>{inline(tag['description'])}</p>\n")
            out.extend(self.operation(path, method) for path, method in self.operations_of(tag["name"]))
        out.append("<h2>Schemas</h2>\n")
        out.extend(self.schema(name) for name in self.schemas)
        out.append("</main>\n")
        return "".join(out)

    def write(self) -> str:
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.document['info']['title'])} reference</title>\n"
            '<link rel="stylesheet" href="/docs/style.css">\n</head>\n<body>\n'
            '<a class="skip" href="#main">To the reference</a>\n<div class="page">\n'
            f"{self.navigation()}{self.main()}</div>\n</body>\n</html>\n"
        )


def main() -> int:
    document = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(Page(document).write(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
