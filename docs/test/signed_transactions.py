# SPDX-License-Identifier: Apache-2.0
"""Signed data as StoreKit 2 gives it, under a root of this test: a running subscription, its renewal info, the app."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from pathlib import Path

BUNDLE, PRODUCT, CHAIN = "com.example.shop", "com.example.shop.monthly", "2000000012345678"
MINUTE = 60_000
# Apple's markers, and what RFC 5280 wants of an authority and a signer.
EXTENSIONS = """
[root]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
[intermediate]
basicConstraints = critical, CA:true, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
1.2.840.113635.100.6.2.1 = DER:0500
[leaf]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
1.2.840.113635.100.6.11.1 = DER:0500
"""
CHAIN_OF_KEYS = [("root", "P-384", None), ("intermediate", "P-384", "root"), ("leaf", "P-256", "intermediate")]


class Signer:
    """A chain like Apple's, made by openssl."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()
        (folder / "extensions.cnf").write_text(EXTENSIONS)
        for name, curve, issuer in CHAIN_OF_KEYS:
            key, request, certificate = f"{name}.key", f"{name}.csr", f"{name}.pem"
            self._openssl("genpkey", "-algorithm", "EC", "-pkeyopt", f"ec_paramgen_curve:{curve}", "-out", key)
            self._openssl("req", "-new", "-key", key, "-subj", f"/CN=Test {name}", "-out", request)
            by = ["-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key"] if issuer else ["-signkey", key]
            form = ["-extfile", "extensions.cnf", "-extensions", name, "-set_serial", str(time.time_ns())]
            self._openssl("x509", "-req", "-sha384", "-days", "2", *by, *form, "-in", request, "-out", certificate)
        self.x5c = [self._base64(f"{name}.pem") for name, _, _ in reversed(CHAIN_OF_KEYS)]

    @property
    def root(self) -> Path:
        return self.folder / "root.pem"

    def jws(self, claims: dict) -> str:
        parts = [{"alg": "ES256", "x5c": self.x5c}, claims]
        text = ".".join(_base64url(json.dumps(part).encode()) for part in parts)
        (self.folder / "text").write_text(text)
        return f"{text}.{_base64url(_raw(self._openssl('dgst', '-sha256', '-sign', 'leaf.key', 'text')))}"

    def _base64(self, certificate: str) -> str:
        return base64.b64encode(self._openssl("x509", "-in", certificate, "-outform", "DER")).decode()

    def _openssl(self, *words: str) -> bytes:
        return subprocess.run(["openssl", *words], cwd=self.folder, capture_output=True, check=True).stdout


def evidence(signer: Signer) -> dict:
    """What an app sends, as in docs/storekit.md."""
    # The certificates are as old as this test: nothing is signed earlier than a moment ago.
    now = int(time.time() * 1000)
    common = {"bundleId": BUNDLE, "environment": "Sandbox", "signedDate": now}
    transaction = {
        **common,
        "transactionId": CHAIN,
        "originalTransactionId": CHAIN,
        "productId": PRODUCT,
        "subscriptionGroupIdentifier": "20000000",
        "type": "Auto-Renewable Subscription",
        "inAppOwnershipType": "PURCHASED",
        "transactionReason": "PURCHASE",
        "quantity": 1,
        "purchaseDate": now - MINUTE,
        "originalPurchaseDate": now - MINUTE,
        "expiresDate": now + 60 * MINUTE,
    }
    renewal = {
        "originalTransactionId": CHAIN,
        "productId": PRODUCT,
        "autoRenewProductId": PRODUCT,
        "autoRenewStatus": 1,
        "environment": "Sandbox",
        "signedDate": now,
    }
    app = {
        "bundleId": BUNDLE,
        "receiptType": "Sandbox",
        "applicationVersion": "7",
        "originalApplicationVersion": "1.0",
        "receiptCreationDate": now,
        "originalPurchaseDate": now - MINUTE,
    }
    return {
        "signed_transactions": [signer.jws(transaction)],
        "signed_renewal_infos": [signer.jws(renewal)],
        "app_transaction": signer.jws(app),
    }


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _raw(signature: bytes) -> bytes:
    """The numbers of a DER signature in 32 bytes each (RFC 7518, section 3.4)."""
    length = signature[3]
    numbers = signature[4 : 4 + length], signature[6 + length :]
    return b"".join(number.lstrip(b"\0").rjust(32, b"\0") for number in numbers)
