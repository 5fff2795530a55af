# SPDX-License-Identifier: Apache-2.0
"""The traffic of a soak. Each function is one request with the check of its answer, and is repeated by a thread."""

from __future__ import annotations

import json
import random
import threading
import time
import traceback
import urllib.parse
from collections.abc import Callable, Iterator

from faults import Faults
from fleet import Fleet, SoakNode
from stage import APP, purchase
from truth import TAKEOVER, Customer, Known, Late, Ledger, State

# Customers whose changes Apple announces, whose changes it does not announce, and who are erased.
CHANGING, UNANNOUNCED, ERASED = 120, 30, 50
# The simulated Apple gives a customer 90 more purchases at most.
MAXIMUM_CHANGES = 85
DAY = 86_400_000
# Beside 200 and 202. Anything else is an error of the gateway, or of this program.
EXPECTED = {0, 429, 503}


class Traffic:
    def __init__(self, fleet: Fleet, ledger: Ledger, faults: Faults, seed: int, seconds: float):
        self.fleet, self.ledger, self.faults, self.seed = fleet, ledger, faults, seed
        # The seconds between two changes of a customer.
        self.pace = seconds / MAXIMUM_CHANGES
        self.customers = list(self._customers(CHANGING + UNANNOUNCED + ERASED))
        self.by_id = {customer.id: customer for customer in self.customers}
        self.changing = self.customers[:CHANGING]
        self.unannounced = self.customers[CHANGING:][:UNANNOUNCED]
        self.unerased = self.customers[CHANGING + UNANNOUNCED :]
        self.receipts = self._corpus()
        self.cursor: str | None = None
        # The stage hands out notifications by their number.
        self._notifying = threading.Lock()
        # The customers that a thread changes now.
        self._reserved: set[int] = set()
        self._over, self._quiet = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []

    def _customers(self, count: int) -> Iterator[Customer]:
        """Returns customers about whom there is no news before their first change: it would be events of its own."""
        for number in range(self.fleet.customers):
            answer = self.fleet.nodes[0].verify({"transaction_id": purchase(number), "bundle_id": APP})
            now, bought = self.fleet.now * 1000, [one["purchase_date_ms"] for one in answer["transactions"]]
            plans = answer["subscriptions"]
            if len(plans) != 1 or plans[0]["state"] != "active" or not plans[0]["renewal"]["will_renew"]:
                continue
            if max(bought) < now - 9 * DAY and plans[0]["expires_date_ms"] > now + 2 * DAY:
                yield Customer(number, State.of(answer), self.fleet.nodes[0].evidence(number))
                count -= 1
                if count == 0:
                    return
        raise AssertionError(f"{count} customers are missing")

    def _corpus(self) -> dict[str, list[tuple[str, dict]]]:
        """Returns requests by the verdict that each must have."""
        index = json.loads((self.fleet.receipts / "index.json").read_text())
        found: dict[str, list[tuple[str, dict]]] = {"genuine": [], "rejected": []}
        for item in index:
            text = (self.fleet.receipts / item["file"]).read_text(errors="replace")
            # White space is a fault of some signed transactions, and the form of receipts.
            text = "".join(text.split()) if item["evidence"] == "receipt" else text.removesuffix("\n")
            is_usual = item["evidence"] == "receipt" and (
                item["file"].startswith("genuine-") or item["reason"] in ("signature_invalid", "anchor_untrusted")
            )
            is_signature = item["file"].startswith("jws-signature-") and item["expected"] == "rejected"
            if (is_usual or is_signature) and len(text) < 100_000:
                member = {"receipt": text} if item["evidence"] == "receipt" else {"signed_transactions": [text]}
                found[item["expected"]].append((item["file"], member))
        assert found["genuine"] and len(found["rejected"]) > 10, "the corpus has too few"
        return found

    # Threads

    def start(self) -> None:
        verifications = [self.identifier, self.signed, self.receipt, self.forged, self.limited, self.deferred]
        works = [[self.renew]] * 3 + [[self.purge], [self.erase]] + [verifications] * 6
        for number, calls in enumerate(works):
            self._begin(self._work, calls, random.Random(f"{self.seed} {number}"))
        self._begin(self._read)

    def _begin(self, work: Callable, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def stop(self) -> None:
        """Ends all traffic but the reader of events."""
        self._over.set()
        for thread in self._threads[:-1]:
            thread.join()

    def close(self) -> None:
        self._quiet.set()
        self._threads[-1].join()

    def _work(self, calls: list[Callable], chance: random.Random) -> None:
        while not self._over.wait(chance.uniform(0.05, 0.25)):
            try:
                chance.choice(calls)(chance)
            except Exception:
                self.ledger.violate("the check itself failed", traceback.format_exc())

    def node(self, chance: random.Random) -> SoakNode:
        up = [node for node in self.fleet.nodes if not node.is_down]
        return chance.choice(up or self.fleet.nodes)

    def send(self, kind: str, node: SoakNode, method: str, path: str, *arguments: object, **headers: str):
        status, answer = node.ask(method, path, *arguments, **headers)
        self.ledger.count(kind, f"{status} {answer.get('code', '')}".strip() if status >= 400 else status or "none")
        # A deferred verification that waits long has many orders.
        if status not in EXPECTED | {200, 202} and answer.get("code") != "too_many_idempotency_keys":
            self.ledger.violate(f"{kind} got {status}", f"{node.name}: {answer}")
        return status, answer

    # Verifications

    def judge(self, kind: str, customer: Customer, known: Known, answer: dict, at: float | None = None) -> None:
        """Compares an answer with the states that it may show, at the time of its request or now."""
        reasons = answer["provenance"]["degraded_reasons"]
        if answer["verdict"] == "undecided" and reasons:
            self.ledger.degraded.update(reasons)
            return
        if answer["verdict"] != "genuine":
            self.ledger.violate(f"{kind}: wrong verdict", answer)
            return
        self.ledger.degraded.update(reasons)
        with customer.lock:
            states = list(customer.states)
        shown = State.of(answer)
        # All three parts are of one answer of Apple, so that they belong together.
        if shown in states[0 if reasons else known.number :]:
            return
        # The evidence alone has no plan. It may be the answer only where Redis, which has the later state, is not reached.
        if shown is None and (reasons or self.faults.is_redis_unnoticed):
            self.ledger.alone += 0 if reasons else 1
        elif shown is None or shown in states:
            # A node that does not reach Redis gets no purge.
            patience = TAKEOVER if self.faults.is_redis_in_trouble else known.patience
            at = at or time.monotonic()
            what = f"{kind}, at {at - self.ledger.begin:.1f} s, {customer.id}: {shown}, not {states[known.number :]}"
            self.ledger.late.append(Late(f"{what}; {answer['provenance']}", at, known.since, patience))
        else:
            self.ledger.violate(f"{kind}: a state that never was", f"{customer.id}: {shown}; {answer['provenance']}")

    def identifier(self, chance: random.Random) -> None:
        customer = chance.choice(self.changing + self.unannounced)
        known = customer.known
        node = self.node(chance)
        status, answer = self.send("ID", node, "POST", "/v1/verify", customer.lookup)
        if status == 200:
            self.judge(f"ID at {node.name}", customer, known, answer)

    def signed(self, chance: random.Random) -> None:
        customer = chance.choice(self.changing)
        known = customer.known
        mode = chance.choice(("auto", "auto", "apple"))
        node = self.node(chance)
        status, answer = self.send("signed transaction", node, "POST", "/v1/verify", {**customer.proof, "mode": mode})
        # Before the first change the evidence may be the answer.
        if status == 200 and (known.number or answer["verdict"] != "genuine"):
            self.judge(f"signed transaction, {mode}, at {node.name}", customer, known, answer)

    def receipt(self, chance: random.Random) -> None:
        self._corpus_request("genuine receipt", "genuine", chance, chance.choice(("local", "auto", "apple")))

    def forged(self, chance: random.Random) -> None:
        self._corpus_request("forged evidence", "rejected", chance, chance.choice(("local", "auto", "apple")))

    def _corpus_request(self, kind: str, verdict: str, chance: random.Random, mode: str) -> None:
        file, member = chance.choice(self.receipts[verdict])
        body = {**member, "mode": mode}
        status, answer = self.send(kind, self.node(chance), "POST", "/v1/verify", body, self.fleet.anyone)
        if status != 200 or answer["verdict"] == verdict:
            return
        # Only Apple's answer counts in mode `apple`.
        if verdict == "genuine" and mode == "apple" and answer["verdict"] == "undecided":
            return
        self.ledger.violate(f"{kind}: wrong verdict", f"{file}, {mode}: {answer}")

    def limited(self, chance: random.Random) -> None:
        body = {**self.receipts["genuine"][0][1], "mode": "local"}
        status, _ = self.send("limited client", self.node(chance), "POST", "/v1/verify", body, self.fleet.limited)
        if status == 200:
            with self.ledger.lock:
                self.ledger.admitted.append(time.monotonic())

    def deferred(self, chance: random.Random) -> None:
        customer = chance.choice(self.changing)
        known = customer.known
        body = {**customer.proof, "mode": "apple", "max_age": 0}
        order = str(chance.getrandbits(64))
        headers = {"Prefer": "respond-async, wait=0", "Idempotency_Key": order}
        status, answer = self.send("deferred", self.node(chance), "POST", "/v1/verify", body, **headers)
        if status == 0:
            # The backend knows not whether it was stored. The key finds it.
            status, answer = self.send("deferred", self.node(chance), "POST", "/v1/verify", body, **headers)
        if status == 202:
            with self.ledger.lock:
                self.ledger.jobs.setdefault(answer["id"], (customer, known, time.monotonic()))
        elif status == 200:
            self.judge("deferred", customer, known, answer)

    # Changes

    def renew(self, chance: random.Random) -> None:
        customer = chance.choice(self.changing)
        if not customer.may_change(self.pace) or not self._reserve(customer):
            return
        try:
            self._announce(customer, customer.next_change(chance), chance)
        finally:
            self._reserved.discard(customer.number)

    def _reserve(self, customer: Customer) -> bool:
        with self.ledger.lock:
            if customer.number in self._reserved:
                return False
            self._reserved.add(customer.number)
            return True

    def _change(self, customer: Customer, kind: tuple[str, str | None]) -> bytes:
        with customer.lock, self._notifying:
            notification = self.fleet.notify(kind[0], customer.number, kind[1])
            customer.change(kind, notification)
        return notification

    def _announce(self, customer: Customer, kind: tuple[str, str | None], chance: random.Random) -> None:
        """Changes a customer, and posts Apple's notification until a node accepts it."""
        notification = self._change(customer, kind)
        while True:
            node = self.node(chance)
            if self.send("notification", node, "POST", "/apple/notifications", notification)[0] == 200:
                break
            time.sleep(chance.uniform(0.3, 1))
        with self.ledger.lock:
            self.ledger.accepted.append((customer, notification))

    def purge(self, chance: random.Random) -> None:
        """Changes a customer without a notification, as an app does whose backend receives the notifications itself."""
        customer = chance.choice(self.unannounced)
        if not customer.may_change(self.pace):
            return
        self._change(customer, ("DID_RENEW", None))
        path = f"/v1/cache/transactions/{customer.id}"
        while self.send("purge", self.node(chance), "DELETE", path)[0] != 200:
            time.sleep(0.5)
        # No node may show the state before it.
        customer.know(len(customer.states) - 1, patience=0)
        self.ledger.purges += 1
        for node in self.fleet.nodes:
            status, answer = self.send("ID", node, "POST", "/v1/verify", customer.lookup)
            if status == 200:
                self.judge(f"after a purge, {node.name}", customer, customer.known, answer)

    def erase(self, chance: random.Random) -> None:
        if not self.unerased:
            self._over.wait(1)
            return
        customer = self.unerased.pop()
        self._announce(customer, ("DID_RENEW", None), chance)
        while not customer.is_settled and not self._over.is_set():
            time.sleep(0.2)
        body = {**customer.proof, "account": customer.account}
        self.send("signed transaction", self.node(chance), "POST", "/v1/verify", body)
        begin = time.monotonic()
        customer.is_erased = True
        while self.send("erasure", self.node(chance), "POST", "/v1/erasures", customer.erasure)[0] != 200:
            time.sleep(0.5)
        self.ledger.erasures.append((customer, begin, time.monotonic()))
        self._over.wait(chance.uniform(1, 4))

    # Events

    def _read(self) -> None:
        """Reads all events by a cursor, from one node after another."""
        chance = random.Random(f"{self.seed} reader")
        while not self._quiet.wait(0.1):
            after = f"&after={urllib.parse.quote(self.cursor)}" if self.cursor else ""
            try:
                status, page = self.send("events", self.node(chance), "GET", f"/v1/events?limit=100{after}")
                if status == 200:
                    self._take(page)
            except Exception:
                self.ledger.violate("the check itself failed", traceback.format_exc())

    def _take(self, page: dict) -> None:
        if page["missed"]:
            self.ledger.missed.append((time.monotonic(), page["missed"]))
        for event in page["events"]:
            self.ledger.log.append(event)
            self.ledger.read_at.setdefault(event["id"], time.monotonic())
            customer = self.by_id.get(event["data"].get("original_transaction_id"))
            if event["type"] == "verification.completed":
                continue
            if customer is None:
                self.ledger.violate("an event about an unknown customer", event)
                continue
            customer.read(event)
        self.cursor = page["next"]
