# SPDX-License-Identifier: Apache-2.0
"""The check of a signed answer (docs/signed-answers.md). Python 3.9 or later, with the package `cryptography` (Debian:
python3-cryptography).

    python3 signed_answer.py JWKS.json BUNDLE_ID RECEIPT.b64 ANSWER.jws [NONCE]

prints whether to trust an answer about this receipt of this app, what it says, or why not. JWKS.json has the keys that the
program was shipped with; a key set that came with the answer proves nothing. Take `trusted_answer` into your program.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import time
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

# How far the clocks of the gateway and of this device may disagree.
SKEW_SECONDS = 60


class Untrusted(Exception):
    """Not an answer of the gateway to this request, or an old one."""


def trusted_answer(jws: str, keys: dict, app: str, request: dict, nonce: str | None = None) -> dict:
    """The answer, as without a signature.

    `request` has what the request had, each value as `digest` makes it: `{"receipt": digest(receipt)}`, or
    `{"signed_transactions": [digest(jws), …]}`, and `account` if your backend sends one.
    """
    try:
        header, payload, signature = (_decoded(part) for part in jws.split("."))
        header, claims = json.loads(header), json.loads(payload)
        key = next((key for key in keys["keys"] if key["kid"] == header["kid"]), None)
        # The algorithm and the key come from here, not from the answer.
        if key is None or header != {"alg": "ES256", "kid": key["kid"], "typ": "answer+jwt"}:
            raise Untrusted("the key is unknown, or it is no signed answer")
        if len(signature) != 64:
            raise Untrusted("the signature is not genuine")
        half = [int.from_bytes(part, "big") for part in (signature[:32], signature[32:])]
        signed = jws.rpartition(".")[0].encode()
        _public_key(key).verify(encode_dss_signature(*half), signed, ec.ECDSA(hashes.SHA256()))
        issued, end, answer = claims["iat"], claims["exp"], claims["answer"]
    except InvalidSignature:
        raise Untrusted("the signature is not genuine") from None
    except (ValueError, TypeError, KeyError):
        raise Untrusted("it is no signed answer") from None
    if not issued - SKEW_SECONDS <= time.time() < end + SKEW_SECONDS:
        raise Untrusted("it is an old answer, or a clock is wrong")
    if claims.get("aud") != app:
        raise Untrusted("it is about another app")
    if claims.get("request") != request:
        raise Untrusted("it is about another request")
    # Only an answer with this program's nonce was made after the request.
    if nonce is not None and claims.get("nonce") != nonce:
        raise Untrusted("it is an answer to another nonce")
    return answer


def digest(value: bytes | str) -> str:
    """SHA-256 in base64url: of a receipt's bytes, of the text of a JWS, of an account."""
    sent = value.encode() if isinstance(value, str) else value
    return base64.urlsafe_b64encode(hashlib.sha256(sent).digest()).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _public_key(key: dict) -> ec.EllipticCurvePublicKey:
    x, y = (int.from_bytes(_decoded(key[name]), "big") for name in ("x", "y"))
    return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()


def main() -> int:
    if len(sys.argv) not in (5, 6):
        print(__doc__, file=sys.stderr)
        return 64
    _, key_set, app, receipt, jws, *nonce = sys.argv
    try:
        keys = json.loads(Path(key_set).read_text())
        sent = {"receipt": digest(base64.b64decode(Path(receipt).read_text()))}
        text = Path(jws).read_text().strip()
    except (OSError, ValueError) as fault:
        print(f"a file is missing, or is no JSON or base64: {fault}")
        return 66
    if not isinstance(keys, dict) or "keys" not in keys:
        print(f"{key_set} is no key set")
        return 65
    try:
        answer = trusted_answer(text, keys, app, sent, *nonce)
    except Untrusted as fault:
        print(f"do not trust – {fault}")
        return 1
    states = [f"{item['product_id']} {item['state']}" for item in answer["subscriptions"]]
    print(f"trust – {', '.join([answer['verdict'], *states])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
