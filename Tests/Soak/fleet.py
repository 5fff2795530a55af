# SPDX-License-Identifier: Apache-2.0
"""The fleet of a soak: three nodes, each with a clock and a network of its own, Redis behind sentinels, and a receiver."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import ClassVar

from drill.processes import Program, fetch
from sentinels import Sentinels
from stage import SECONDS, WEBHOOK_KEY, Node, Stage, library, replace
from wire import Wire

# The most that the limited client may send: so many at once, and so many in an hour.
QUOTA = 60
# Seconds that a client waits for an answer, and at the end for an erasure, which reads all logs.
PATIENCE, LAST_PATIENCE = 20, 120

# The certificates of the nodes change: checks of certificates are not what a soak is about.
urllib.request.install_opener(
    urllib.request.build_opener(urllib.request.HTTPSHandler(context=ssl._create_unverified_context()))
)


class Fleet(Stage):
    # With `always`, nothing that Redis acknowledged is lost, also if it is killed.
    persistence = ("--save", "", "--appendonly", "yes", "--appendfsync", "always")
    # A third of them are what a soak needs.
    customers = 1200
    limit: ClassVar = {"name": "hour", "quota": QUOTA, "window": "1h", "lease": "never", "when_store_fails": "closed"}

    def __init__(self, gateway: Path, loadtest: Path, folder: Path):
        super().__init__(loadtest, folder)
        command = [loadtest, "receiver", "--endpoint", "orders", "--key", WEBHOOK_KEY]
        self.receiver = Program("receiver", command, folder, {**os.environ, **self.clock})

        def urls() -> dict[str, str]:
            return dict(re.findall(r"^(orders|control) (\S+)", self.receiver.log.read_text(), re.M))

        # The first arrival of each body at this program's endpoints.
        self.arrivals: dict[bytes, float] = {}
        self.web.answer = self._arrive
        self.receiver.expect("prints its addresses", lambda: len(urls()) == 2, SECONDS)
        self.orders, self.control = urls()["orders"].replace("127.0.0.1", "orders0.soak.test"), urls()["control"]
        self.names = folder / "names"
        self.names.write_text("0")
        preloaded = f"{self.clock['LD_PRELOAD']}:{library(Path(__file__).with_name('SlowNames.c'), folder)}"
        self.of_nodes = {"LD_PRELOAD": preloaded, "SLOW_NAMES": str(self.names)}
        self.certificate = folder / "certificate.pem"
        self.certify()
        self.write_clients(gateway)
        # A full disk sends no signal.
        program = folder / "gateway.sh"
        program.write_text(f"#!/bin/sh\ntrap '' XFSZ\nexec '{gateway}' \"$@\"\n")
        program.chmod(0o755)
        self.nodes = [SoakNode(self, program, f"node-{number}") for number in (1, 2, 3)]

    def start_redis(self) -> Sentinels:
        return Sentinels(self.folder, self.clock, self.persistence)

    def _arrive(self, endpoint: str, body: bytes) -> int:
        self.arrivals.setdefault(body, time.monotonic())
        return self.web.accept(endpoint, body)

    def rename_receiver(self) -> None:
        """Gives the receiver another name, which nodes do not know from before."""
        file, known = self.folder / "clients.yaml", re.search(r"orders(\d+)\.soak", self.orders)
        self.orders = self.orders.replace(known[0], f"orders{int(known[1]) + 1}.soak")
        replace(file, re.sub(r"http://orders\d+\.soak[^\"]*", self.orders, file.read_text()))

    def certify(self) -> str:
        """Replaces the key and the certificate of all nodes, one after the other, and returns the certificate."""
        key, subject = self.certificate.with_suffix(".key"), ["-subj", "/CN=soak", "-addext", "subjectAltName=IP:127.0.0.1"]
        made = [path.with_suffix(path.suffix + ".new") for path in (key, self.certificate)]
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650"]
        command = ["openssl", "req", "-x509", *curve, *subject, "-keyout", made[0], "-out", made[1]]
        subprocess.run(command, check=True, capture_output=True)
        made[0].replace(key)
        made[1].replace(self.certificate)
        return self.certificate.read_text()

    def advance(self, seconds: int) -> None:
        super().advance(seconds)
        for node in self.nodes:
            node.set_clock()

    def settings(self) -> dict[str, str]:
        changed = {
            "GATEWAY_APPLE_SOFT_TIMEOUT": None,
            "GATEWAY_APPLE_BREAKER": None,
            "GATEWAY_REDIS_DEADLINE": None,
            "GATEWAY_REDIS_EXPECTED_NODES": "3",
            # A failover then loses no notification that Apple has seen accepted.
            "GATEWAY_NOTIFICATIONS_REPLICAS": "1",
            "GATEWAY_SHUTDOWN_GRACE": "5s",
            "GATEWAY_LOG_REQUESTS": "none",
            # Soon full, so that memory that grows is no cache.
            "GATEWAY_CACHE_NEAR_SIZE": "8MiB",
            "GATEWAY_CACHE_SIGNED_ITEMS_SIZE": "4MiB",
            "GATEWAY_CACHE_APPLE_SIZE": "8MiB",
            "GATEWAY_HTTP_TLS_CERTIFICATE_FILE": str(self.certificate),
            "GATEWAY_HTTP_TLS_KEY_FILE": str(self.certificate.with_suffix(".key")),
        }
        return {name: value for name, value in {**super().settings(), **changed}.items() if value is not None}

    def webhooks(self) -> list[dict]:
        crm, warehouse = super().webhooks()
        return [crm, {"name": "orders", "url": self.orders, "secrets": [WEBHOOK_KEY]}, warehouse]

    def receive(self, fault: object) -> None:
        """Sets how the receiver answers."""
        fetch(self.control + "/control", json.dumps({"endpoint": "orders", "fault": fault}).encode(), "PUT")

    def received(self) -> dict:
        return json.loads(fetch(self.control + "/stats")[1])["orders"]


class SoakNode(Node):
    def __init__(self, fleet: Fleet, gateway: Path, name: str):
        super().__init__(fleet, gateway, name)
        self.wire, self.skew = Wire(fleet.redis), 0
        self.step = fleet.folder / f"{name}.step"
        # True while a fault may have ended the process.
        self.is_down = True
        self.patience = PATIENCE

    def set_clock(self, skew: int | None = None) -> None:
        self.skew = self.skew if skew is None else skew
        replace(self.step, str(int(self.stage.step.read_text()) + self.skew))

    def start(self, **settings: str) -> None:
        self.set_clock()
        own = {"GATEWAY_REDIS_URL": self.wire.url, "WALL_CLOCK_STEP": str(self.step), **self.stage.of_nodes}
        super().start(**own, **settings)
        self.url = self.url.replace("http:", "https:")
        self.is_down = False

    def limit_files(self, size: int) -> None:
        """Sets the size of files beyond which the node cannot write, as on a full disk."""
        resource.prlimit(self.process.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def presented(self) -> str:
        """Returns the certificate of new connections."""
        return ssl.get_server_certificate(("127.0.0.1", int(self.url.rsplit(":", 1)[1])), timeout=PATIENCE)

    def ask(
        self, method: str, path: str, body: object = None, key: str | None = None, **headers: str
    ) -> tuple[int, dict]:
        """Returns status and JSON; status 0 without an answer."""
        request = self.made(method, path, body, key, headers)
        try:
            with urllib.request.urlopen(request, timeout=self.patience) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")
        # ValueError: half an answer of a node that was killed.
        except (OSError, ValueError, http.client.HTTPException) as error:
            return 0, {"error": repr(error)}
