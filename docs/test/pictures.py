# SPDX-License-Identifier: Apache-2.0
"""The pictures of the status page in docs/images, of a node whose requests to Apple fail.

`pictures.py GATEWAY LOADTEST` takes them, in four minutes. Each picture has in a text chunk of its PNG the titles, labels
and issues of the page that it shows; `run` compares them with the page of today.
"""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

from drill.processes import Program, fetch, free_port, start_apple, wait_until
from report import Report
from shell import REPOSITORY, SECONDS

BROWSER = "/usr/bin/chromium-headless-shell"
IMAGES, RUNBOOKS = REPOSITORY / "docs" / "images", REPOSITORY / "docs" / "runbooks"
# The width, the height and whether the colours are dark.
PICTURES = {
    "status-page.png": (1200, 1300, False),
    "status-page-dark.png": (700, 1000, True),
    "status-page-phone.png": (390, 1000, False),
}
# The seconds with Apple before the pictures, and without Apple.
HEALTHY, FAILING = 180, 45
# The issue that both have.
OPEN = "ReceiptGatewayCircuitBreakerOpen"
KEYWORD = b"Words"
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def run(report: Report, gateway: Path, loadtest: Path) -> None:
    report.check("the pictures of the status page have its words", lambda: _compare(gateway, loadtest))


def _compare(gateway: Path, loadtest: Path) -> None:
    with _failing(gateway, loadtest, healthy=1) as url:
        page = _read(url)
    for name in PICTURES:
        shown = words_in((IMAGES / name).read_bytes())
        old, new = [*shown["labels"]], page.labels
        for issue, text in shown["issues"].items():
            assert (RUNBOOKS / f"{issue}.md").exists(), f"docs/images/{name}: there is no runbook {issue}"
            # Some issues come and go.
            if issue in page.issues:
                old, new = [*old, text], [*new, page.issues[issue]]
        assert OPEN in shown["issues"] and old == new, (
            f"docs/images/{name} is of another build; take the pictures again: make pictures\n"
            f"only in the picture: {sorted(set(old) - set(new))}\nonly in the page: {sorted(set(new) - set(old))}"
        )


@contextmanager
def _failing(gateway: Path, loadtest: Path, healthy: int) -> Iterator[str]:
    """The status page of a node under load, whose circuit breaker is open."""
    with tempfile.TemporaryDirectory() as name:
        folder, http, admin = Path(name), free_port(), free_port()
        (folder / "scenario.yaml").write_text(
            "stories: {default: renewed}\n"
            f"faults: [{{from: {healthy}, fault: reset}}, {{latency: {{lognormal: {{median: 0.12, sigma: 0.4, cap: 2}}}}}}]\n"
        )
        receipts = folder / "receipts"
        subprocess.run([loadtest, "corpus", "--out", receipts, "--count", "500"], check=True, capture_output=True)
        try:
            options = ["--scenario", folder / "scenario.yaml"]
            _, urls = start_apple(loadtest, receipts, folder, *options, seconds=SECONDS)
            environment = {
                "PATH": os.environ["PATH"],
                "GATEWAY_HTTP_PORT": str(http),
                "GATEWAY_ADMIN_PORT": str(admin),
                "GATEWAY_TRUST_ROOTS": str(receipts / "root.pem"),
                "GATEWAY_APPLE_PRODUCTION_URL": urls["production"],
                "GATEWAY_APPLE_SANDBOX_URL": urls["sandbox"],
                "GATEWAY_APPLE_SHARED_SECRET": "0123456789abcdef0123456789abcdef",
            }
            url = f"http://127.0.0.1:{admin}"
            node = Program("gateway", [gateway, "serve"], folder, environment)
            node.expect("is ready", lambda: fetch(f"{url}/readyz")[0] == 200, SECONDS)
            load = ["http", f"http://127.0.0.1:{http}", "--corpus", receipts, "-R", "40", "-d", "10m"]
            Program("load", [loadtest, *load], folder, {"PATH": os.environ["PATH"]})
            wait_until("the breaker opens", lambda: OPEN in _read(url).issues, SECONDS + healthy, pause=0.5)
            yield url
        finally:
            Program.stop_all()


def take(gateway: Path, loadtest: Path) -> None:
    with _failing(gateway, loadtest, HEALTHY) as url, tempfile.TemporaryDirectory() as profile:
        time.sleep(FAILING)
        page = _read(url)
        words = {"labels": page.labels, "issues": page.issues}
        for name, (width, height, is_dark) in PICTURES.items():
            # The sandbox is off: tests run as root in containers, and the page is our own.
            options = [
                "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--timeout=5000",
                f"--user-data-dir={profile}", f"--window-size={width},{height}", f"--screenshot={IMAGES / name}",
            ]
            options += ["--blink-settings=preferredColorScheme=0"] if is_dark else []
            subprocess.run([BROWSER, *options, url], check=True, capture_output=True, timeout=SECONDS)
            (IMAGES / name).write_bytes(with_words((IMAGES / name).read_bytes(), words))
            print(f"docs/images/{name}")


# The words of a page


class Page(HTMLParser):
    """The titles of the page's parts, the names of rows and columns, and the issues by their runbooks."""

    def __init__(self, text: str):
        super().__init__()
        self.labels: list[str] = []
        self.issues: dict[str, str] = {}
        self.inside: str | None = None
        self.issue = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in ("h2", "th") and ("id", "word") not in attributes:
            self.inside = tag
            self.labels.append("")
        elif tag == "li":
            self.inside, self.issue = tag, ""

    def handle_endtag(self, tag: str) -> None:
        if tag == self.inside:
            self.inside = None
        if tag == "li":
            # The last word is the runbook; figures vary, and so does the endpoint.
            text, _, runbook = re.sub(r"\d+|production|sandbox", "#", self.issue).rpartition(" ")
            self.issues[runbook] = text

    def handle_data(self, text: str) -> None:
        if self.inside == "li":
            self.issue = f"{self.issue} {text.strip()}".strip()
        elif self.inside:
            self.labels[-1] = f"{self.labels[-1]} {text}".strip()


def _read(url: str) -> Page:
    return Page(fetch(url)[1].decode())


# The words of a picture


def words_in(picture: bytes) -> dict:
    texts = [content for kind, content in _chunks(picture) if kind == b"tEXt" and content.startswith(KEYWORD + b"\0")]
    return json.loads(texts[0][len(KEYWORD) + 1 :]) if texts else {"labels": [], "issues": {}}


def with_words(picture: bytes, words: dict) -> bytes:
    (kind, header), *others = _chunks(picture)
    text = KEYWORD + b"\0" + json.dumps(words).encode()
    pixels = zlib.compress(zlib.decompress(b"".join(content for kind, content in others if kind == b"IDAT")), 9)
    chunks = [(kind, header), (b"tEXt", text), (b"IDAT", pixels), (b"IEND", b"")]
    return SIGNATURE + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )


def _chunks(picture: bytes) -> list[tuple[bytes, bytes]]:
    assert picture.startswith(SIGNATURE), "no PNG"
    found, position = [], len(SIGNATURE)
    while position < len(picture):
        (length,) = struct.unpack_from(">I", picture, position)
        found.append((picture[position + 4 : position + 8], picture[position + 8 : position + 8 + length]))
        position += 12 + length
    return found


if __name__ == "__main__":
    take(*(Path(path).resolve() for path in sys.argv[1:3]))
