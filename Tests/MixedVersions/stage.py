# SPDX-License-Identifier: Apache-2.0
"""A Redis, a simulated Apple and a receiver of webhooks, which nodes of two versions use."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import forms
from drill.processes import Program, create_key, fetch, free_port, start_apple, wait_until

SECONDS = 60
WALL_CLOCK = forms.REPOSITORY / "Tests" / "WallClock" / "WallClock.c"
APP, CLIENT = "com.example.shop", "shop"
PEPPER = "for-checks-only-0123456789"
CACHE_KEYS = "mixed:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
SHARED_SECRET = "0123456789abcdef0123456789abcdef"
WEBHOOK_KEY = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
# The end of verifyReceipt that Apple announces.
SUNSET = "Fri, 31 Dec 2100 23:59:59 GMT"


def eventually(what: str, condition: Callable[[], object]):
    return wait_until(what, condition, SECONDS)


class Stage:
    """All but the nodes. Its programs have one wall clock, which a check may step forward."""

    # How Redis keeps its data.
    persistence = ("--save", "", "--appendonly", "no")
    # Customers that Apple knows.
    customers = 100
    # The limit of the limited client.
    limit: ClassVar[dict] = {"name": "month", "quota": 10, "window": "30d", "lease": "never"}

    def __init__(self, loadtest: Path, folder: Path):
        self.loadtest, self.folder = loadtest, folder
        self.step = folder / "step"
        self.step.write_text("0")
        self.clock = {"LD_PRELOAD": str(library(WALL_CLOCK, folder)), "WALL_CLOCK_STEP": str(self.step)}
        self.receipts = folder / "receipts"
        subprocess.run([loadtest, "corpus", "--out", self.receipts, "--count", "4"], check=True, capture_output=True)
        self.redis = self.start_redis()
        self.web = Web()
        self._start_apple()
        # What a node of one version could not use of the other, and asked Apple for.
        self.asked_again: list[str] = []
        # All keys that were ever found in Redis.
        self.every_key: set[str] = set()

    def close(self) -> None:
        self.web.close()

    def advance(self, seconds: int) -> None:
        """Steps the clock of all programs."""
        replace(self.step, str(int(self.step.read_text()) + seconds))

    @property
    def now(self) -> float:
        return time.time() + int(self.step.read_text())

    # Redis

    def start_redis(self) -> Redis:
        return Redis(self.folder, self.clock, self.persistence)

    def count(self, form: str) -> int:
        """Returns the number of keys of a form in Redis now."""
        keys = self.redis.keys()
        self.every_key.update(keys)
        return sum(forms.form(key, {form}) is not None for key in keys)

    def seen(self, form: str) -> bool:
        return self.count(form) > 0

    def results(self) -> set[str]:
        """Returns the keys of cached results."""
        return {key for key in self.redis.keys() if key.startswith("rc:")}

    def result_formats(self) -> set[str]:
        """Returns the prefixes of cached results in Redis, which have the numbers of their formats."""
        return {":".join(key.split(":")[:2]) for key in self.results()}

    def pending(self) -> int:
        """Returns the number of notifications that are not applied."""
        keys = [key for key in self.redis.keys() if forms.form(key, {"gw:{n:*:*}:pending"})]
        return sum(int(self.redis.ask("XLEN", key)) for key in keys)

    @contextmanager
    def unapplied(self) -> Iterator[None]:
        """Meanwhile nodes store notifications, and cannot apply them."""
        self.redis.ask("ACL", "SETUSER", "default", "-xreadgroup")
        try:
            yield
        finally:
            self.redis.ask("ACL", "SETUSER", "default", "+xreadgroup")

    # Apple

    def _start_apple(self) -> None:
        options = ["--customers", self.customers, "--customers-app", APP]
        environment = {**os.environ, **self.clock}
        self.simulator, self.urls = start_apple(
            self.loadtest, self.receipts, self.folder, *options, environment=environment, seconds=SECONDS
        )
        self.apple = self.urls["production"].removesuffix("/verifyReceipt")
        self.play()
        url = self.web.url + "/apple"
        self._ask("/notifications", {"bundle_id": APP, "environment": "production", "url": url, "version": 2}, "PUT")

    def play(self, *faults: dict) -> None:
        """Replaces the faults of Apple."""
        scenario = {"shared_secret": SHARED_SECRET, "faults": [*faults, {"headers": {"Sunset": SUNSET}}]}
        for url in self.urls.values():
            status, body = fetch(url.replace("/verifyReceipt", "/scenario"), json.dumps(scenario).encode(), "PUT")
            assert status // 100 == 2, f"the simulator rejects the scenario: {body.decode()}"

    @contextmanager
    def playing(self, *faults: dict) -> Iterator[None]:
        self.play(*faults)
        try:
            yield
        finally:
            self.play()

    def calls(self) -> int:
        """Returns the number of verifications that Apple did so far."""
        stats = json.loads(fetch(self.apple + "/stats")[1])
        operations = [item for calls in stats["server_api"]["calls"].values() for item in calls.items()]
        verifications = [results for name, results in operations if name != "notification_history"]
        return stats["production"] + stats["sandbox"] + sum(sum(results.values()) for results in verifications)

    def notify(self, kind: str, customer: int, subtype: str | None = None, deliver: bool = True) -> bytes | None:
        """Changes a customer, and returns the notification that Apple sends; None if Apple loses it."""
        request = {
            "bundle_id": APP,
            "environment": "production",
            "type": kind,
            "original_transaction_id": purchase(customer),
            "deliver": deliver,
        }
        if subtype:
            request["subtype"] = subtype
        count = len(self.web.notifications)
        self._ask("/notifications", request, "POST")
        if not deliver:
            return None
        eventually("Apple sends a notification", lambda: len(self.web.notifications) > count)
        return self.web.notifications[count]

    def _ask(self, path: str, body: dict, method: str) -> dict:
        status, answer = fetch(self.apple + path, json.dumps(body).encode(), method)
        assert status // 100 == 2, f"{path}: {status} {answer.decode()}"
        return json.loads(answer or b"{}")

    def receipt(self, number: int) -> str:
        return "".join((self.receipts / f"genuine-{number}.b64").read_text().split())

    # Nodes

    def settings(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "GATEWAY_HTTP_PORT": "0",
            "GATEWAY_ADMIN_PORT": "0",
            "GATEWAY_SHUTDOWN_DRAIN_DELAY": "0s",
            "GATEWAY_SHUTDOWN_GRACE": "1s",
            "GATEWAY_CLIENTS_FILE": str(self.folder / "clients.yaml"),
            "GATEWAY_API_KEY_PEPPER": PEPPER,
            "GATEWAY_TRUST_ROOTS": f"{self.receipts / 'root.pem'},{self.receipts / 'jws-root.pem'}=Production+Sandbox",
            "GATEWAY_APPLE_PRODUCTION_URL": self.urls["production"],
            "GATEWAY_APPLE_SANDBOX_URL": self.urls["sandbox"],
            "GATEWAY_APPLE_SERVER_API_PRODUCTION_URL": self.apple,
            "GATEWAY_APPLE_SERVER_API_SANDBOX_URL": self.urls["sandbox"].removesuffix("/verifyReceipt"),
            "GATEWAY_APPLE_SHARED_SECRET": SHARED_SECRET,
            # Receipts stay with verifyReceipt.
            "GATEWAY_APPLE_RECEIPT_UPSTREAM": "verify_receipt",
            # A busy machine is no outage.
            "GATEWAY_APPLE_SOFT_TIMEOUT": "20s",
            # The faults of one case must not reach the next.
            "GATEWAY_APPLE_BREAKER": "metrics_only",
            "GATEWAY_REDIS_URL": self.redis.url,
            "GATEWAY_REDIS_DEADLINE": "10s",
            "GATEWAY_CACHE_KEYS": CACHE_KEYS,
            "GATEWAY_NOTIFICATIONS_RECOVERY_INTERVAL": "60s",
            "GATEWAY_EVENTS_EXPIRY_DELAY": "60s",
            # The clock is stepped by months.
            "GATEWAY_EVENTS_MAX_AGE": "365d",
            "GATEWAY_JOBS_MAX_AGE": "1h",
            "GATEWAY_JOBS_RETENTION": "30d",
            "GATEWAY_WEBHOOKS_ALLOW_HTTP": "true",
            "GATEWAY_WEBHOOKS_ALLOW_PRIVATE_ADDRESSES": "true",
        }

    def write_clients(self, gateway: Path) -> None:
        """Creates an API key for each client, and the clients file with the app's key of the Server API."""
        rights = {"may": ["purge", "ownership", "erase"], "apple": ["read"]}
        self.key, shop = create_key(gateway, PEPPER)
        self.anyone, every = create_key(gateway, PEPPER)
        self.limited, few = create_key(gateway, PEPPER)
        clients = [
            {"name": CLIENT, "apps": [APP], "keys": [shop], "webhooks": self.webhooks(), **rights},
            {"name": "anyone", "apps": "*", "keys": [every]},
            {"name": "limited", "apps": "*", "keys": [few], "limits": [self.limit]},
        ]
        printed = re.search(r"^server_api:\n((?:  .+\n){3})", self.simulator.log.read_text(), re.M)
        server_api = dict(line.strip().split(": ", 1) for line in printed[1].splitlines())
        file = {"clients": clients, "apps": [{"bundle_id": APP, "server_api": server_api}]}
        (self.folder / "clients.yaml").write_text(json.dumps(file))

    def webhooks(self) -> list[dict]:
        return [
            {"name": "crm", "url": self.web.url + "/crm", "secrets": [WEBHOOK_KEY]},
            {"name": "warehouse", "url": self.web.url + "/warehouse", "stream": "relay"},
        ]


def library(source: Path, folder: Path) -> Path:
    """Compiles C for LD_PRELOAD."""
    compiled = folder / f"lib{source.stem}.so"
    compiler = shutil.which("cc") or shutil.which("clang")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", compiled, source, "-ldl"], check=True)
    return compiled


def replace(file: Path, text: str) -> None:
    """Replaces the text of a file that programs may read at any time."""
    file.with_suffix(".next").write_text(text)
    file.with_suffix(".next").replace(file)


def purchase(customer: int) -> str:
    """Returns the original transaction ID of a customer."""
    return str(2_000_001_000_000_000 + 1_000_000 * customer)


class Node:
    """A gateway of one version. It can be stopped, killed and started again."""

    def __init__(self, stage: Stage, program: Path, name: str):
        self.stage, self.program, self.name, self.process = stage, program, name, None

    def start(self, **settings: str) -> None:
        environment = {**self.stage.settings(), **self.stage.clock, **settings}
        log = self.stage.folder / f"{self.name}.log"
        begin = log.stat().st_size if log.exists() else 0
        self.process = Program(self.name, [self.program, "serve"], self.stage.folder, environment)

        def ports() -> dict[str, int]:
            with log.open("rb") as file:
                file.seek(begin)
                found = re.findall(rb'"plane":"(data|admin)".*?"port":(\d+)|"port":(\d+).*?"plane":"(data|admin)"', file.read())
            return {(one[0] or one[3]).decode(): int(one[1] or one[2]) for one in found}

        self.process.expect("listens", lambda: len(ports()) == 2, SECONDS)
        self.url = f"http://127.0.0.1:{ports()['data']}"
        self.admin = f"http://127.0.0.1:{ports()['admin']}"
        self.process.expect("is ready", lambda: fetch(self.admin + "/readyz")[0] == 200, SECONDS)

    def stop(self) -> None:
        self.process.stop()
        assert self.process.process.returncode == 0, f"{self.name} ended with {self.process.process.returncode}"

    def kill(self) -> None:
        self.process.kill()

    def command(self, *words: str) -> str:
        """Returns what a command of this version prints."""
        environment = {**self.stage.settings(), **self.stage.clock}
        done = subprocess.run([self.program, *words], env=environment, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, f"{self.name}: {' '.join(words)}: {done.returncode} {done.stderr}"
        return done.stdout

    def metric(self, name: str, **labels: str) -> float:
        """Returns the sum of the series with these labels."""
        text = fetch(self.admin + "/metrics")[1].decode()
        series = re.findall(rf"^receipt_gateway_{name}(?:{{(.*)}})? (\S+)$", text, re.M)
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        return sum(float(value) for found, value in series if all(pair in found for pair in wanted))

    # Requests

    def made(
        self, method: str, path: str, body: object, key: str | None, headers: dict[str, str]
    ) -> urllib.request.Request:
        """Makes a request; the underscores in names of headers are hyphens."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        fields = {"Authorization": f"Bearer {key or self.stage.key}", "Content-Type": "application/json"}
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        return urllib.request.Request(self.url + path, data=data, method=method, headers=fields)

    def request(
        self, method: str, path: str, body: object = None, key: str | None = None, **headers: str
    ) -> tuple[int, dict, dict[str, str]]:
        """Returns status, JSON and header fields."""
        try:
            with urllib.request.urlopen(self.made(method, path, body, key, headers), timeout=SECONDS) as answer:
                status, text, found = answer.status, answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            status, text, found = error.code, error.read(), error.headers
        found = {name.lower(): value for name, value in found.items()}
        return status, json.loads(text) if text else {}, found

    def verify(self, body: dict, key: str | None = None) -> dict:
        status, answer, _ = self.request("POST", "/v1/verify", body, key)
        assert status == 200, f"{self.name}: {status} {answer}"
        assert answer["verdict"] == "genuine", f"{self.name}: {answer}"
        return answer

    def take(self, notification: bytes) -> None:
        """Gives the node a notification as Apple posts it."""
        status, answer, _ = self.request("POST", "/apple/notifications", notification)
        assert status == 200, f"{self.name}: {status} {answer}"

    def events(self, after: str | None = None) -> tuple[list[dict], str]:
        """Returns all events after a cursor, and the next cursor. No event may be missed."""
        events, cursor = [], after
        while True:
            query = f"&after={urllib.parse.quote(cursor)}" if cursor else ""
            status, page, _ = self.request("GET", f"/v1/events?limit=1000{query}")
            assert status == 200, f"{self.name}: {status} {page}"
            assert page["missed"] == [], f"{self.name}: {page['missed']}"
            events, cursor = events + page["events"], page["next"]
            if not page["has_more"]:
                return events, cursor

    def evidence(self, customer: int) -> str:
        """Returns a customer's subscription as Apple signs it now."""
        status, answer, _ = self.request("GET", f"/v1/apple/{APP}/production/inApps/v1/subscriptions/{purchase(customer)}")
        assert status == 200, f"{self.name}: {status} {answer}"
        return answer["data"][0]["lastTransactions"][0]["signedTransactionInfo"]


class Redis:
    """A Redis on this machine. After `program.kill`, `start` starts it again with what it has kept."""

    def __init__(self, folder: Path, clock: dict[str, str], options: tuple[str, ...], name: str = "redis"):
        self.port, self.name = free_port(), name
        self.folder, self.environment = folder / name, {**os.environ, **clock}
        self.folder.mkdir()
        self.command = ["redis-server", "--port", self.port, "--bind", "127.0.0.1", *options]
        self.start()

    def start(self) -> None:
        self.program = Program(self.name, self.command, self.folder, self.environment)
        self.program.expect("answers", lambda: fetch_redis(self.port, "PING") == "PONG", SECONDS)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def ask(self, *words: object, data: bytes | None = None) -> str:
        """Returns the reply as redis-cli prints it. With `data` it is the last argument."""
        return fetch_redis(self.port, *words, data=data)

    def keys(self) -> list[str]:
        return self.ask("KEYS", "*").split()


def fetch_redis(port: int, *words: object, data: bytes | None = None) -> str:
    command = ["redis-cli", "-e", "-p", str(port), *(["-x"] if data is not None else []), *map(str, words)]
    done = subprocess.run(command, input=data, capture_output=True, timeout=SECONDS)
    return (done.stdout + done.stderr).decode(errors="replace").strip()


class Web:
    """Receives Apple's notifications and the webhooks of both endpoints."""

    def __init__(self):
        self.notifications: list[bytes] = []
        # The deliveries of each endpoint: their IDs with their bodies, in order.
        self.deliveries: dict[str, list[tuple[str, bytes]]] = {"crm": [], "warehouse": []}
        # Returns the status of a delivery.
        self.answer: Callable[[str, bytes], int] = self.accept
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                name = self.path.removeprefix("/")
                if name == "apple":
                    web.notifications.append(body)
                    status = 200
                else:
                    status = web.answer(name, body)
                    if status < 300:
                        web.deliveries[name].append((self.headers["webhook-id"], body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @staticmethod
    def accept(endpoint: str, body: bytes) -> int:
        return 204

    def ids(self, endpoint: str) -> list[str]:
        return [identifier for identifier, _ in list(self.deliveries[endpoint])]

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
