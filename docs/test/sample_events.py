# SPDX-License-Identifier: Apache-2.0
"""Events in the form of docs/events.yaml."""

from __future__ import annotations

import hashlib
import itertools
from datetime import datetime, timezone

APP = "com.example.shop"

_numbers = itertools.count(1)


def event(kind: str, at: str, chain: str, *, environment: str = "Production", **data: object) -> dict:
    """An event of a purchase. Dates in `data` get their twin in milliseconds, as at the gateway."""
    identity = hashlib.sha256(f"{chain} {next(_numbers)}".encode()).hexdigest()[:32]
    members: dict[str, object] = {
        "schema_version": 1,
        "bundle_id": APP,
        "environment": environment,
        "original_transaction_id": chain,
    }
    for name, value in {**data, "occurred_at": at}.items():
        is_date = name.endswith("_date") or name in ("occurred_at", "deadline")
        members |= _dated(name, str(value)) if is_date else {name: value}
    cause = {"source": "notification", "notification_uuid": f"{identity[:8]}-0000-4000-8000-{identity[:12]}"}
    return {
        "id": f"evt_{identity}",
        "type": kind,
        "timestamp": _rfc3339(at),
        "data": {**members, "cause": {**cause, "notification_type": "DID_RENEW"}},
    }


def renewal() -> dict:
    """The renewal of a monthly subscription; each time another event."""
    dates = {"purchase_date": "2027-01-10", "expires_date": "2027-02-10"}
    product = {"transaction_id": "2000000087654321", "product_id": f"{APP}.monthly", "price": 9990, "currency": "EUR"}
    return event("subscription.renewed", "2027-01-10", "2000000012345678", **dates, **product)


def milliseconds(at: str) -> int:
    """A day (UTC), or a time with a zone, in milliseconds since 1970."""
    return int(_time(at).timestamp() * 1000)


def _dated(name: str, at: str) -> dict[str, object]:
    return {name: _rfc3339(at), f"{name}_ms": milliseconds(at)}


def _time(at: str) -> datetime:
    return datetime.fromisoformat(at.replace("Z", "+00:00")).replace(tzinfo=timezone.utc)


def _rfc3339(at: str) -> str:
    return _time(at).strftime("%Y-%m-%dT%H:%M:%SZ")
