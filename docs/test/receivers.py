# SPDX-License-Identifier: Apache-2.0
"""The example receivers of webhooks: genuine, forged, copied and repeated requests, rotation of keys, and crashes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import itertools
import json
import os
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import sample_events
from clients import CLIENTS, compiled
from drill.processes import Program, free_port
from report import Report
from shell import SECONDS

# A vector of the Standard Webhooks libraries: key, ID, timestamp, body, signature.
VECTOR = (
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    *("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'),
    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
)
LARGEST = 1 << 20


class HMACKey:
    """A key `whsec_…`, known to both sides."""

    def __init__(self, text: str = ""):
        self.text = self.public = text or "whsec_" + base64.b64encode(os.urandom(32)).decode()

    def sign(self, identifier: str, timestamp: int | str, body: bytes) -> str:
        key = base64.b64decode(self.text.removeprefix("whsec_"))
        made = hmac.digest(key, f"{identifier}.{timestamp}.".encode() + body, hashlib.sha256)
        return "v1," + base64.b64encode(made).decode()


class Ed25519Key:
    """A key pair, of which the receiver has `whpk_…`."""

    def __init__(self):
        self.private = Ed25519PrivateKey.generate()
        raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
        self.public = "whpk_" + base64.b64encode(self.private.public_key().public_bytes(*raw)).decode()

    def sign(self, identifier: str, timestamp: int | str, body: bytes) -> str:
        made = self.private.sign(f"{identifier}.{timestamp}.".encode() + body)
        return "v1a," + base64.b64encode(made).decode()


@dataclass
class Delivery:
    """One request of the gateway."""

    keys: list[HMACKey | Ed25519Key]
    event: dict = field(default_factory=sample_events.renewal)
    timestamp: int | str = field(default_factory=lambda: int(time.time()))

    @property
    def body(self) -> bytes:
        return json.dumps(self.event).encode()

    @property
    def headers(self) -> dict[str, str]:
        identifier = self.event["id"]
        return {
            "content-type": "application/json",
            "webhook-id": identifier,
            "webhook-timestamp": str(self.timestamp),
            "webhook-signature": " ".join(key.sign(identifier, self.timestamp, self.body) for key in self.keys),
        }


class Receiver:
    """One that runs, with a file of its own."""

    numbers = itertools.count(1)

    def __init__(self, command: list, folder: Path):
        self.command, self.folder = command, Path(tempfile.mkdtemp(dir=folder))
        self.file, self.port, self.runs = self.folder / "events", free_port(), 0

    def start(self, *keys: HMACKey | Ed25519Key) -> Receiver:
        environment = {
            "PATH": os.environ["PATH"],
            "WEBHOOK_KEYS": " ".join(key.public for key in keys),
            "WEBHOOK_PORT": str(self.port),
        }
        self.runs += 1
        self.program = Program(f"receiver-{self.runs}", [*self.command, self.file], self.folder, environment)
        self.program.expect("listens", lambda: "listening on port" in self.program.last_words(), SECONDS)
        return self

    def crash(self) -> Receiver:
        self.program.kill()
        return self

    def post(self, delivery: Delivery, body: bytes | None = None, **changed: str | None) -> int:
        """The status of the answer. Header fields that are None are left out."""
        headers = {**delivery.headers, **{name.replace("_", "-"): value for name, value in changed.items()}}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            body = delivery.body if body is None else body
            given = {name: value for name, value in headers.items() if value is not None}
            connection.request("POST", "/webhooks", body, given)
            return connection.getresponse().status
        finally:
            connection.close()

    def effects(self) -> list[str]:
        """What the receiver said of events that were new to it, in all its runs."""
        said = "".join(path.read_text() for path in sorted(self.folder.glob("*.log"))).splitlines()
        return [line for line in said if line.startswith("evt_") and not line.endswith("again: no effect")]

    def expect_effects(self, *lines: str) -> None:
        assert self.effects() == list(lines), f"{self.effects()}, not {lines}"


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as name:
        try:
            report.check("signatures of the tests are those of Standard Webhooks", _vector)
            with ThreadPoolExecutor() as threads:
                list(threads.map(lambda pair: _play(report, Path(name), *pair), _commands(Path(name)).items()))
        finally:
            Program.stop_all()


def _vector() -> None:
    key, identifier, timestamp, body, signature = VECTOR
    assert HMACKey(key).sign(identifier, timestamp, body) == signature


def _commands(folder: Path) -> dict[str, list]:
    return {
        "Python": [shutil.which("python3"), CLIENTS / "python" / "webhook_receiver.py"],
        "Node": [shutil.which("node"), CLIENTS / "node" / "webhook-receiver.mjs"],
        "Swift": [compiled("WebhookReceiver", folder)],
    }


def _play(report: Report, folder: Path, language: str, command: list) -> None:
    # Python's library has no Ed25519.
    for scene in SCENES + ([without_ed25519] if language == "Python" else [ed25519]):
        title = f"the example receiver in {language}: {scene.__doc__}"
        report.check(title, lambda scene=scene: scene(Receiver(command, folder)))


def genuine(receiver: Receiver) -> None:
    """a genuine event is stored, also with `gap` and characters beyond ASCII"""
    key = HMACKey()
    receiver.start(key)
    first, second = Delivery([key]), Delivery([key], {**sample_events.renewal(), "gap": True})
    first.event["data"]["product_id"] = "com.example.größe"
    assert receiver.post(first) == 204
    assert receiver.post(second) == 204
    # Signed as other bytes of the same JSON.
    third = sample_events.renewal()
    body = json.dumps(third, ensure_ascii=False, indent=1).encode()
    now = int(time.time())
    signature = key.sign(third["id"], now, body)
    assert receiver.post(Delivery([key], third, now), body, webhook_signature=signature) == 204
    receiver.expect_effects(
        f"{first.event['id']} subscription.renewed",
        f"{second.event['id']} subscription.renewed after a gap",
        f"{third['id']} subscription.renewed",
    )


def forged(receiver: Receiver) -> None:
    """a request is refused if its signature is wrong or missing, or is one of other bytes"""
    key = HMACKey()
    receiver.start(key)
    good = Delivery([key])
    value = good.headers["webhook-signature"]
    flipped = value[:10] + ("A" if value[10] != "A" else "B") + value[11:]
    signatures = ["", "v1", "v1,", "v1,AAAA", "v1,no base64!", flipped, value[:-4], value + "AAAA", value[3:]]
    signatures += [value.replace("v1,", "v1a,"), value.replace("v1,", "v2,"), "v1,größe".encode().decode("latin-1")]
    signatures += [HMACKey().sign(good.event["id"], good.timestamp, good.body), None]
    for signature in signatures:
        assert receiver.post(good, webhook_signature=signature) == 401, signature
    assert receiver.post(good, good.body + b" ") == 401
    assert receiver.post(good, webhook_id="evt_" + "x" * 32) == 401
    assert receiver.post(good, webhook_id=None) == 401
    assert receiver.post(good, webhook_timestamp=str(good.timestamp - 1)) == 401
    receiver.expect_effects()
    assert receiver.post(good) == 204
    receiver.expect_effects(f"{good.event['id']} subscription.renewed")


def copied(receiver: Receiver) -> None:
    """a request of more than five minutes ago or ahead is refused"""
    key = HMACKey()
    receiver.start(key)
    now = int(time.time())
    for timestamp in (now - 330, now + 330, 0, "", "-1", "1e9", f"{now}.0", " ", "9" * 30):
        assert receiver.post(Delivery([key], timestamp=timestamp)) == 401, timestamp
    receiver.expect_effects()
    late, early = Delivery([key], timestamp=now - 270), Delivery([key], timestamp=now + 270)
    assert receiver.post(late) == receiver.post(early) == 204
    receiver.expect_effects(*(f"{one.event['id']} subscription.renewed" for one in (late, early)))


def repeated(receiver: Receiver) -> None:
    """a repeated event is answered and has no effect: later, at the same time, and after a crash"""
    key = HMACKey()
    receiver.start(key)
    first, second = Delivery([key]), Delivery([key])
    assert [receiver.post(first) for _ in range(2)] == [204, 204]
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: receiver.post(second), range(8))) == {204}
    receiver.crash().start(key)
    # A later attempt has another time, and so another signature.
    assert receiver.post(Delivery([key], first.event, first.timestamp + 1)) == 204
    receiver.expect_effects(*(f"{one.event['id']} subscription.renewed" for one in (first, second)))


def cut_off(receiver: Receiver) -> None:
    """a crash while an event is written does not harm the others"""
    key = HMACKey()
    receiver.start(key)
    first, second, third = (Delivery([key]) for _ in range(3))
    assert receiver.post(first) == 204
    receiver.crash()
    if receiver.file.read_bytes().startswith(b"{"):
        with receiver.file.open("ab") as file:
            file.write(f'{{"id":"{second.event["id"]}"'.encode())
    receiver.start(key)
    assert [receiver.post(one) for one in (first, second, third)] == [204] * 3
    receiver.crash().start(key)
    assert [receiver.post(one) for one in (first, second, third)] == [204] * 3
    receiver.expect_effects(*(f"{one.event['id']} subscription.renewed" for one in (first, second, third)))


def rotated(receiver: Receiver) -> None:
    """during a rotation one of two signatures is enough, and so is one of two keys"""
    old, new = HMACKey(), HMACKey()
    deliveries = [Delivery([new, old]), Delivery([new]), Delivery([old]), Delivery([old, new]), Delivery([old])]
    receiver.start(old)
    assert receiver.post(deliveries[0]) == 204
    assert receiver.post(deliveries[1]) == 401
    receiver.crash().start(old, new)
    assert receiver.post(deliveries[1]) == receiver.post(deliveries[2]) == 204
    receiver.crash().start(new)
    assert receiver.post(deliveries[3]) == 204
    assert receiver.post(deliveries[4]) == 401
    receiver.expect_effects(*(f"{one.event['id']} subscription.renewed" for one in deliveries[:4]))


def unreadable(receiver: Receiver) -> None:
    """a body that is too large or no JSON is refused, and the next one is taken"""
    key = HMACKey()
    receiver.start(key)
    good = Delivery([key])
    now, identifier = int(time.time()), good.event["id"]
    for body in (b"", b"{", b"\xff\xff", b"[]", b"{}", b"null", b"7"):
        signature = key.sign(identifier, now, body)
        assert receiver.post(Delivery([key], good.event, now), body, webhook_signature=signature) == 400, body[:8]
    try:
        assert receiver.post(good, b" " * (LARGEST + 1)) == 413
    except ConnectionError:
        # The answer came before all of the body was sent, and may get lost.
        pass
    assert receiver.post(good) == 204
    receiver.expect_effects(f"{identifier} subscription.renewed")


def ed25519(receiver: Receiver) -> None:
    """signatures by Ed25519 are checked, alone and beside HMAC"""
    pair, other, key = Ed25519Key(), Ed25519Key(), HMACKey()
    receiver.start(pair)
    deliveries = [Delivery([pair]), Delivery([key, other, pair])]
    assert [receiver.post(one) for one in deliveries] == [204, 204]
    wrong = Delivery([pair])
    signature = wrong.headers["webhook-signature"]
    # The public key is no secret: an HMAC by it proves nothing.
    confused = HMACKey(pair.public.replace("whpk_", "whsec_")).sign(wrong.event["id"], wrong.timestamp, wrong.body)
    changed = [signature[:-8] + "AAAAAA==", signature[:20], signature.replace("v1a,", "v1,"), confused, "v1a,"]
    changed += [confused.replace("v1,", "v1a,"), other.sign(wrong.event["id"], wrong.timestamp, wrong.body)]
    for value in changed:
        assert receiver.post(wrong, webhook_signature=value) == 401, value
    assert receiver.post(wrong, wrong.body + b" ") == 401
    receiver.crash().start(key, pair)
    deliveries += [Delivery([key]), Delivery([pair])]
    assert [receiver.post(one) for one in deliveries[2:]] == [204, 204]
    receiver.expect_effects(*(f"{one.event['id']} subscription.renewed" for one in deliveries))


def without_ed25519(receiver: Receiver) -> None:
    """signatures by Ed25519 are passed over"""
    pair, key = Ed25519Key(), HMACKey()
    receiver.start(key)
    both = Delivery([pair, key])
    assert receiver.post(Delivery([pair])) == 401
    assert receiver.post(both) == 204
    receiver.expect_effects(f"{both.event['id']} subscription.renewed")


SCENES = [genuine, forged, copied, repeated, cut_off, rotated, unreadable]
