# SPDX-License-Identifier: Apache-2.0
"""How a backend asks receipt-gateway. Python 3.9 or later, nothing but the standard library.

    RECEIPTS_BUNDLE_ID=com.example.shop python3 receipt_client.py EVIDENCE KNOWN.json

prints whether to serve the customer, and why. EVIDENCE is what the app sent: a receipt in base64, one JWS, or the JSON of
docs/storekit.md with the signed transactions of StoreKit 2. KNOWN.json stands for the row of your database that says what this customer
had when you last knew. RECEIPTS_BUNDLE_ID is your app: evidence of another app is genuine, too. RECEIPTS_URL, RECEIPTS_KEY and
RECEIPTS_MODE name the gateway, the API key and the mode.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

URL = os.environ.get("RECEIPTS_URL", "http://127.0.0.1:8080")
KEY = os.environ.get("RECEIPTS_KEY", "")
MODE = os.environ.get("RECEIPTS_MODE", "auto")
BUNDLE_ID = os.environ.get("RECEIPTS_BUNDLE_ID", "")
# All attempts together. The gateway itself waits for Apple for up to 4 s (gateway.apple.soft_timeout).
DEADLINE = float(os.environ.get("RECEIPTS_DEADLINE", "10"))
ATTEMPT = 6.0
ATTEMPTS = 4
# The cost of an outage: a day of service for a known customer, an hour for an unknown one.
KEEP_KNOWN, TRUST_NEW = 24 * 3600, 3600


class Unanswered(Exception):
    """No verdict now; not the customer's fault."""


def evidence(sent: str) -> dict | None:
    """The fields of the request that hold evidence; None if the app sent none. All others are for this backend to choose."""
    if not sent.lstrip().startswith("{"):
        return {"receipt": sent} if sent.strip() else None
    try:
        fields = json.loads(sent)
    except ValueError:
        return None
    if fields.get("signed_transactions"):
        names = ("signed_transactions", "signed_renewal_infos", "app_transaction")
        return {name: fields[name] for name in names if fields.get(name)}
    # A customer without purchases: the app itself is genuine.
    return {"receipt": fields["app_transaction"]} if fields.get("app_transaction") else None


def verify(fields: dict) -> dict:
    """The gateway's answer. Asking twice about a purchase does no harm, so what failed is simply asked again."""
    question = {**fields, "mode": MODE, "bundle_id": BUNDLE_ID}
    end = time.monotonic() + DEADLINE
    why = "no time left"
    for attempt in range(ATTEMPTS):
        left = end - time.monotonic()
        if left <= 0:
            break
        try:
            return post(json.dumps(question).encode(), min(ATTEMPT, left))
        except urllib.error.HTTPError as error:
            problem = problem_details(error)
            why = f"{error.code} {problem.get('code', '')}".strip()
            if error.code == 400 and problem.get("field") in fields:
                # The app sent no base64, or no list: not a fault of ours, so no reason to serve.
                return {"verdict": "rejected", "reason": problem.get("fault", "malformed")}
            if error.code not in (429, 502, 503, 504):
                # Any other 400, 401, 403: our request, our key, our configuration. A retry does not help: alert the operator.
                raise Unanswered(f"{why}: {problem.get('detail', '')}") from None
            wait = retry_after(error.headers, attempt)
        except (OSError, ValueError, http.client.HTTPException) as error:
            why, wait = type(error).__name__, backoff(attempt)
        # Retry-After is a promise of the gateway's: earlier is in vain. Who cannot wait so long does not ask again.
        if time.monotonic() + wait >= end:
            break
        time.sleep(wait)
    raise Unanswered(why)


def post(body: bytes, seconds: float) -> dict:
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {KEY}"} if KEY else {})}
    request = urllib.request.Request(f"{URL}/v1/verify", body, headers, method="POST")
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        return json.load(answer)


def problem_details(error: urllib.error.HTTPError) -> dict:
    """RFC 9457; nothing if something on the way answered in the gateway's place."""
    try:
        return json.load(error)
    except ValueError:
        return {}


def retry_after(headers, attempt: int) -> float:
    """In seconds; the gateway sends whole ones. A little later than all others that were told the same."""
    value = headers.get("Retry-After", "")
    return int(value) + random.uniform(0, 0.5) if value.isdigit() else backoff(attempt)


def backoff(attempt: int) -> float:
    return random.uniform(0.05, 0.2 * 2**attempt)


def entitlement(answer: dict) -> dict | None:
    """What genuine evidence entitles to now: a product, and until when (in milliseconds; None for ever)."""
    for subscription in answer["subscriptions"]:
        if subscription["state"] in ("active", "in_grace_period"):
            return {"product": subscription["product_id"], "until_ms": subscription["access_until_ms"]}
    # What was bought once has no end. Consumables stay here until the app finishes them: credit each transaction_id once.
    for purchase in answer["transactions"]:
        if "expires_date" not in purchase and "cancellation_date" not in purchase:
            return {"product": purchase["product_id"], "until_ms": None}
    return None


def decide(sent: str, known: dict | None, now_ms: int) -> tuple[bool, str, dict | None]:
    """Whether to serve, why, and what to remember."""
    fields = evidence(sent)
    if fields is None:
        return False, "no evidence", known
    try:
        answer = verify(fields)
    except Unanswered as error:
        return without_answer(str(error), known, now_ms)
    if answer["verdict"] == "undecided":
        return without_answer(f"undecided, {answer['reason']}", known, now_ms)
    if answer["verdict"] == "rejected":
        # It says nothing about what the customer had before.
        return False, f"rejected, {answer['reason']}", known
    found = entitlement(answer)
    word = answer["provenance"]["source"] + (", degraded" if answer["provenance"]["degraded"] else "")
    if found is None and answer["provenance"]["degraded"] and known:
        # Apple was wanted and did not come: a renewal may be missing. That takes nothing from anybody.
        return without_answer(word, known, now_ms)
    return found is not None, f"{found['product'] if found else 'nothing bought'} ({word})", found


def without_answer(why: str, known: dict | None, now_ms: int) -> tuple[bool, str, dict | None]:
    """An outage is ours, not the customer's: who had something keeps it for a while, who is new gets in for a moment."""
    if known is None:
        known = {"product": "provisional", "until_ms": now_ms + TRUST_NEW * 1000, "provisional": True}
        return True, f"provisional ({why})", known
    end = known["until_ms"]
    kept = end is None or now_ms < end + (0 if known.get("provisional") else KEEP_KNOWN * 1000)
    return kept, f"{known['product']}, as last known ({why})", known


def main() -> int:
    if len(sys.argv) != 3 or not BUNDLE_ID:
        print(__doc__, file=sys.stderr)
        return 64
    row = Path(sys.argv[2])
    known = json.loads(row.read_text()) if row.exists() else None
    serve, why, remember = decide(Path(sys.argv[1]).read_text(), known, int(time.time() * 1000))
    row.write_text(json.dumps(remember))
    print("serve" if serve else "refuse", "–", why)
    return 0 if serve else 1


if __name__ == "__main__":
    sys.exit(main())
