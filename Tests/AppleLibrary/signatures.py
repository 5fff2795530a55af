# SPDX-License-Identifier: Apache-2.0
"""A gateway's signatures for StoreKit against Apple's Python library: `signatures.py SETTINGS`, a JSON file.

Each JWS has the header and the claims of the library's JWS, byte for byte once nonce and time are replaced, and the public key verifies both.
The original signature verifies over the bytes that the library signs. Prints a line for each check; the last one is `N passed, N failed`.
"""

from __future__ import annotations

import json
import re
import sys
import time
import urllib.request
import uuid
from base64 import b64decode, urlsafe_b64decode
from typing import Any, Callable
from unittest import mock

import jwt
from appstoreserverlibrary import jws_signature_creator as creators
from appstoreserverlibrary.models.AdvancedCommerceDescriptors import AdvancedCommerceDescriptors
from appstoreserverlibrary.models.AdvancedCommerceOneTimeChargeCreateRequest import AdvancedCommerceOneTimeChargeCreateRequest
from appstoreserverlibrary.models.AdvancedCommerceOneTimeChargeItem import AdvancedCommerceOneTimeChargeItem
from appstoreserverlibrary.models.AdvancedCommercePeriod import AdvancedCommercePeriod
from appstoreserverlibrary.models.AdvancedCommerceRequestInfo import AdvancedCommerceRequestInfo
from appstoreserverlibrary.models.AdvancedCommerceSubscriptionCreateItem import AdvancedCommerceSubscriptionCreateItem
from appstoreserverlibrary.models.AdvancedCommerceSubscriptionCreateRequest import AdvancedCommerceSubscriptionCreateRequest
from appstoreserverlibrary.promotional_offer import PromotionalOfferSignatureCreator
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
from cryptography.hazmat.primitives.hashes import SHA256

from checks import Checks

TOKEN = "6D3F2B0E-7C0E-4C57-9A8E-0C6A1F9F1A10"
CUSTOMER = "2000000123456789"
NONCE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class Signatures:
    def __init__(self, settings: dict, checks: Checks) -> None:
        self.settings, self.checks = settings, checks
        self.product, self.offer = settings["product_id"], settings["offer_identifier"]
        key = open(settings["private_key_file"], "rb").read()
        known = (key, settings["key_id"], settings["issuer_id"], settings["bundle_id"])
        self.promotional = creators.PromotionalOfferV2SignatureCreator(*known)
        self.introductory = creators.IntroductoryOfferEligibilitySignatureCreator(*known)
        self.commerce = creators.AdvancedCommerceAPIInAppSignatureCreator(*known)
        self.original = PromotionalOfferSignatureCreator(key, settings["key_id"], settings["bundle_id"])
        self.private_key = self.original._signing_key
        self.public_key = self.private_key.public_key()

    def run(self) -> None:
        offer = {"product_id": self.product, "offer_identifier": self.offer}
        for name, customer in [("for one customer", CUSTOMER), ("for any customer", None)]:
            body = offer | ({"transaction_id": customer} if customer else {})
            self.equal(f"a promotional offer {name}", "promotional-offer", body,
                       lambda customer=customer: self.promotional.create_signature(self.product, self.offer, customer))  # fmt: skip
        for allowed in [True, False]:
            body = {"product_id": self.product, "allow_introductory_offer": allowed, "transaction_id": CUSTOMER}
            self.equal(f"an introductory offer, {allowed}", "introductory-offer-eligibility", body,
                       lambda allowed=allowed: self.introductory.create_signature(self.product, allowed, CUSTOMER))  # fmt: skip
        for request in self.requests():
            creators_converter = creators._get_cattrs_converter(type(request))
            body = creators_converter.unstructure(request)
            self.equal(f"{body['operation']}", "advanced-commerce-api", body,
                       lambda request=request: self.commerce.create_signature(request))  # fmt: skip
        for name, body in [("a token", {"app_account_token": TOKEN}), ("a user name", {"application_username": "user-42"}),
                           ("no customer", {})]:  # fmt: skip
            self.checks.check(f"the original signature for {name}", lambda body=body: self.check_original(offer | body))
        self.checks.check("nonces differ", lambda: self.check_nonces(offer))

    def requests(self) -> list[Any]:
        info = AdvancedCommerceRequestInfo(requestReferenceId=uuid.UUID(TOKEN))
        return [
            AdvancedCommerceOneTimeChargeCreateRequest(
                currency="EUR", taxCode="C003-00-1", requestInfo=info,
                item=AdvancedCommerceOneTimeChargeItem(SKU="course-1", displayName="Kurs", description="Für Anfänger", price=4990),
            ),
            AdvancedCommerceSubscriptionCreateRequest(
                currency="EUR", taxCode="C003-00-1", requestInfo=info, period=AdvancedCommercePeriod.P1M, storefront="DEU",
                descriptors=AdvancedCommerceDescriptors(description="All courses", displayName="Courses"),
                items=[AdvancedCommerceSubscriptionCreateItem(SKU="course-2", displayName="Kurs", description="Plus", price=990)],
            ),
        ]  # fmt: skip

    def sign(self, kind: str, body: dict) -> dict:
        request = urllib.request.Request(
            f"{self.settings['gateway']}/v1/apple/{self.settings['bundle_id']}/signatures/{kind}",
            json.dumps(body).encode(), {"Content-Type": "application/json", "X-API-Key": self.settings["api_key"]})  # fmt: skip
        with urllib.request.urlopen(request) as answer:
            assert answer.headers["Cache-Control"] == "no-store", answer.headers
            return json.load(answer)

    def equal(self, name: str, kind: str, body: dict, library: Callable[[], str]) -> None:
        self.checks.check(name, lambda: self.check_equal(kind, body, library))

    def check_equal(self, kind: str, body: dict, library: Callable[[], str]) -> None:
        ours, before = self.sign(kind, body), int(time.time())
        assert list(ours) == ["jws"], ours
        header, claims, _ = ours["jws"].split(".")
        decoded = jwt.decode(ours["jws"], self.public_key, algorithms=["ES256"], audience=kind, issuer=self.settings["issuer_id"])
        assert NONCE.fullmatch(decoded["nonce"]), decoded
        assert "exp" not in decoded and before - 60 <= decoded["iat"] <= before + 60, decoded
        # The library draws this nonce.
        with mock.patch.object(creators.uuid, "uuid4", lambda: uuid.UUID(decoded["nonce"])):
            theirs = library()
        their_header, their_claims, _ = theirs.split(".")
        their_time = jwt.decode(theirs, self.public_key, algorithms=["ES256"], audience=kind)["iat"]
        assert header == their_header, (header, their_header)
        found, wanted = text(claims), text(their_claims).replace(f'"iat":{their_time}', f'"iat":{decoded["iat"]}')
        assert found == wanted, (found, wanted)

    def check_original(self, body: dict) -> None:
        ours = self.sign("original-promotional-offer", body)
        assert list(ours) == ["key_id", "nonce", "timestamp", "signature"], ours
        assert ours["key_id"] == self.settings["key_id"] and NONCE.fullmatch(ours["nonce"]), ours
        assert abs(ours["timestamp"] - time.time() * 1000) < 60_000, ours
        user = body.get("app_account_token") or body.get("application_username") or ""
        signed = self.bytes_of_library(user, uuid.UUID(ours["nonce"]), ours["timestamp"])
        self.public_key.verify(b64decode(ours["signature"], validate=True), signed, ECDSA(SHA256()))

    def bytes_of_library(self, user: str, nonce: uuid.UUID, timestamp: int) -> bytes:
        """The bytes that the library signs."""
        key = mock.Mock()
        key.sign.return_value = b""
        with mock.patch.object(self.original, "_signing_key", key):
            self.original.create_signature(self.product, self.offer, user, nonce, timestamp)
        return key.sign.call_args.args[0]

    def check_nonces(self, body: dict) -> None:
        nonces = {self.sign("original-promotional-offer", body)["nonce"] for _ in range(10)}
        assert len(nonces) == 10, nonces


def text(part: str) -> str:
    return urlsafe_b64decode(part + "==").decode()


def main() -> int:
    settings, checks = json.load(open(sys.argv[1])), Checks()
    Signatures(settings, checks).run()
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
