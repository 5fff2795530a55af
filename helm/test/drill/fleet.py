# SPDX-License-Identifier: Apache-2.0
"""Two gateways, a Redis, Apple's simulator and a Prometheus that scrapes each second, all on this machine."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

from drill.processes import Program, create_key, fetch, free_port, start_apple

SHARED_SECRET = "0123456789abcdef0123456789abcdef"
PEPPER = "for-checks-only-0123456789"
CACHE_KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
JOB = "receipt-gateway"
# The app of Apple's notifications. It never uses verifyReceipt, so that it needs no key.
APP = "com.example.shop"
WEBHOOK_KEY = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
# No faults. The announced end of verifyReceipt is far away.
QUIET = {
    "shared_secret": SHARED_SECRET,
    "reissue_seconds": 30,
    "faults": [{"latency": {"uniform": [0.005, 0.02]}, "headers": {"Sunset": "Fri, 31 Dec 2100 23:59:59 GMT"}}],
}


class Redis:
    """A Redis server without persistence, and a minimal client."""

    def __init__(self, folder: Path, name: str = "redis", port: int | None = None):
        self.port = port or free_port()
        self.program = Program(
            name,
            ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
            folder,
        )
        self.program.expect("answers", lambda: self._answers())

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def command(self, *words, password: str | None = None):
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            stream = connection.makefile("rwb")
            if password:
                self._send(stream, ("AUTH", password))
            return self._send(stream, words)

    def _send(self, stream, words):
        parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        stream.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
        stream.flush()
        return self._reply(stream)

    def _reply(self, stream):
        kind, rest = (line := stream.readline())[:1], line[1:-2]
        if kind in b"+:":
            return rest
        if kind == b"-":
            raise RuntimeError(f"Redis: {rest.decode()}")
        if kind == b"$":
            return None if rest == b"-1" else stream.read(int(rest) + 2)[:-2]
        return [self._reply(stream) for _ in range(int(rest))]

    def _answers(self) -> bool:
        try:
            return self.command("PING") == b"PONG"
        except OSError:
            return False


class Receiver:
    """A receiver of webhooks that answers each event with the same status."""

    def __init__(self):
        self.status = 204
        receiver = self

        class Answers(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/events"

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Fleet:
    """A running fleet. The initializer starts it, `close` stops it."""

    def __init__(self, gateway: Path, loadtest: Path, folder: Path, rules: Path):
        self.gateway_program, self.loadtest_program, self.folder = gateway, loadtest, folder
        self.programs: list[Program] = []
        self.ports = {name: (free_port(), free_port()) for name in ("gateway-1", "gateway-2")}
        self.gateways: dict[str, Program] = {}
        self.receiver = Receiver()
        self._receipts()
        self.key = self._clients()
        self.redis = Redis(folder)
        self._apple()
        for name in self.ports:
            self.start(name)
        self._prometheus(rules)

    def close(self) -> None:
        for program in [*self.gateways.values(), *self.programs, self.redis.program]:
            program.stop()
        self.receiver.close()

    # Gateways

    def start(self, name: str, **settings: str) -> None:
        """Starts a gateway with changes to the usual settings."""
        http, admin = self.ports[name]
        environment = {"PATH": os.environ["PATH"], **self._usual(http, admin), **settings}
        program = Program(name, [self.gateway_program, "serve"], self.folder, environment)
        self.gateways[name] = program
        program.expect("is ready", lambda: fetch(f"http://127.0.0.1:{admin}/readyz")[0] == 200)

    def restart(self, name: str, **settings: str) -> None:
        self.gateways[name].stop()
        self.start(name, **settings)

    @property
    def trust_roots(self) -> str:
        receipts = self.folder / "receipts"
        return f"{receipts / 'root.pem'},{receipts / 'jws-root.pem'}=Production+Sandbox"

    def _usual(self, http: int, admin: int) -> dict[str, str]:
        return {
            "GATEWAY_HTTP_PORT": str(http),
            "GATEWAY_ADMIN_PORT": str(admin),
            "GATEWAY_SHUTDOWN_DRAIN_DELAY": "0s",
            "GATEWAY_SHUTDOWN_GRACE": "1s",
            "GATEWAY_CLIENTS_FILE": str(self.folder / "clients.yaml"),
            "GATEWAY_API_KEY_PEPPER": PEPPER,
            "GATEWAY_TRUST_ROOTS": self.trust_roots,
            "GATEWAY_APPLE_PRODUCTION_URL": self.apple["production"],
            "GATEWAY_APPLE_SANDBOX_URL": self.apple["sandbox"],
            "GATEWAY_APPLE_SHARED_SECRET": SHARED_SECRET,
            "GATEWAY_REDIS_URL": self.redis.url,
            "GATEWAY_REDIS_EXPECTED_NODES": "2",
            "GATEWAY_CACHE_KEYS": f"live:{CACHE_KEY}",
            "GATEWAY_WEBHOOKS_ALLOW_HTTP": "true",
            "GATEWAY_WEBHOOKS_ALLOW_PRIVATE_ADDRESSES": "true",
            "GATEWAY_LOG_REQUESTS": "none",
        }

    def _clients(self) -> str:
        """Creates an API key and the clients file with its hash."""
        key, entry = create_key(self.gateway_program, PEPPER)
        client = {
            "name": "load",
            "apps": "*",
            "may": ["purge"],
            "keys": [entry],
            "limits": [{"name": "minute", "quota": 600000, "window": "60s"}],
            "webhooks": [{"name": "events", "url": self.receiver.url, "apps": [APP], "secrets": [WEBHOOK_KEY]}],
        }
        self.client = client
        self.write_clients(client)
        return key

    def write_clients(self, client: dict, *apps: dict) -> None:
        """Replaces the clients file, with more apps. The nodes reload it by themselves."""
        known = {"bundle_id": APP, "receipt_upstream": "server_api"}
        self.write("clients.yaml", yaml.safe_dump({"clients": [client], "apps": [known, *apps]}))

    def write(self, name: str, text: str) -> None:
        """Replaces a file atomically."""
        (self.folder / "next").write_text(text)
        (self.folder / "next").replace(self.folder / name)

    # Apple

    def _receipts(self) -> None:
        folder = self.folder / "receipts"
        subprocess.run(
            [self.loadtest_program, "corpus", "--out", folder, "--count", "600"], check=True, capture_output=True
        )
        index = json.loads((folder / "index.json").read_text())

        def texts(wanted) -> list[str]:
            return ["".join((folder / item["file"]).read_text().split()) for item in index if item["evidence"] == "receipt" and wanted(item)]

        # Clients send the second half only for the fault that needs unknown receipts.
        genuine = texts(lambda item: item["file"].startswith("genuine-"))
        self.genuine, self.unknown = genuine[:300], genuine[300:]
        self.forged = texts(lambda item: item["reason"] == "signature_invalid")
        self.strange = texts(lambda item: item["reason"] == "anchor_untrusted")

    def _apple(self) -> None:
        program, self.apple = start_apple(self.loadtest_program, self.folder / "receipts", self.folder)
        self.programs.append(program)
        self.play(QUIET)

    def play(self, scenario: dict) -> None:
        """Loads a scenario into the simulator."""
        url = self.apple["production"].replace("/verifyReceipt", "/scenario")
        status, body = fetch(url, yaml.safe_dump(scenario).encode(), "PUT")
        if status // 100 != 2:
            raise RuntimeError(f"the simulator rejects this scenario: {status} {body.decode()}")

    @contextmanager
    def notifications(self, app: str = APP):
        """Posts new notifications of an app, three a second."""
        http, _ = self.ports["gateway-1"]
        options = ["-R", "3", "-d", "10m", "--notifications", "1200", "--mix", "notification=1", "--bundle-id", app]
        command = [self.loadtest_program, "http", f"http://127.0.0.1:{http}", *options]
        program = Program("notifications", [*command, "--corpus", self.folder / "receipts"], self.folder)
        try:
            yield
        finally:
            program.stop()

    # Prometheus

    def _prometheus(self, rules: Path) -> None:
        self.targets = self.folder / "targets.json"
        self.scrape(self.nodes)
        configuration = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "900ms", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "scrape_configs": [
                {"job_name": JOB, "file_sd_configs": [{"files": [str(self.targets)], "refresh_interval": "1s"}]}
            ],
        }
        (self.folder / "prometheus.yaml").write_text(yaml.safe_dump(configuration))
        port = free_port()
        self.prometheus = f"http://127.0.0.1:{port}"
        program = Program(
            "prometheus",
            [
                shutil.which("prometheus"),
                f"--config.file={self.folder / 'prometheus.yaml'}",
                "--log.level=warn",
                f"--storage.tsdb.path={self.folder / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            self.folder,
        )
        self.programs.append(program)
        program.expect("is ready", lambda: fetch(f"{self.prometheus}/-/ready")[0] == 200)
        program.expect("has scraped both gateways", lambda: len(self.query("up == 1")) == 2)

    @property
    def nodes(self) -> list[str]:
        """The targets of Prometheus, unless a fault adds more."""
        return [f"127.0.0.1:{admin}" for _, admin in self.ports.values()]

    def scrape(self, targets: list[str], *releases: dict[str, str]) -> None:
        """Replaces the targets of Prometheus: once for each release, with its labels."""
        self.targets.write_text(json.dumps([{"targets": targets, "labels": labels} for labels in releases or [{}]]))

    def query(self, expression: str) -> list[dict]:
        status, body = fetch(f"{self.prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        answer = json.loads(body or b"{}")
        if status != 200:
            raise RuntimeError(f"Prometheus: {answer.get('error', status)}")
        found = answer["data"]
        return found["result"] if found["resultType"] == "vector" else [{"metric": {}, "value": found["result"]}]

    def alerting(self) -> set[tuple[str, str]]:
        """Returns the pending and firing alerts with their severities."""
        _, body = fetch(f"{self.prometheus}/api/v1/alerts")
        alerts = json.loads(body)["data"]["alerts"]
        return {(alert["labels"]["alertname"], alert["labels"]["severity"]) for alert in alerts}
