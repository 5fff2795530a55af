# SPDX-License-Identifier: Apache-2.0
"""The example checks of signed answers: genuine answers of a real gateway, and what a proxy might put in their place."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from clients import CLIENTS, Gateway, Stage, compiled
from drill.processes import Program, fetch
from report import Report
from shell import SECONDS

RECEIPT, OTHER, NONCE = "genuine-1.b64", "genuine-2.b64", "AAECAwQFBgcICQoL"


def run(report: Report, gateway: Path, loadtest: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        stage = Stage(gateway, loadtest, Path(name))
        try:
            for language, command in _commands(stage).items():
                title = f"the check of signed answers in {language} trusts genuine answers, and nothing else"
                report.check(title, lambda command=command: _checks(stage, command))
        finally:
            Program.stop_all()


def _commands(stage: Stage) -> dict[str, list]:
    python = [shutil.which("python3"), CLIENTS / "python" / "signed_answer.py"]
    return {"Python": python, "Swift": [compiled("SignedAnswer", stage.folder)]}


@dataclass
class Key:
    """A key of the gateway, which this test has too."""

    private: ec.EllipticCurvePrivateKey

    def write(self, path: Path) -> None:
        pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        path.write_bytes(self.private.private_bytes(*pem))

    def sign(self, header: dict, claims: dict) -> str:
        text = ".".join(_encoded(json.dumps(part).encode()) for part in (header, claims))
        r, s = decode_dss_signature(self.private.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{_encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def _checks(stage: Stage, command: list) -> None:
    folder = Path(tempfile.mkdtemp(dir=stage.folder))
    key = Key(ec.generate_private_key(ec.SECP256R1()))
    key.write(folder / "answers.pem")
    with stage.running(GATEWAY_SIGNED_ANSWERS_KEY_FILES=str(folder / "answers.pem")) as gateway:
        keys = _fetched(gateway, "/.well-known/jwks.json").decode()
        answers = [_signed(stage, gateway, RECEIPT), _signed(stage, gateway, RECEIPT)]
        with_nonce = _signed(stage, gateway, RECEIPT, {"Gateway-Nonce": NONCE})
        of_other = _signed(stage, gateway, OTHER)
    app = stage.app(RECEIPT)

    def check(key_set: str, bundle: str, receipt: str, *nonce: str) -> subprocess.CompletedProcess:
        words = [*command, folder / key_set, bundle, stage.receipts / receipt, folder / "answer.jws", *nonce]
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=SECONDS)

    def says(answer: str, *nonce: str, receipt: str = RECEIPT, bundle: str = app, trusted: str = keys) -> str:
        (folder / "jwks.json").write_text(trusted)
        (folder / "answer.jws").write_text(answer)
        found = check("jwks.json", bundle, receipt, *nonce)
        said = found.stdout.strip()
        assert found.returncode == (0 if said.startswith("trust – ") else 1), found
        return said

    def refuses(why: str, answer: str, *nonce: str, **changes: str) -> None:
        said = says(answer, *nonce, **changes)
        assert said == f"do not trust – {why}", f"said `{said}`, not `{why}`"

    for answer in [*answers, with_nonce]:
        assert says(answer).startswith("trust – genuine, "), says(answer)
    assert says(with_nonce, NONCE).startswith("trust – genuine, ")
    assert says(of_other, receipt=OTHER, bundle=stage.app(OTHER)).startswith("trust – genuine")
    refuses("it is an answer to another nonce", answers[0], NONCE)
    refuses("it is an answer to another nonce", with_nonce, NONCE[::-1])
    refuses("it is about another app", answers[0], bundle="com.example.other")
    refuses("it is about another request", answers[0], receipt=OTHER)
    unknown = "the key is unknown, or it is no signed answer"
    refuses(unknown, answers[0], trusted='{"keys": []}')
    # As a gateway without keys answers.
    (folder / "problem.json").write_text('{"status": 404}')
    for name, status, text in (("problem.json", 65, "is no key set"), ("missing.json", 66, "missing.json")):
        found = check(name, app, RECEIPT)
        assert found.returncode == status and text in found.stdout and not found.stderr, found

    header, claims = (json.loads(_decoded(part)) for part in answers[0].split(".")[:2])
    forged, genuine = "the signature is not genuine", key.sign(header, claims)
    assert says(genuine) == says(answers[0])
    payload = _encoded(json.dumps({**claims, "nonce": NONCE}).encode())
    parts = genuine.split(".")
    refuses(forged, ".".join([parts[0], payload, parts[2]]), NONCE)
    refuses(forged, ".".join([*parts[:2], _encoded(bytes(64))]))
    refuses(forged, ".".join([*parts[:2], parts[2][:-4]]))
    refuses(forged, Key(ec.generate_private_key(ec.SECP256R1())).sign(header, claims))
    for change in ({"alg": "none"}, {"alg": "HS256"}, {"typ": "JWT"}, {"crit": ["b64"], "b64": False}, {"kid": "x"}):
        refuses(unknown, key.sign({**header, **change}, claims))
    old, now = "it is an old answer, or a clock is wrong", int(time.time())
    refuses(old, key.sign(header, {**claims, "iat": now - 400, "exp": now - 100}))
    refuses(old, key.sign(header, {**claims, "iat": now + 100, "exp": now + 400}))
    refuses("it is about another app", key.sign(header, {**claims, "aud": None}))
    refuses("it is about another request", key.sign(header, {**claims, "request": {}}))
    for text in ("", "a.b", "a.b.c", "..", "a.b.c.d", json.dumps(claims["answer"])):
        refuses("it is no signed answer", text)


def _signed(stage: Stage, gateway: Gateway, receipt: str, fields: dict | None = None) -> str:
    text = (stage.receipts / receipt).read_text().strip()
    body = json.dumps({"receipt": text, "bundle_id": stage.app(receipt)}).encode()
    accepted = {"Content-Type": "application/json", "Accept": "application/jose", **(fields or {})}
    return _fetched(gateway, "/v1/verify", body, accepted).decode()


def _fetched(gateway: Gateway, path: str, body: bytes | None = None, fields: dict | None = None) -> bytes:
    status, content = fetch(gateway.url + path, body, seconds=SECONDS, headers=fields)
    assert status == 200, f"{path}: {status} {content}"
    return content


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
