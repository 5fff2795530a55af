# SPDX-License-Identifier: Apache-2.0
"""Apple's Python library against the simulated App Store Server API: `calls.py SETTINGS`, a JSON file.

Calls every method of the client and verifies every signature with the library's verifier. Provokes the documented errors.
With `proxy` in the settings, all calls go through a gateway's proxy, by an API key of the gateway. Prints a line for each check; the last one is `N passed, N failed`.
"""

from __future__ import annotations

import http.server
import json
import os
import sys
import threading
import time
import urllib.request
import uuid
import warnings
from base64 import b64decode
from typing import Any, Callable, Iterable

import jwt
from appstoreserverlibrary.api_client import APIError, APIException, AppStoreServerAPIClient, GetTransactionHistoryVersion
from appstoreserverlibrary.models.AdvancedCommerceRequestInfo import AdvancedCommerceRequestInfo
from appstoreserverlibrary.models.AdvancedCommerceSubscriptionCancelRequest import AdvancedCommerceSubscriptionCancelRequest
from appstoreserverlibrary.models.AdvancedCommerceSubscriptionCancelResponse import AdvancedCommerceSubscriptionCancelResponse
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.ConsumptionRequestV1 import ConsumptionRequestV1
from appstoreserverlibrary.models.DefaultConfigurationRequest import DefaultConfigurationRequest
from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
from appstoreserverlibrary.models.ImageSize import ImageSize
from appstoreserverlibrary.models.ImageState import ImageState
from appstoreserverlibrary.models.InAppOwnershipType import InAppOwnershipType
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.MessageState import MessageState
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.OrderLookupStatus import OrderLookupStatus
from appstoreserverlibrary.models.PerformanceTestRequest import PerformanceTestRequest
from appstoreserverlibrary.models.PerformanceTestStatus import PerformanceTestStatus
from appstoreserverlibrary.models.RealtimeUrlRequest import RealtimeUrlRequest
from appstoreserverlibrary.models.RefundPreference import RefundPreference
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.TransactionHistoryRequest import Order, ProductType, TransactionHistoryRequest
from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import UpdateAppAccountTokenRequest
from appstoreserverlibrary.models.UploadMessageImage import UploadMessageImage
from appstoreserverlibrary.models.UploadMessageRequestBody import UploadMessageRequestBody
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from checks import Checks, Recorded, public_methods

# The longest wait for one event, in seconds (Tests/TestSupport/Patience.swift).
PATIENCE = 500 * float(os.environ.get("TEST_PATIENCE", "1"))

# What Apple knows beyond receipts: docs in loadtest/scenarios/all.yaml. JSON is YAML, too.
SCENARIO = {
    "stories": {
        "default": "as_in_receipt",
        "rules": [
            {"product_id_suffix": ".family", "story": "family_shared"},
            {"product_id_suffix": ".regretted", "story": {"refunded": 1}},
        ],
    },
    "unreleased_apps": ["com.example.unreleased"],
}
DAY = 24 * 3600 * 1000
PAGE = 20
# Apple sends these requests to servers of the Retention Messaging API.
NOT_VERIFIED = {"verify_and_decode_realtime_request"}
TYPES = {
    "Auto-Renewable Subscription": ProductType.AUTO_RENEWABLE, "Consumable": ProductType.CONSUMABLE,
    "Non-Consumable": ProductType.NON_CONSUMABLE, "Non-Renewing Subscription": ProductType.NON_RENEWABLE,
}  # fmt: skip


# What a PNG file begins with: no more of it is read.
IMAGE = b"\x89PNG\r\n\x1a\n"


class LocalClient(AppStoreServerAPIClient):
    """Apple's client with another host; `claims` are added to its tokens. A gateway gets its own key beside the token."""

    def __init__(self, settings: dict, host: str, **changes: Any) -> None:
        key = changes.pop("key", None) or open(settings["private_key_file"], "rb").read()
        known = {name: changes.pop(name, settings[name]) for name in ("key_id", "issuer_id", "bundle_id")}
        super().__init__(key, known["key_id"], known["issuer_id"], known["bundle_id"], Environment.SANDBOX)
        self._base_url, self._claims = settings.get("proxy", settings)[host], changes
        self._api_key = settings.get("proxy", {}).get("api_key")

    def _get_headers(self) -> dict[str, str]:
        return super()._get_headers() | ({"X-API-Key": self._api_key} if self._api_key else {})

    def _generate_token(self) -> str:
        token = super()._generate_token()
        if not self._claims:
            return token
        claims = jwt.decode(token, options={"verify_signature": False}) | self._claims
        return jwt.encode(claims, self._signing_key, algorithm="ES256", headers={"kid": self._key_id})


class Receiver(http.server.BaseHTTPRequestHandler):
    """Acknowledges notifications."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def receive_notifications(simulator: str, bundle_id: str, environment: str) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    body = {"bundle_id": bundle_id, "environment": environment, "url": url}
    opened(simulator + "/notifications", "PUT", json.dumps(body)).close()


class Host:
    """One environment: the library's client and verifier, both recorded."""

    called: set[str] = set()
    verified: set[str] = set()

    def __init__(self, settings: dict, name: str, app_apple_id: int) -> None:
        self.name, self.environment = name, Environment(name)
        root = b64decode("".join(line for line in open(settings["root_file"]) if "-----" not in line))
        verifier = SignedDataVerifier([root], False, self.environment, settings["bundle_id"], app_apple_id)
        self.client: Any = Recorded(LocalClient(settings, name), Host.called)
        self.verifier: Any = Recorded(verifier, Host.verified)

    def transactions(self, signed: Iterable[str]) -> list:
        return [self.verifier.verify_and_decode_signed_transaction(text) for text in signed]

    def history(self, identifier: str, version: GetTransactionHistoryVersion, **filters: Any) -> list:
        """All pages, verified; each but the last one is full."""
        request, revision, found = TransactionHistoryRequest(**filters), None, []
        while True:
            page = self.client.get_transaction_history(identifier, revision, request, version)
            assert page.environment == self.environment and page.revision, page
            found += self.transactions(page.signedTransactions)
            if not page.hasMore:
                return found
            assert len(page.signedTransactions) == PAGE and page.revision != revision
            revision = page.revision

    def refunds(self, identifier: str) -> list:
        revision, found = None, []
        while True:
            page = self.client.get_refund_history(identifier, revision)
            found += self.transactions(page.signedTransactions)
            if not page.hasMore:
                return found
            revision = page.revision


def identifiers(transactions: Iterable) -> list[str]:
    return [transaction.transactionId for transaction in transactions]


def same(found: Iterable, wanted: Iterable) -> None:
    """The same transactions, at least one, in any order."""
    found, wanted = sorted(identifiers(found)), sorted(identifiers(wanted))
    assert found == wanted and wanted, f"{found} is not {wanted}"


class Calls:
    """Every method of the client, with one customer in each environment, whom a receipt made known."""

    def __init__(self, settings: dict, checks: Checks) -> None:
        self.settings, self.checks, self.is_proxied = settings, checks, "proxy" in settings
        self.customers = settings["customers"]
        self.play()
        listed = {name: self.verify_receipt(name) for name in self.customers}
        # Apple tells the app's number in production only.
        page = LocalClient(settings, "Production").get_transaction_history(
            self.customers["Production"]["transaction_id"], None, TransactionHistoryRequest())  # fmt: skip
        self.hosts = [Host(settings, name, page.appAppleId) for name in self.customers]
        self.production, self.sandbox = self.hosts
        self.listed = listed

    def run(self) -> None:
        for host in self.hosts:
            customer = self.customers[host.name]
            for version in GetTransactionHistoryVersion:
                self.history(host, customer["transaction_id"], version)
            self.reads(host, customer)
            self.notifications(host, customer["transaction_id"])
            self.writes(host, customer)
            self.commerce(host, customer)
        self.messaging(self.sandbox)
        self.orders()
        self.errors()
        if not self.is_proxied:
            self.tokens()
        self.changed_answers()
        self.states()
        self.checks.check("every public method of the client was called", self.all_methods)
        self.checks.check("every method of the verifier was used", self.all_verifications)

    def verify_receipt(self, name: str) -> list[str]:
        """Makes the customer known, and returns the transactions that verifyReceipt lists."""
        body = {"receipt-data": self.customers[name]["receipt"], "password": "0" * 32}
        answer = json.load(opened(self.settings[name] + "/verifyReceipt", "POST", json.dumps(body)))
        return [item["transaction_id"] for item in answer["latest_receipt_info"]]

    def play(self, **more: Any) -> None:
        """Has the simulator play the scenario of these checks, and more."""
        opened(self.settings["Production"] + "/scenario", "PUT", json.dumps(SCENARIO | more)).close()

    # Reads

    def history(self, host: Host, identifier: str, version: GetTransactionHistoryVersion) -> None:
        name = f"{host.name}, history {version.value}"
        check, history = self.checks.check, lambda **filters: host.history(identifier, version, **filters)
        everything = check(f"{name}: all pages", lambda: history())
        if not everything:
            return

        def filtered(title: str, keep: Callable[[Any], bool], **filters: Any) -> None:
            check(f"{name}: {title}", lambda: same(history(**filters), filter(keep, everything)))

        check(f"{name}: more than a page, each transaction once", lambda: self.pages(everything))
        check(f"{name}: the purchases that verifyReceipt lists",
              lambda: equal(set(identifiers(everything)), set(self.listed[host.name])))  # fmt: skip
        dates = sorted(item.purchaseDate for item in everything)
        middle = dates[len(dates) // 2]
        filtered("startDate", lambda item: item.purchaseDate >= middle, startDate=middle)
        filtered("endDate", lambda item: item.purchaseDate < middle, endDate=middle)
        for kind, filter_ in TYPES.items():
            if any(item.rawType == kind for item in everything):
                filtered(filter_.value, lambda item, kind=kind: item.rawType == kind, productTypes=[filter_])
        product = everything[0].productId
        filtered("productIds", lambda item: item.productId == product, productIds=[product])
        group = next(item.subscriptionGroupIdentifier for item in everything if item.subscriptionGroupIdentifier)
        filtered(
            "subscriptionGroupIdentifiers", lambda item: item.subscriptionGroupIdentifier == group,
            subscriptionGroupIdentifiers=[group])  # fmt: skip
        for ownership in InAppOwnershipType:
            filtered(
                ownership.value, lambda item, ownership=ownership: item.inAppOwnershipType == ownership,
                inAppOwnershipType=ownership)  # fmt: skip
        filtered("revoked only", lambda item: item.revocationDate is not None, revoked=True)
        filtered("revoked left out", lambda item: item.revocationDate is None, revoked=False)
        backwards = check(f"{name}: DESCENDING", lambda: history(sort=Order.DESCENDING))
        check(f"{name}: the opposite order", lambda: self.reversed(history(sort=Order.ASCENDING), backwards))

    @staticmethod
    def pages(everything: list) -> None:
        assert len(everything) > PAGE, f"only {len(everything)} transactions"
        assert len(set(identifiers(everything))) == len(everything)

    @staticmethod
    def reversed(forwards: list, backwards: list) -> None:
        assert identifiers(forwards) == identifiers(backwards)[::-1]

    def reads(self, host: Host, customer: dict) -> None:
        name, identifier = host.name, customer["transaction_id"]
        check, client = self.checks.check, host.client

        def information() -> None:
            answer = client.get_transaction_info(identifier)
            assert identifiers(host.transactions([answer.signedTransactionInfo])) == [identifier]

        def statuses(given: list[Status] | None) -> list:
            answer = client.get_all_subscription_statuses(identifier, given)
            assert answer.bundleId == self.settings["bundle_id"] and answer.environment == host.environment
            items = [item for group in answer.data for item in group.lastTransactions]
            for item in items:
                (transaction,) = host.transactions([item.signedTransactionInfo])
                renewal = host.verifier.verify_and_decode_renewal_info(item.signedRenewalInfo)
                originals = {transaction.originalTransactionId, renewal.originalTransactionId}
                assert originals == {item.originalTransactionId}
            return items

        def some_statuses() -> None:
            everything = statuses(None)
            found = {item.originalTransactionId: item.status for item in everything}
            assert found[customer["active_original_transaction_id"]] == Status.ACTIVE, found
            assert found[customer["ended_original_transaction_id"]] == Status.EXPIRED, found
            for status in Status:
                wanted = [item.originalTransactionId for item in everything if item.status == status]
                assert [item.originalTransactionId for item in statuses([status])] == wanted, status
            assert len(statuses(list(Status))) == len(everything) > 0

        def refunds() -> None:
            everything = host.history(identifier, GetTransactionHistoryVersion.V2)
            same(host.refunds(identifier), [item for item in everything if item.revocationReason is not None])

        def app_transaction() -> None:
            answer = client.get_app_transaction_info(identifier)
            found = host.verifier.verify_and_decode_app_transaction(answer.signedAppTransactionInfo)
            assert found.appTransactionId and found.applicationVersion is None, found
            same(host.history(found.appTransactionId, GetTransactionHistoryVersion.V2),
                 host.history(identifier, GetTransactionHistoryVersion.V2))  # fmt: skip

        check(f"{name}: get_transaction_info", information)
        check(f"{name}: get_all_subscription_statuses, and each status", some_statuses)
        check(f"{name}: get_refund_history", refunds)
        check(f"{name}: get_app_transaction_info, whose ID finds the same purchases", app_transaction)

    def orders(self) -> None:
        def known() -> None:
            order = self.customers["Production"]
            answer = self.production.client.look_up_order_id(order["order_id"])
            assert answer.status == OrderLookupStatus.VALID
            found = identifiers(self.production.transactions(answer.signedTransactions))
            assert order["transaction_id"] in found, found

        def unknown() -> None:
            answer = self.production.client.look_up_order_id("NOSUCHORDER")
            assert answer.status == OrderLookupStatus.INVALID and not answer.signedTransactions

        self.checks.check("look_up_order_id", known)
        self.checks.check("look_up_order_id of an unknown order", unknown)

    def notifications(self, host: Host, identifier: str) -> None:
        check, client, name = self.checks.check, host.client, host.name

        receive_notifications(self.settings["Production"], self.settings["bundle_id"], name.lower())

        def sent() -> Any:
            """The status of a new test notification, after its attempt."""
            token = client.request_test_notification().testNotificationToken
            end = time.monotonic() + PATIENCE
            while True:
                try:
                    return client.get_test_notification_status(token)
                except APIException as error:
                    if error.api_error != APIError.TEST_NOTIFICATION_NOT_FOUND or time.monotonic() > end:
                        raise
                time.sleep(1 if self.is_proxied else 0.02)

        def test() -> None:
            answer = sent()
            found = host.verifier.verify_and_decode_notification(answer.signedPayload)
            assert found.notificationType == NotificationTypeV2.TEST and answer.sendAttempts is not None

        def history(**filters: Any) -> list:
            now = int(time.time() * 1000)
            request = NotificationHistoryRequest(startDate=now - 29 * DAY, endDate=now, **filters)
            token, found = None, []
            while True:
                page = client.get_notification_history(token, request)
                items = [item.signedPayload for item in page.notificationHistory]
                found += [host.verifier.verify_and_decode_notification(text) for text in items]
                if not page.hasMore:
                    return found
                assert len(items) == PAGE and page.paginationToken != token
                token = page.paginationToken

        def pages() -> None:
            # A gateway sends as many as Apple's limit permits: one each second, in the sandbox one each ten.
            for _ in range(0 if self.is_proxied else PAGE):
                sent()
            everything = {item.notificationUUID for item in history()}
            assert len(everything) > (0 if self.is_proxied else PAGE), f"only {len(everything)} notifications"
            equal({item.notificationUUID for item in history(notificationType=NotificationTypeV2.TEST)}, everything)
            assert not history(notificationType=NotificationTypeV2.REFUND)

        check(f"{name}: request_test_notification and get_test_notification_status", test)
        check(f"{name}: get_notification_history, all pages, and of a type", pages)
        check(f"{name}: get_notification_history of a customer", lambda: history(transactionId=identifier))
        check(f"{name}: get_notification_history of failures", lambda: history(onlyFailures=True))

    # Writes

    def writes(self, host: Host, customer: dict) -> None:
        check, client, name = self.checks.check, host.client, host.name
        original, consumable = customer["active_original_transaction_id"], customer["consumable_transaction_id"]

        def transaction(identifier: str) -> Any:
            return host.transactions([client.get_transaction_info(identifier).signedTransactionInfo])[0]

        def account_token() -> None:
            token = str(uuid.uuid4())
            client.set_app_account_token(original, UpdateAppAccountTokenRequest(token))
            assert transaction(original).appAccountToken == token

        def extend() -> None:
            request = ExtendRenewalDateRequest(10, ExtendReasonCode.SERVICE_ISSUE_OR_OUTAGE, str(uuid.uuid4()))
            answer = client.extend_subscription_renewal_date(original, request)
            assert answer.success and answer.originalTransactionId == original and answer.effectiveDate
            items = client.get_all_subscription_statuses(original).data
            signed = [item.signedTransactionInfo for group in items for item in group.lastTransactions]
            dates = {item.originalTransactionId: item.expiresDate for item in host.transactions(signed)}
            assert dates[original] == answer.effectiveDate, f"{dates[original]} is not {answer.effectiveDate}"

        def extend_all() -> None:
            product = transaction(original).productId
            request = MassExtendRenewalDateRequest(5, ExtendReasonCode.OTHER, str(uuid.uuid4()), None, product)
            started = client.extend_renewal_date_for_all_active_subscribers(request)
            assert started.requestIdentifier == request.requestIdentifier
            status = client.get_status_of_subscription_renewal_date_extensions(request.requestIdentifier, product)
            assert status.requestIdentifier == request.requestIdentifier and status.complete is not None

        def consumption() -> None:
            request = ConsumptionRequest(True, False, DeliveryStatus.DELIVERED, 50_000)
            request.refundPreference = RefundPreference.DECLINE
            assert client.send_consumption_information(consumable, request) is None

        def consumption_v1() -> None:
            with warnings.catch_warnings(action="ignore"):
                assert client.send_consumption_data(consumable, consumption_request_v1()) is None

        def finish() -> None:
            client.finish_transaction(consumable)
            first, second = (identifiers(host.history(original, version)) for version in GetTransactionHistoryVersion)
            assert consumable not in first and consumable in second

        check(f"{name}: set_app_account_token, and it is there", account_token)
        check(f"{name}: extend_subscription_renewal_date, and the period ends later", extend)
        check(f"{name}: extend_renewal_date_for_all_active_subscribers and its status", extend_all)
        check(f"{name}: send_consumption_information", consumption)
        check(f"{name}: send_consumption_data", consumption_v1)
        check(f"{name}: finish_transaction, and only the second history has it", finish)

    def commerce(self, host: Host, customer: dict) -> None:
        """A call of the Advanced Commerce API, for which the library has only the models."""

        def cancel() -> None:
            reference = AdvancedCommerceRequestInfo(requestReferenceId=uuid.uuid4())
            answer = host.client._wrapped._make_request(
                f"/advancedCommerce/v1/subscription/cancel/{customer['transaction_id']}", "POST", {},
                AdvancedCommerceSubscriptionCancelRequest(requestInfo=reference),
                AdvancedCommerceSubscriptionCancelResponse)  # fmt: skip
            assert identifiers(host.transactions([answer.signedTransactionInfo])) == [customer["transaction_id"]]
            renewal = host.verifier.verify_and_decode_renewal_info(answer.signedRenewalInfo)
            assert renewal.originalTransactionId == customer["active_original_transaction_id"]

        self.checks.check(f"{host.name}: a cancellation of the Advanced Commerce API", cancel)

    # Retention Messaging

    def messaging(self, host: Host) -> None:
        check, refused, client = self.checks.check, self.checks.refused, host.client
        image, message = uuid.uuid4(), uuid.uuid4()
        place = ("com.example.library.monthly", "de-DE")
        production = self.production.client

        def images() -> None:
            client.upload_image(image, IMAGE, ImageSize.FULL_SIZE)
            (found,) = client.get_image_list().imageIdentifiers
            assert (found.imageIdentifier, found.imageState, found.imageSize) == (
                image, ImageState.APPROVED, ImageSize.FULL_SIZE)  # fmt: skip

        def messages() -> None:
            body = UploadMessageRequestBody("Stay", "Half the price.", UploadMessageImage(image, "A cat."))
            client.upload_message(message, body)
            (found,) = client.get_message_list().messageIdentifiers
            assert (found.messageIdentifier, found.messageState) == (message, MessageState.APPROVED)

        def defaults() -> None:
            client.configure_default_message(*place, DefaultConfigurationRequest(message))
            assert client.get_default_message(*place).messageIdentifier == message
            client.delete_default_message(*place)

        def url() -> None:
            client.configure_realtime_url(RealtimeUrlRequest("https://example.com/retention"))
            assert client.get_realtime_url().realtimeURL == "https://example.com/retention"
            test = client.initiate_performance_test(PerformanceTestRequest("1"))
            result = client.get_performance_test_results(test.requestId)
            assert result.result == PerformanceTestStatus.PASS and result.config == test.config
            client.delete_realtime_url()

        def cleared() -> None:
            client.delete_message(message)
            client.delete_image(image)
            assert not client.get_image_list().imageIdentifiers and not client.get_message_list().messageIdentifiers

        check("upload_image and get_image_list", images)
        refused("an image that exists", 409, 4090000, lambda: client.upload_image(image, IMAGE))
        refused("an image that is none", 400, 4000161, lambda: client.upload_image(uuid.uuid4(), b"GIF89a"))
        check("upload_message and get_message_list", messages)
        refused("an image in use", 403, 4030019, lambda: client.delete_image(image))
        check("a default message is configured, read and deleted", defaults)
        refused("no default message", 404, 4040020, lambda: client.get_default_message(*place))
        check("the real-time URL is configured, tested, read and deleted", url)
        refused("no real-time URL", 404, 4040021, client.get_realtime_url)
        check("delete_message and delete_image", cleared)
        refused("a message that does not exist", 404, 4040015, lambda: client.delete_message(message))
        production.upload_message(message, UploadMessageRequestBody("Stay", "Half the price."))
        refused("a message that nobody reviewed", 403, 4030017,
                lambda: production.configure_default_message(*place, DefaultConfigurationRequest(message)))  # fmt: skip

    # Errors

    def errors(self) -> None:
        self.errors_of_identifiers()
        self.errors_of_queries()
        self.errors_of_notifications()
        self.errors_of_extensions()
        self.errors_of_writes()

    def errors_of_identifiers(self) -> None:
        refused, client = self.checks.refused, self.production.client
        unknown = self.settings["unknown_transaction_id"]
        no_history = TransactionHistoryRequest()
        refused("letters as a transaction ID", 400, 4000006, lambda: client.get_transaction_info("abc"))
        refused("an unknown transaction", 404, 4040010, lambda: client.get_transaction_info(unknown))
        refused("statuses of an unknown transaction", 404, 4040010,
                lambda: client.get_all_subscription_statuses(unknown))  # fmt: skip
        refused("history of an unknown transaction", 404, 4040010,
                lambda: client.get_transaction_history(unknown, None, no_history))  # fmt: skip
        refused("a purchase of the sandbox at production", 404, 4040010,
                lambda: client.get_transaction_info(self.customers["Sandbox"]["transaction_id"]))  # fmt: skip

    def errors_of_queries(self) -> None:
        client, identifier = self.production.client, self.customers["Production"]["transaction_id"]

        def history(name: str, code: int, revision: str | None = None, **filters: Any) -> None:
            request = TransactionHistoryRequest(**filters)
            self.checks.refused(
                name, 400, code,
                lambda: client.get_transaction_history(identifier, revision, request, GetTransactionHistoryVersion.V2),
            )  # fmt: skip

        history("a revision that Apple did not make", 4000005, "AAAA")
        history("letters as startDate", 4000015, startDate="soon")
        history("letters as endDate", 4000016, endDate="never")
        history("startDate after endDate", 4000013, startDate=2000, endDate=1000)
        history("an unknown sort", 4000021, sort=Raw("SIDEWAYS"))
        history("an unknown productType", 4000022, productTypes=[Raw("FREE")])
        history("an unknown inAppOwnershipType", 4000026, inAppOwnershipType=Raw("STOLEN"))
        history("an unknown revoked", 4000030, revoked="perhaps")
        self.checks.refused("an unknown status", 400, 4000031,
                            lambda: client.get_all_subscription_statuses(identifier, [Raw(9)]))  # fmt: skip

    def errors_of_notifications(self) -> None:
        client, now = self.production.client, int(time.time() * 1000)

        def history(name: str, code: int, token: str | None = None, **filters: Any) -> None:
            request = NotificationHistoryRequest(**{"startDate": now - DAY, "endDate": now} | filters)
            self.checks.refused(name, 400, code, lambda: client.get_notification_history(token, request))

        history("notifications of last year", 4000012, startDate=now - 200 * DAY)
        history("notifications from today to yesterday", 4000013, startDate=now, endDate=now - DAY)
        history("a pagination token that Apple did not make", 4000014, "AAAA")
        history("a type and a transaction", 4000019, notificationType=NotificationTypeV2.TEST, transactionId="1")
        self.checks.refused("a test notification token without a form", 400, 4000020,
                            lambda: client.get_test_notification_status("no such token"))  # fmt: skip
        self.checks.refused("a test notification that was not requested", 404, 4040008,
                            lambda: client.get_test_notification_status(f"{uuid.UUID(int=0)}_1"))  # fmt: skip

    def errors_of_extensions(self) -> None:
        refused, client, customer = self.checks.refused, self.production.client, self.customers["Production"]
        active = customer["active_original_transaction_id"]

        def extend(identifier: str, days: int = 1, reason: Any = ExtendReasonCode.OTHER, name: str = "r") -> Callable:
            request = ExtendRenewalDateRequest(days, reason, name)
            return lambda: client.extend_subscription_renewal_date(identifier, request)

        refused("an extension of letters", 400, 4000008, extend("abc"))
        refused("an extension by 91 days", 400, 4000009, extend(active, 91))
        refused("an extension for reason 9", 400, 4000010, extend(active, reason=Raw(9)))
        refused("an extension without a request identifier", 400, 4000011, extend(active, name=""))
        refused("an extension of nothing", 404, 4040005, extend(self.settings["unknown_transaction_id"]))
        refused("an extension of a subscription that ended", 403, 4030004,
                extend(customer["ended_original_transaction_id"]))  # fmt: skip
        # Two were made above: one of the customer's, one of all.
        refused("a third extension in a year", 403, 4030005, extend(active))
        refused("an extension of a family member's subscription", 403, 4030007,
                extend(customer["family_original_transaction_id"]))  # fmt: skip
        refused("the status of a mass extension that was not requested", 404, 4040009,
                lambda: client.get_status_of_subscription_renewal_date_extensions(str(uuid.uuid4()), "p"))  # fmt: skip

    def errors_of_writes(self) -> None:
        refused, client, customer = self.checks.refused, self.production.client, self.customers["Production"]
        original, later = customer["active_original_transaction_id"], customer["renewal_transaction_id"]

        def account_token(identifier: str, token: str = str(uuid.UUID(int=1))) -> Callable:
            return lambda: client.set_app_account_token(identifier, UpdateAppAccountTokenRequest(token))

        def consumption(**changes: Any) -> Callable:
            values = {"customerConsented": True, "sampleContentProvided": False, "rawDeliveryStatus": "DELIVERED"}
            request = ConsumptionRequest(**values | changes)
            return lambda: client.send_consumption_information(customer["consumable_transaction_id"], request)

        def consumption_v1(identifier: str) -> None:
            with warnings.catch_warnings(action="ignore"):
                client.send_consumption_data(identifier, consumption_request_v1())

        refused("an account token that is no UUID", 400, 4000183, account_token(original, "customer 7"))
        refused("an account token for a family member's purchase", 400, 4000185,
                account_token(customer["family_original_transaction_id"]))  # fmt: skip
        refused("an account token for a renewal", 400, 4000187, account_token(later))
        refused("consumption of a subscription", 400, 4000043, lambda: consumption_v1(original))
        refused("consumption without the customer's consent", 400, 4000035, consumption(customerConsented=False))
        refused("consumption with an unknown delivery status", 400, 4000036, consumption(rawDeliveryStatus="LOST"))
        refused("consumption without a word on samples", 400, 4000041, consumption(sampleContentProvided=None))
        refused("finishing an app transaction", 400, 4000048,
                lambda: client.finish_transaction(customer["app_transaction_id"]))  # fmt: skip

    def tokens(self) -> None:
        now, settings, unreleased = int(time.time()), self.settings, SCENARIO["unreleased_apps"][0]
        identifier = settings["customers"]["Production"]["transaction_id"]
        wrong: dict[str, dict] = {
            "another key": {"key": another_key()},
            "another key ID": {"key_id": "ABCDEFGHJK"},
            "another issuer": {"issuer_id": str(uuid.UUID(int=2))},
            "an app that was never released": {"bundle_id": unreleased},
            "a token that has expired": {"iat": now - 600, "exp": now - 300},
            "a token for more than an hour": {"iat": now, "exp": now + 7200},
            "a token of the future": {"iat": now + 600, "exp": now + 900},
            "a token for another audience": {"aud": "appstoreconnect-v2"},
        }
        for name, changes in wrong.items():
            client = LocalClient(settings, "Production", **changes)
            self.checks.refused(name, 401, None, lambda client=client: client.get_transaction_info(identifier))
        # In the sandbox it has an answer like any other.
        self.checks.refused("an app that was never released, in the sandbox", 404, 4040010,
                            lambda: LocalClient(settings, "Sandbox", bundle_id=unreleased).get_transaction_info("7"))  # fmt: skip
        early = LocalClient(settings, "Production", iat=now - 60, exp=now + 240)
        self.checks.check("a token of a minute ago", lambda: early.get_transaction_info(identifier))

    def changed_answers(self) -> None:
        """Answers that the verifier must not accept."""
        changes = {
            "VERIFICATION_FAILURE": {"tampered": "expires_2099"},
            "INVALID_APP_IDENTIFIER": {"tampered": "other_bundle_id"},
            "INVALID_ENVIRONMENT": "wrong_environment",
        }

        def rejected(status: str) -> None:
            try:
                host, identifier = self.production, self.customers["Production"]["transaction_id"]
                host.transactions([host.client.get_transaction_info(identifier).signedTransactionInfo])
            except VerificationException as error:
                assert error.status.name == status, error.status
            else:
                raise AssertionError("was accepted")

        for status, fault in changes.items():
            self.play(faults=[{"fault": fault}])
            if self.is_proxied:
                # The gateway verifies what it passes on.
                self.refused_by_gateway(f"{fault}", 502, 5000001)
            else:
                self.checks.check(f"{status}: {fault}", lambda status=status: rejected(status))
        self.play()

    def refused_by_gateway(self, name: str, status: int, code: int) -> None:
        client, identifier = self.production.client, self.customers["Production"]["transaction_id"]
        self.checks.refused(f"{name}, by the gateway", status, code, lambda: client.get_transaction_info(identifier))

    def states(self) -> None:
        """Errors that depend on Apple's state; and by its faults, all that nothing above has provoked."""
        client, identifier = self.production.client, self.customers["Production"]["transaction_id"]

        def refused(name: str, code: int, **scenario: Any) -> None:
            self.play(**scenario)
            self.checks.refused(name, code // 10_000, code, lambda: client.get_transaction_info(identifier))

        refused("a customer without an account", 4040001, stories={"default": "account_deleted"})
        refused("an app that is not in the App Store", 4040003, unknown_apps=[self.settings["bundle_id"]])
        if not self.is_proxied:
            refused("a call beyond the hourly limit", 4290000, server_api_limits={"share": 0})
        for error in APIError:
            if error.value not in self.checks.codes and (error.value < 4290000 or not self.is_proxied):
                refused(error.name, error.value, faults=[{"fault": {"server_api_error": error.value}}])
        self.play()
        self.checks.check("after all errors", lambda: client.get_transaction_info(identifier))
        if self.is_proxied:
            self.pauses()

    def pauses(self) -> None:
        """Errors of Apple's to which a gateway answers by itself, and after which it makes fewer calls."""
        self.play(faults=[{"fault": {"server_api_error": 5000000}}])
        self.refused_by_gateway("a fault of Apple's servers", 503, 5000001)
        self.play(server_api_limits={"share": 0})
        self.refused_by_gateway("a call beyond the hourly limit", 429, 4290000)
        self.play()
        self.refused_by_gateway("a call during the pause", 429, 4290000)

    # The rest of the library

    @staticmethod
    def all_methods() -> None:
        equal(Host.called, public_methods(AppStoreServerAPIClient))

    @staticmethod
    def all_verifications() -> None:
        equal(Host.verified | NOT_VERIFIED, public_methods(SignedDataVerifier))


class Raw:
    """A value that the library's own types do not have."""

    def __init__(self, value: Any) -> None:
        self.value = value


def consumption_request_v1() -> ConsumptionRequestV1:
    values = {
        "customerConsented": True, "sampleContentProvided": False, "appAccountToken": "", "rawConsumptionStatus": 1,
        "rawPlatform": 1, "rawDeliveryStatus": 0, "rawAccountTenure": 2, "rawPlayTime": 3,
        "rawLifetimeDollarsRefunded": 1, "rawLifetimeDollarsPurchased": 1, "rawUserStatus": 1,
        "rawRefundPreference": 2,
    }  # fmt: skip
    return ConsumptionRequestV1(**values)


def opened(url: str, method: str, body: str) -> Any:
    return urllib.request.urlopen(urllib.request.Request(url, body.encode(), method=method), timeout=PATIENCE)


def another_key() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def equal(found: set[str], wanted: set[str]) -> None:
    assert found == wanted, f"missing: {sorted(wanted - found)}, unexpected: {sorted(found - wanted)}"


def main() -> int:
    settings, checks = json.load(open(sys.argv[1])), Checks()
    Calls(settings, checks).run()
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
