# SPDX-License-Identifier: Apache-2.0
"""The example clients against real gateways: healthy, full, limited, frozen, gone, and without Apple."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import signed_transactions
from drill.processes import Program, create_key, fetch, free_port, start_apple, wait_until
from report import Report
from shell import REPOSITORY, SECONDS

CLIENTS = REPOSITORY / "docs" / "clients"
PEPPER = "for-checks-only-0123456789"
DAY = 24 * 3600 * 1000
# Body bytes that a full gateway takes, and how many of them callers hold that never end their request.
ROOM, HELD = 256 << 10, 4000


def run(report: Report, gateway: Path, loadtest: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        stage = Stage(gateway, loadtest, Path(name))
        try:
            # Mostly they wait; each language for itself.
            with ThreadPoolExecutor() as threads:
                list(threads.map(lambda pair: _play(report, stage, *pair), stage.commands().items()))
        finally:
            Program.stop_all()


def _play(report: Report, stage: Stage, language: str, command: list) -> None:
    for scene in SCENES:
        title = f"the example client in {language}: {scene.__doc__}"
        report.check(title, lambda scene=scene: scene(Customer(stage, command)))


def compiled(name: str, folder: Path) -> Path:
    """Compiles an example in Swift, which may import OpenSSL."""
    program, source = folder / name, CLIENTS / "swift" / f"{name}.swift"
    options = ["-swift-version", "6", "-warnings-as-errors", "-parse-as-library", "-I", REPOSITORY / "Sources" / "COpenSSL"]
    subprocess.run(["swiftc", *options, source, "-o", program], check=True)
    return program


@dataclass(frozen=True)
class Gateway:
    """One that runs."""

    port: int
    admin: int
    program: Program

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def refusals(self) -> float:
        """How many requests found no room for their body."""
        return self.metric('receipt_gateway_http_refusals_total{cause="overloaded"}')

    def metric(self, series: str) -> float:
        text = fetch(f"http://127.0.0.1:{self.admin}/metrics")[1].decode()
        return float(re.search(rf"^{re.escape(series)} (\S+)$", text, re.M)[1])


class Stage:
    """Receipts, a simulated Apple, and gateways as they are asked for."""

    def __init__(self, gateway: Path, loadtest: Path, folder: Path):
        self.gateway, self.folder, self.numbers = gateway, folder, itertools.count(1)
        self.receipts = folder / "receipts"
        subprocess.run([loadtest, "corpus", "--out", self.receipts, "--count", "5"], check=True, capture_output=True)
        self.index = json.loads((self.receipts / "index.json").read_text())
        signer = signed_transactions.Signer(folder / "signer")
        self.roots = f"{self.receipts / 'root.pem'},{signer.root}"
        self.write(signed_transactions.evidence(signer))
        scenario = REPOSITORY / "loadtest" / "scenarios" / "quiet.yaml"
        options = ["--scenario", scenario]
        self.simulator, self.apple = start_apple(loadtest, self.receipts, folder, *options, seconds=SECONDS)

    def write(self, evidence: dict) -> None:
        """What apps with StoreKit 2 send, beside the receipts: genuine, forged, and nothing of use."""
        (transaction,) = evidence["signed_transactions"]
        # The signature of something else.
        forged = ".".join(transaction.split(".")[:2] + evidence["app_transaction"].split(".")[2:])
        bodies = {
            "storekit-2.json": json.dumps(evidence),
            "storekit-2.jws": transaction,
            "storekit-2-forged.json": json.dumps({**evidence, "signed_transactions": [forged]}),
            "storekit-2-empty.json": json.dumps({**evidence, "signed_transactions": []}),
            "no-list.json": json.dumps({"signed_transactions": "all of them"}),
            "no-base64.b64": "no base64!",
            "nothing.json": "{}",
            "broken.json": "{",
        }
        for name, body in bodies.items():
            (self.receipts / name).write_text(body)

    def app(self, receipt: str) -> str:
        """The app of what is sent."""
        if receipt.startswith("storekit-2"):
            return signed_transactions.BUNDLE
        return next((row["bundle_id"] for row in self.index if row["file"] == receipt), None) or "com.example.any"

    def commands(self) -> dict[str, list]:
        return {
            "Python": [shutil.which("python3"), CLIENTS / "python" / "receipt_client.py"],
            "Node": [shutil.which("node"), CLIENTS / "node" / "receipt-client.mjs"],
            "Swift": [compiled("ReceiptClient", self.folder)],
        }

    @contextmanager
    def running(self, **settings: str) -> Iterator[Gateway]:
        http, admin = free_port(), free_port()
        environment = {
            "PATH": os.environ["PATH"],
            "GATEWAY_HTTP_PORT": str(http),
            "GATEWAY_ADMIN_PORT": str(admin),
            "GATEWAY_SHUTDOWN_DRAIN_DELAY": "0s",
            "GATEWAY_SHUTDOWN_GRACE": "1s",
            # Apple's simulator may be slow on a busy machine, and is waited for.
            "GATEWAY_APPLE_DEADLINE": "30s",
            "GATEWAY_APPLE_SOFT_TIMEOUT": "30s",
            "GATEWAY_TRUST_ROOTS": self.roots,
            "GATEWAY_APPLE_PRODUCTION_URL": self.apple["production"],
            "GATEWAY_APPLE_SANDBOX_URL": self.apple["sandbox"],
            "GATEWAY_APPLE_SHARED_SECRET": "0123456789abcdef0123456789abcdef",
            **settings,
        }
        program = Program(f"gateway-{next(self.numbers)}", [self.gateway, "serve"], self.folder, environment)
        try:
            program.expect("is ready", lambda: fetch(f"http://127.0.0.1:{admin}/readyz")[0] == 200, SECONDS)
            yield Gateway(http, admin, program)
        finally:
            program.stop()

    def limits(self, quota: int, window: str) -> tuple[str, dict[str, str]]:
        """A key, and settings under which its client may ask so often."""
        key, entry = create_key(self.gateway, PEPPER)
        limit = {"name": "few", "quota": quota, "window": window, "burst": 1}
        client = {"name": "shop", "apps": "*", "keys": [entry], "limits": [limit]}
        file = self.folder / f"{entry['id']}.yaml"
        file.write_text(json.dumps({"clients": [client]}))
        return key, {"GATEWAY_CLIENTS_FILE": str(file), "GATEWAY_API_KEY_PEPPER": PEPPER}


class Customer:
    """One customer of a backend that uses a client."""

    def __init__(self, stage: Stage, command: list):
        self.stage, self.command = stage, command
        self.row = Path(tempfile.mkdtemp(dir=stage.folder)) / "known.json"

    def knows(self, until_ms: int | None) -> Customer:
        self.row.write_text(json.dumps({"product": "known.product", "until_ms": until_ms}))
        return self

    def comes(
        self, url: str, receipt: str = "genuine-1.b64", key: str = "", mode: str = "auto", deadline: float = 30,
        app: str = "",
    ) -> str:
        """What the client says of the customer who sends this receipt."""
        environment = {
            "PATH": os.environ["PATH"],
            "RECEIPTS_URL": url,
            "RECEIPTS_KEY": key,
            "RECEIPTS_BUNDLE_ID": app or self.stage.app(receipt),
            "RECEIPTS_MODE": mode,
            "RECEIPTS_DEADLINE": str(deadline),
        }
        command = [str(word) for word in [*self.command, self.stage.receipts / receipt, self.row]]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)
        assert found.returncode in (0, 1), f"{found}"
        return found.stdout.strip()

    def expect(self, said: str, pattern: str) -> None:
        assert re.fullmatch(pattern, said), f"said `{said}`, not `{pattern}`"


# What happens


def paid(customer: Customer) -> None:
    """who paid is served, on Apple's word, and remembered"""
    with customer.stage.running() as gateway:
        customer.expect(customer.comes(gateway.url), r"serve – \S+\.monthly \(apple\)")
    assert json.loads(customer.row.read_text())["until_ms"] > time.time() * 1000


def forged(customer: Customer) -> None:
    """a forged receipt is refused, and takes nothing away"""
    with customer.stage.running() as gateway:
        said = customer.knows(None).comes(gateway.url, "fault-payload-bit-flipped.b64")
        customer.expect(said, "refuse – rejected, signature_invalid")
    assert json.loads(customer.row.read_text())["product"] == "known.product"


def of_another_app(customer: Customer) -> None:
    """genuine evidence of another app is refused, and takes nothing away"""
    with customer.stage.running() as gateway:
        for sent in ("genuine-1.b64", "storekit-2.json"):
            said = customer.knows(None).comes(gateway.url, sent, app="com.example.other")
            customer.expect(said, "refuse – rejected, bundle_id_mismatch")
    assert json.loads(customer.row.read_text())["product"] == "known.product"


def over(customer: Customer) -> None:
    """a subscription that is over is refused while the answer is not degraded"""
    with customer.stage.running(GATEWAY_APPLE_ENABLED="false") as gateway:
        customer.expect(customer.comes(gateway.url), r"refuse – nothing bought \(local\)")


def signed(customer: Customer) -> None:
    """signed transactions are answered from what they say, together or one alone"""
    product = re.escape(signed_transactions.PRODUCT)
    with customer.stage.running() as gateway:
        for sent in ("storekit-2.json", "storekit-2.jws"):
            customer.expect(customer.comes(gateway.url, sent), rf"serve – {product} \(local\)")
        customer.expect(customer.comes(gateway.url, "storekit-2-empty.json"), r"refuse – nothing bought \(local\)")
        said = customer.knows(None).comes(gateway.url, "storekit-2-forged.json")
        customer.expect(said, "refuse – rejected, signature_invalid")
    assert json.loads(customer.row.read_text())["product"] == "known.product"


def garbled(customer: Customer) -> None:
    """evidence that cannot be read is a fault of the app's, and no reason to serve"""
    with customer.stage.running() as gateway:
        for sent in ("no-base64.b64", "no-list.json", "nothing.json", "broken.json"):
            customer.expect(customer.comes(gateway.url, sent), r"refuse – (rejected, \w+|no evidence)")


def undecided(customer: Customer) -> None:
    """undecided: a known customer keeps access, a new one gets it for a while"""
    with customer.stage.running(GATEWAY_APPLE_ENABLED="false") as gateway:
        why = r"undecided, upstream_not_configured"
        customer.expect(customer.comes(gateway.url, mode="apple"), rf"serve – provisional \({why}\)")
        said = customer.knows(int(time.time() * 1000)).comes(gateway.url, mode="apple")
        customer.expect(said, rf"serve – known.product, as last known \({why}\)")
        said = customer.knows(int(time.time() * 1000) - 2 * DAY).comes(gateway.url, mode="apple")
        customer.expect(said, rf"refuse – known.product, as last known \({why}\)")


def throttled_for_a_moment(customer: Customer) -> None:
    """429 with a short Retry-After is waited for"""
    key, settings = customer.stage.limits(1, "2s")
    with customer.stage.running(**settings) as gateway:
        customer.comes(gateway.url, key=key)
        customer.expect(customer.comes(gateway.url, key=key), r"serve – \S+ \(apple\)")


def throttled_for_long(customer: Customer) -> None:
    """429 with a long Retry-After is not waited for, and costs the customer nothing"""
    key, settings = customer.stage.limits(1, "1d")
    with customer.stage.running(**settings) as gateway:
        customer.comes(gateway.url, key=key)
        said = customer.knows(None).comes(gateway.url, key=key)
        customer.expect(said, r"serve – known.product, as last known \(429 quota_exceeded\)")


def full(customer: Customer) -> None:
    """503 with Retry-After is asked again, and answered once there is room"""
    room = {"GATEWAY_HTTP_LIMITS_BODY": str(ROOM), "GATEWAY_HTTP_LIMITS_BODIES_IN_FLIGHT": str(ROOM)}
    with customer.stage.running(GATEWAY_HTTP_DEADLINES_REQUEST="10m", **room) as gateway:
        held = _fill(gateway)
        said = customer.knows(None).comes(gateway.url)
        customer.expect(said, r"serve – known.product, as last known \(503 overloaded\)")
        release = threading.Thread(target=_release_once_refused, args=(gateway, held, gateway.refusals()))
        release.start()
        said = customer.comes(gateway.url)
        release.join()
        customer.expect(said, r"serve – \S+ \(apple\)")


def frozen(customer: Customer) -> None:
    """a gateway that says nothing is given up in time"""
    with customer.stage.running() as gateway:
        with gateway.program.frozen():
            said = customer.knows(None).comes(gateway.url, deadline=2)
            customer.expect(said, r"serve – known.product, as last known \(.+\)")


def gone(customer: Customer) -> None:
    """without a server, a new customer is served for a while"""
    customer.expect(customer.comes(f"http://127.0.0.1:{free_port()}", deadline=1), r"serve – provisional \(.+\)")


def strangers(customer: Customer) -> None:
    """a wrong key is not tried again, and is no reason to turn customers away"""
    _, settings = customer.stage.limits(1, "1d")
    with customer.stage.running(**settings) as gateway:
        said = customer.knows(None).comes(gateway.url, key="wrong")
        customer.expect(said, r"serve – known.product, as last known \(401 unauthenticated: .+\)")


SCENES = [
    *(paid, forged, of_another_app, over, signed, garbled, undecided),
    *(throttled_for_a_moment, throttled_for_long, full, frozen, gone, strangers),
]


def _fill(gateway: Gateway) -> list[socket.socket]:
    """Callers that send all of a body but its last octet, until there is room for no receipt."""
    held = []
    fields = ["Host: localhost", "Content-Type: application/json", f"Content-Length: {HELD + 1}"]
    head = "\r\n".join(["POST /v1/verify HTTP/1.1", *fields, "", ""])
    for _ in range(ROOM // HELD):
        caller = socket.create_connection(("127.0.0.1", gateway.port))
        caller.sendall(head.encode() + b" " * HELD)
        held.append(caller)
    taken = "receipt_gateway_http_bodies_in_flight_bytes"
    wait_until("the gateway is full", lambda: gateway.metric(taken) == len(held) * HELD, SECONDS)
    return held


def _release_once_refused(gateway: Gateway, held: list[socket.socket], refusals: int) -> None:
    try:
        wait_until("refuses the customer", lambda: gateway.refusals() > refusals, SECONDS, pause=0.05)
    finally:
        for caller in held:
            caller.close()
