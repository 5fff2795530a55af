# SPDX-License-Identifier: Apache-2.0
"""The stored forms: the keys in Redis that docs/privacy.md, docs/redis.md and the comments of Sources/RedisStore name."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS, SOURCES = REPOSITORY / "docs", REPOSITORY / "Sources" / "RedisStore"


def documented() -> set[str]:
    """Returns the keys in the tables of docs/privacy.md and docs/redis.md. `…` stands for a key's part up to `}`."""
    forms: set[str] = set()
    for page, column in (("privacy.md", 2), ("redis.md", 1)):
        begin = ""
        for row in re.findall(r"^\| .+ \|$", _section(page), re.M):
            for key in re.findall(r"`([^`]+)`", row.split("|")[column]):
                full = key.replace("…", begin, 1) if key.startswith("…") else key
                begin = full[: full.find("}") + 1] or begin
                forms.add(plain(full))
    return forms


def commented() -> set[str]:
    """Returns the keys that the comments of Sources/RedisStore list."""
    texts = "\n".join(path.read_text() for path in SOURCES.rglob("*.swift"))
    return {plain(key) for key in re.findall(r"^/// (gw:\{[^ ]+?),? ", texts, re.M)}


def plain(key: str) -> str:
    """Returns a key with one name for each part that differs between keys, and no number of a format."""
    return re.sub(r"^rc:\d+:", "rc:", re.sub(r"<[^>]+>|…", "*", key))


def form(key: str, forms: set[str]) -> str | None:
    """Returns the form of a key in Redis: the longest that matches, as `…:events` also begins `…:events:erased`."""
    key = re.sub(r"^rc:\d+:", "rc:", key)
    matching = [one for one in forms if re.fullmatch(re.escape(one).replace(r"\*", ".+"), key)]
    # A star may stand for more than one part: the form with the most words beside stars is meant.
    return max(matching, key=lambda one: (len(one.replace("*", "")), -one.count("*")), default=None)


def _section(page: str) -> str:
    text = (DOCS / page).read_text()
    head = {"privacy.md": "## What is stored\n", "redis.md": "## What Redis holds\n"}[page]
    return text.split(head, 1)[1].split("| elsewhere |")[0].split("Delete keys by hand")[0]
