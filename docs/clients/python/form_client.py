# SPDX-License-Identifier: Apache-2.0
"""A client of the form API: POST /api and POST /apiencrypted. Python 3.9 or later.

    python3 form_client.py RECEIPT.b64 BUNDLE_ID PRODUCT_ID

prints whether to unlock the product, and why. RECEIPTS_URL, RECEIPTS_FORM_KEY and RECEIPTS_FORM_TOKEN name the gateway, the
account's key and the app's token. With RECEIPTS_ENCRYPTION_KEY (16 or 32 bytes in hexadecimal digits) the answer is encrypted;
decrypting needs the package `cryptography` (Debian: python3-cryptography).
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

URL = os.environ.get("RECEIPTS_URL", "http://127.0.0.1:8080")
KEY = os.environ.get("RECEIPTS_FORM_KEY", "")
TOKEN = os.environ.get("RECEIPTS_FORM_TOKEN", "")
ENCRYPTION_KEY = bytes.fromhex(os.environ.get("RECEIPTS_ENCRYPTION_KEY", ""))
SECONDS = 30
# Nothing is wrong with the receipt: the gateway has no answer now, or cannot verify its kind yet.
LATER = (500, 21005)


class NoAnswer(Exception):
    """No answer now: try again later, and do not lock what is unlocked."""


def verify(receipt: str) -> dict:
    """The answer: `status`, `description`, and with status 0 `receipt`."""
    # As clients of this protocol do: base64 stays as it is, so the form is not percent-encoded.
    form = f"apikey={KEY}&token={TOKEN}&receipt={receipt}".encode()
    request = urllib.request.Request(
        f"{URL}/{'apiencrypted' if ENCRYPTION_KEY else 'api'}",
        form,
        {"Content-Type": "application/x-www-form-urlencoded"},
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            body = answer.read()
    except urllib.error.HTTPError as error:
        # Too large, limited, draining: the body has a status and a description too.
        body = error.read()
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswer(type(error).__name__) from None
    try:
        # Only a success is encrypted, and base64 does not begin with a brace.
        answer = json.loads(body if body.startswith(b"{") else decrypted(body))
    except ValueError:
        raise NoAnswer("the answer is unreadable") from None
    if answer["status"] in LATER:
        raise NoAnswer(answer["description"])
    return answer


def decrypted(body: bytes) -> bytes:
    """The text behind base64 of the initialization vector and the ciphertext."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.padding import PKCS7

    message = base64.b64decode(body, validate=True)
    decryptor = Cipher(algorithms.AES(ENCRYPTION_KEY), modes.CBC(message[:16])).decryptor()
    unpadder = PKCS7(128).unpadder()
    return unpadder.update(decryptor.update(message[16:]) + decryptor.finalize()) + unpadder.finalize()


def decide(answer: dict, bundle_id: str, product_id: str) -> tuple[bool, str]:
    """Whether to unlock a product, and why. Status 0 alone says only that the receipt is genuine."""
    if answer["status"] != 0:
        return False, f"{answer['status']} {answer['description']}"
    receipt = answer["receipt"]
    if receipt["bundle_id"] != bundle_id:
        return False, "the receipt is of another app"
    # Renewals stand in latest_receipt_info; receipts without subscriptions have none.
    items = receipt.get("latest_receipt_info") or receipt["in_app"]
    if product_id not in (item["product_id"] for item in items):
        return False, "the product is not in the receipt"
    return True, f"{product_id}, {len(items)} transactions"


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 64
    receipt = "".join(Path(sys.argv[1]).read_text().split())
    try:
        unlock, why = decide(verify(receipt), sys.argv[2], sys.argv[3])
    except NoAnswer as error:
        print(f"later – {error}")
        return 75
    print("unlock" if unlock else "keep locked", "–", why)
    return 0 if unlock else 1


if __name__ == "__main__":
    sys.exit(main())
