"""The reference page in a real browser: it shows the contract, calls the gateway, and asks nobody else for anything.

Skipped where Chromium is missing or the gateway was built without the viewer; with TRAINYARD_VIEWER=1 (.ci/docs) that is a
failure.
"""

from __future__ import annotations

import os

import pytest
import requests
from browser import Browser, chromium

MUST = os.environ.get("TRAINYARD_VIEWER") == "1"
ROWS = "document.querySelectorAll('.opblock').length"


@pytest.fixture(scope="module")
def viewer(gateway):
    """The gateway, when its /docs is the viewer."""
    built = "<script" in requests.get(gateway.url("/docs"), timeout=60).text
    if MUST:
        assert built, "the gateway was built without the viewer"
    if not built:
        pytest.skip("the gateway was built without the viewer")
    return gateway


@pytest.fixture
def browser():
    if not chromium() and not MUST:
        pytest.skip("there is no chromium")
    with Browser() as running:
        yield running


def operations(gateway) -> list[dict]:
    document = requests.get(gateway.url("/openapi.json"), timeout=60).json()
    return [operation for item in document["paths"].values() for verb, operation in item.items() if verb != "parameters"]


def strangers(browser: Browser, gateway) -> list[str]:
    return [url for url in browser.requests if not url.startswith((gateway.url("/"), "data:", "about:"))]


def test_the_viewer_shows_every_operation_and_asks_nobody_else(viewer, browser):
    browser.open(viewer.url("/docs"))
    browser.wait(f"{ROWS} === {len(operations(viewer))}")
    assert browser.evaluate("document.title") == "Trainyard reference"
    browser.evaluate("document.querySelector('#operations-jobs-jobs_create button.opblock-summary-control').click()")
    browser.wait("document.querySelector('#operations-jobs-jobs_create .opblock-body').innerText.includes('Idempotency-Key')")
    assert browser.evaluate("document.querySelector('.information-container').innerText.includes('Warning')") is False
    assert any(url.endswith("/openapi.json") for url in browser.requests)
    assert strangers(browser, viewer) == []
    assert browser.complaints == []


def test_an_operation_is_called_from_the_viewer(viewer, browser):
    browser.open(viewer.url("/docs#/access/whoami"))
    browser.wait("!!document.querySelector('button.authorize')")
    browser.evaluate("document.querySelector('button.authorize').click()")
    browser.wait("!!document.querySelector('.auth-container input')")
    browser.evaluate(
        "{const input = document.querySelector('.auth-container input');"
        "Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, '" + viewer.token + "');"
        "input.dispatchEvent(new Event('input', {bubbles: true}));"
        "document.querySelector('.auth-btn-wrapper button.authorize').click()}"
    )
    whoami = "document.querySelector('[id$=-whoami] "
    browser.wait(f"!!{whoami}.try-out button')")
    browser.evaluate(f"{whoami}.try-out button').click()")
    browser.wait(f"!!{whoami}button.execute')")
    browser.evaluate(f"{whoami}button.execute').click()")
    browser.wait(f"{whoami}.live-responses-table')?.innerText.includes('200')")
    assert strangers(browser, viewer) == []
    assert browser.evaluate("Object.keys(localStorage).length + Object.keys(sessionStorage).length") == 0


def test_the_pages_policy_holds_a_request_to_another_host_back(viewer, browser):
    browser.open(viewer.url("/docs"))
    browser.wait(f"{ROWS} > 0")
    broken = (
        "new Promise(done => {document.addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));"
        "fetch('http://other.invalid/').catch(() => {})})"
    )
    assert browser.evaluate(broken) == "connect-src"


def test_the_plain_page_and_the_codes_need_no_script_and_ask_nobody(gateway, browser):
    for path in ("/docs/plain", "/docs/errors"):
        browser.open(gateway.url(path))
        browser.wait("document.readyState === 'complete' && document.querySelectorAll('article').length > 10")
        assert browser.evaluate("document.scripts.length") == 0
    assert strangers(browser, gateway) == []
    assert [text for text in browser.complaints if "favicon" not in text] == []
