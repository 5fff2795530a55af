# SPDX-License-Identifier: Apache-2.0
"""What every answer should be: the changes of each customer, what was acknowledged, and what was found wrong."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from stage import APP, purchase

# Apple's notifications, and the event that each must make.
EVENTS = {
    ("DID_RENEW", None): "subscription.renewed",
    ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"): "subscription.renewal_disabled",
    ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED"): "subscription.renewal_enabled",
    ("REFUND", None): "subscription.refunded",
    ("REFUND_REVERSED", None): "subscription.refund_reversed",
}


# Seconds within which another node applies what a node has stored and left (docs/notifications.md), and some to spare.
TAKEOVER = 20


@dataclass(frozen=True)
class State:
    """A state of a customer, as Apple signs it."""

    renewal_date_ms: int
    will_renew: bool
    is_refunded: bool

    @staticmethod
    def of(answer: dict) -> State | None:
        """Returns what an answer shows; None if it shows no plan."""
        (shown,) = answer["subscriptions"] or [{}]
        plan = shown.get("renewal")
        return plan and State(plan["renewal_date_ms"], plan["will_renew"], shown["state"] == "revoked")


class Known(NamedTuple):
    """What a client knows of a customer: the number of the oldest state that an answer may show, because its event was
    read or it was purged for, the time of that, and the seconds for which an answer may yet show an earlier state."""

    number: int
    since: float
    patience: float


class Late(NamedTuple):
    """An answer that showed an earlier state than what was known since some time, and the seconds for which it may."""

    what: str
    at: float
    since: float
    patience: float


class Customer:
    """A customer, whose states are in the order of Apple's changes. Only one thread changes a customer."""

    def __init__(self, number: int, state: State, evidence: str):
        self.number, self.id, self.evidence = number, purchase(number), evidence
        self.account = f"owner {number}"
        self.states = [state]
        # The types of the events that the changes must make, and the times of the changes.
        self.expected: list[str] = []
        self.changed_at: list[float] = []
        # The IDs and types of the events that the reader has read, in order.
        self.events: dict[str, str] = {}
        self.known = Known(0, 0.0, 0.0)
        self.is_erased = False
        # Held during a change.
        self.lock = threading.Lock()

    @property
    def lookup(self) -> dict:
        """The body of a request with its transaction ID."""
        return {"transaction_id": self.id, "bundle_id": APP}

    @property
    def proof(self) -> dict:
        """The body of a request with what Apple signed about it at the start."""
        return {"signed_transactions": [self.evidence], "bundle_id": APP}

    @property
    def erasure(self) -> dict:
        """The body of a request to erase it."""
        return {"bundle_id": APP, "original_transaction_ids": [self.id], "account": self.account}

    @property
    def is_settled(self) -> bool:
        return len(self.events) >= len(self.expected)

    def may_change(self, pace: float) -> bool:
        """Returns true if the last change is settled, and that many seconds old."""
        is_old = not self.changed_at or time.monotonic() - self.changed_at[-1] >= pace
        return is_old and self.is_settled

    def next_change(self, chance) -> tuple[str, str | None]:
        state = self.states[-1]
        if state.is_refunded:
            return "REFUND_REVERSED", None
        if not state.will_renew:
            return "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED"
        # A second refund of a period is the first again, as it has the date of the first.
        if "subscription.refunded" in self.expected[self._last("subscription.renewed") :]:
            return "DID_RENEW", None
        return chance.choices([kind for kind in EVENTS if kind[0] != "REFUND_REVERSED"], [6, 2, 0, 1])[0]

    def _last(self, type: str) -> int:
        """Returns the place of the last event of a type; 0 without one."""
        return max((place for place, one in enumerate(self.expected) if one == type), default=0)

    def change(self, kind: tuple[str, str | None], notification: bytes) -> None:
        """Remembers a change, as Apple's notification has it."""
        plan = payload(payload(json.loads(notification)["signedPayload"])["data"]["signedRenewalInfo"])
        self.states.append(State(plan["renewalDate"], plan["autoRenewStatus"] == 1, kind[0] == "REFUND"))
        self.expected.append(EVENTS[kind])
        self.changed_at.append(time.monotonic())

    def read(self, event: dict) -> None:
        """Remembers an event that the reader has read."""
        if event["id"] not in self.events:
            self.events[event["id"]] = event["type"]
            self.know(min(len(self.events), len(self.expected)), TAKEOVER)

    def know(self, number: int, patience: float) -> None:
        if number > self.known.number:
            self.known = Known(number, time.monotonic(), patience)


def payload(jws: str) -> dict:
    text = jws.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


@dataclass
class Ledger:
    """What was acknowledged and counted, and all violations."""

    answers: Counter = field(default_factory=Counter)
    degraded: Counter = field(default_factory=Counter)
    # IDs of deferred verifications, with the customer, what was known at the request, and the time of the request.
    jobs: dict[str, tuple[Customer, Known, float]] = field(default_factory=dict)
    # Notifications that a node accepted, as relayed.
    accepted: list[tuple[Customer, bytes]] = field(default_factory=list)
    # What the reader of events has read, with the time at which it read each ID first.
    log: list[dict] = field(default_factory=list)
    read_at: dict[str, float] = field(default_factory=dict)
    purges: int = 0
    erasures: list[tuple[Customer, float, float]] = field(default_factory=list)
    # The times of requests of the limited client.
    admitted: list[float] = field(default_factory=list)
    late: list[Late] = field(default_factory=list)
    # What the reader of events missed, with the times.
    missed: list[tuple[float, list]] = field(default_factory=list)
    # Answers from the evidence alone, at nodes that had not noticed yet that they do not reach Redis.
    alone: int = 0
    # Deferred verifications, erasures and requests of the limited client that a failover may have lost.
    lost: Counter = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    begin: float = field(default_factory=time.monotonic)

    @property
    def erased(self) -> set[str]:
        return {customer.id for customer, _, _ in self.erasures}

    def violate(self, rule: str, what: object) -> None:
        line = f"{time.monotonic() - self.begin:.1f} s: {rule}: {str(what)[:2500]}"
        with self.lock:
            self.violations.append(line)
        print(f"VIOLATION {line}", flush=True)

    def count(self, kind: str, status: object) -> None:
        with self.lock:
            self.answers[kind, str(status)] += 1
