"""What JSON Schema cannot say about our requests, for schemathesis.

Integers are written as integers (1.0 is refused), numbers fit 64 bits, no text holds a NUL. Values that are right but would
make a call wait, repeat another one, or need a cursor that we made, are replaced before the call. Everything happens in
the tenant that TRAINYARD_FUZZ_TENANT names, which is not that of the token: so the token cannot be revoked on the way.
"""

from __future__ import annotations

import os
import re
import uuid
from typing import Any

import schemathesis
from hypothesis import strategies as st

KEY = re.compile(r'[!#-~][!-~]*|"[!#-\[\]-~]+"')
TENANT = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
FUZZ_TENANT = os.environ.get("TRAINYARD_FUZZ_TENANT", "default")
CURSOR = re.compile(r"[A-Za-z0-9_-]{1,512}")
EVENT = re.compile(r"[0-9]{1,19}-[0-9a-f]{16}")  # well-formed, but no id of this gateway

schemathesis.openapi.format("entity-tags", st.sampled_from(["*", '"5f2c"', 'W/"5f2c"', '"a", "b"']))


def plain(value: Any) -> Any:
    """The same value in the JSON that every reader reads alike."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else value % 2**31
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def calm_query(query: Any) -> None:
    if EVENT.fullmatch(str(query.get("after", ""))):
        query["after"] = "0"
    if CURSOR.fullmatch(str(query.get("cursor", ""))):
        del query["cursor"]
    if query.get("follow") in (True, "true"):
        query["follow"] = "false"
    if str(query.get("wait", "")).isdecimal() and int(query["wait"]) <= 60:
        query["wait"] = 0


def calm_headers(headers: Any) -> None:
    if EVENT.fullmatch(str(headers.get("Last-Event-ID", ""))):
        headers["Last-Event-ID"] = "0"
    if KEY.fullmatch(str(headers.get("Idempotency-Key", ""))):
        headers["Idempotency-Key"] = str(uuid.uuid4())
    if TENANT.fullmatch(str(headers.get("Trainyard-Tenant", FUZZ_TENANT))):
        headers["Trainyard-Tenant"] = FUZZ_TENANT


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict[str, Any]) -> None:
    if isinstance(case.body, dict | list):
        case.body = plain(case.body)
    if case.query:
        calm_query(case.query)
    if case.path.endswith("/events") and "follow" not in (case.query or {}):
        case.query = {**(case.query or {}), "follow": "false"}  # followed unless said otherwise
    if case.path.endswith("/jobs:wait") and isinstance(case.body, dict):
        case.body.setdefault("timeout_seconds", 0)
        if isinstance(case.body["timeout_seconds"], int) and 0 < case.body["timeout_seconds"] <= 60:
            case.body["timeout_seconds"] = 0
    if case.headers is not None:
        calm_headers(case.headers)
