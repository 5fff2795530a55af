# SPDX-License-Identifier: Apache-2.0
"""A receiver of the gateway's events (docs/events.md). Python 3.9 or later, nothing but the standard library.

    WEBHOOK_KEYS=whsec_… python3 webhook_receiver.py EVENTS.db

takes webhooks on WEBHOOK_PORT (8000) of this machine, and stores each event once in a SQLite file. During a rotation
WEBHOOK_KEYS has the old and the new key, separated by a space. Put a proxy with your certificate in front of it.
Ed25519 (`v1a`, keys that begin with `whpk_`) is not in the standard library: the package `cryptography` has it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import sqlite3
import sys
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The age at which a copied request is refused.
TOLERANCE_SECONDS = 5 * 60
BODY_BYTES = 1 << 20
# For one read from a connection.
READ_SECONDS = 10

SCHEMA = """
CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, type TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS changed (purchase TEXT PRIMARY KEY, event TEXT NOT NULL);
"""


class Rejected(Exception):
    """The request is not from the gateway, or is a copy of an old one."""


class Verifier:
    """Checks signatures by the rules of Standard Webhooks (https://www.standardwebhooks.com)."""

    def __init__(self, keys: list[str]):
        for key in keys:
            if not key.startswith("whsec_"):
                raise ValueError("WEBHOOK_KEYS needs keys that begin with whsec_, separated by spaces")
        self.keys = [base64.b64decode(key[len("whsec_") :], validate=True) for key in keys]

    def check(self, identifier: str, timestamp: str, signatures: str, body: bytes, now: float) -> None:
        """Raises Rejected unless one of the signatures is by one of the keys. `body` has the bytes as they came."""
        if not identifier or not re.fullmatch(r"[0-9]{1,12}", timestamp):
            raise Rejected("webhook-id or webhook-timestamp is missing or malformed")
        if abs(now - int(timestamp)) > TOLERANCE_SECONDS:
            raise Rejected("webhook-timestamp is more than five minutes off")
        signed = f"{identifier}.{timestamp}.".encode() + body
        expected = [b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)) for key in self.keys]
        # compare_digest takes the same time wherever two texts differ.
        given = [signature.encode() for signature in signatures.split()]
        if not any(hmac.compare_digest(one, other) for one in given for other in expected):
            raise Rejected("no signature is by one of the keys")


class Store:
    """The events, each once."""

    def __init__(self, path: str):
        self.path = path
        with closing(self._open()) as database:
            database.executescript(SCHEMA)

    def add(self, identifier: str, event: dict, body: bytes) -> bool:
        """Stores an event with its effect. Returns false if it was stored before: then it has none."""
        row = (identifier, event["type"], body.decode())
        # One transaction: a crash leaves the event and its effect, or neither.
        with closing(self._open()) as database, database:
            added = database.execute("INSERT INTO events VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING", row).rowcount
            if added:
                apply(database, event)
            return added == 1

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=READ_SECONDS)


def apply(database: sqlite3.Connection, event: dict) -> None:
    """The place for your own code: quick, and in this database only. Do the rest later, from the tables."""
    purchase = event["data"].get("original_transaction_id")
    if purchase:
        database.execute("INSERT OR REPLACE INTO changed VALUES (?, ?)", (purchase, event["id"]))


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = READ_SECONDS
    verifier: Verifier
    store: Store

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > BODY_BYTES:
            self.close_connection = True
            self._answer(413 if length.isdigit() else 411)
            return
        body = self.rfile.read(int(length))
        try:
            self._take(body)
        except (Rejected, ValueError, KeyError, TypeError) as error:
            self._answer(401 if isinstance(error, Rejected) else 400)
            print("rejected:", error, flush=True)
        except sqlite3.Error as error:
            # The gateway sends it again.
            self._answer(503)
            print("not stored:", error, flush=True)

    def _take(self, body: bytes) -> None:
        identifier, timestamp, signatures = (
            self.headers.get(name, "") for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
        )
        self.verifier.check(identifier, timestamp, signatures, body, time.time())
        # Only now is anything of the body read.
        event = json.loads(body)
        is_new = self.store.add(identifier, event, body)
        # After a gap an earlier event of this purchase is missing: verify its transaction ID for the current state.
        words = [event["type"], "after a gap" if event.get("gap") else ""] if is_new else ["again: no effect"]
        print(identifier, *filter(None, words), flush=True)
        self._answer(204)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def main() -> int:
    keys = os.environ.get("WEBHOOK_KEYS", "").split()
    if len(sys.argv) != 2 or not keys:
        print(__doc__, file=sys.stderr)
        return 64
    Receiver.verifier, Receiver.store = Verifier(keys), Store(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("WEBHOOK_PORT", "8000"))), Receiver)
    print(f"listening on port {server.server_port}", flush=True)
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
