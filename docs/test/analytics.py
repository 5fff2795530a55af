# SPDX-License-Identifier: Apache-2.0
"""The SQL of docs/analytics-from-events.md on the events of its example. The page's results were computed by hand."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

from report import Report
from sample_events import APP, event, milliseconds
from shell import REPOSITORY

PAGE = REPOSITORY / "docs" / "analytics-from-events.md"
TIMES = {"from": milliseconds("2027-01-01"), "to": milliseconds("2027-02-01")}
# The queries: revenue, churn, its reasons, trials, paid service.
QUERIES = 5
TRIAL = {"offer_discount_type": "FREE_TRIAL", "price": 0}
REFUND = {"cancellation_date": "2027-01-20", "revocation": "refund"}

_BLOCK = re.compile(r"^```sql\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.M | re.S)


def run(report: Report) -> None:
    report.check("the queries of docs/analytics-from-events.md give the figures of the page", _check)
    report.check("events that come again, or in another order, change no figure", _check_repeated)
    report.check("a missed event changes no figure if another names the period", _check_missed)


def _check() -> None:
    _compare(list(history()))


def _check_repeated() -> None:
    events = list(history())
    _compare(events + events[::3])
    _compare(events[::-1])


def _check_missed() -> None:
    events = list(history())
    # The event about B's plan names the same period.
    kept = [one for one in events if one["data"]["product_id"] != f"{APP}.b" or one["type"] != "subscription.started"]
    assert len(kept) == len(events) - 1
    _compare(kept)


def _compare(events: list[dict]) -> None:
    blocks = _BLOCK.findall(PAGE.read_text())
    statements, queries = [sql for sql, shown in blocks if not shown], [pair for pair in blocks if pair[1]]
    assert len(statements) == 3 and len(queries) == QUERIES, f"{len(statements)} statements, {len(queries)} queries"
    table, insertion, views = statements
    database = sqlite3.connect(":memory:")
    database.executescript(table)
    columns = re.findall(r":(\w+)", insertion)
    for one in events:
        values = {**one["data"], "id": one["id"], "type": one["type"]}
        database.execute(insertion, {name: values.get(name) for name in columns})
    database.executescript(views)
    for query, shown in queries:
        cursor = database.execute(query, TIMES)
        found = [[column[0] for column in cursor.description], *([str(value) for value in row] for row in cursor)]
        expected = [[cell.strip() for cell in line.split("|")] for line in shown.splitlines()]
        assert found == expected, f"{found}, not {expected}"


def history() -> Iterator[dict]:
    """The example of the page, from 1 June to 1 February."""
    for name, chain in {"A": "1001", "L": "1012"}.items():
        sale = {} if name == "L" else {"price": 9990, "currency": "EUR"}
        yield _period("started", chain, "a", "2026-12-10", "2027-01-10", **sale)
        yield _period("renewed", chain, "a", "2027-01-10", "2027-02-10", **sale)
    b = {"price": 9990, "currency": "EUR"}
    yield _period("started", "1002", "b", "2026-12-20", "2027-01-20", **b)
    yield _period("renewal_disabled", "1002", "b", "2026-12-20", "2027-01-20", at="2027-01-05", will_renew=False, **b)
    over = {"expiration_intent": "customer_cancelled", "will_renew": False}
    yield _period("expired", "1002", "b", "2026-12-20", "2027-01-20", at="2027-01-20", **b, **over)
    yield _period("started", "1003", "c", "2026-06-01", "2027-06-01", price=60_000, currency="EUR")
    # Free days for an outage: the price stays that of a year.
    yield _period("extended", "1003", "c", "2026-06-01", "2027-07-10", at="2027-01-02", price=60_000, currency="EUR")
    yield _period("started", "1004", "d", "2027-01-03", "2027-01-10", currency="EUR", **TRIAL)
    yield _period("renewed", "1004", "d", "2027-01-10", "2027-02-10", price=9990, currency="EUR")
    yield _period("started", "1005", "e", "2027-01-12", "2027-01-19", currency="EUR", **TRIAL)
    yield _period("expired", "1005", "e", "2027-01-12", "2027-01-19", at="2027-01-19", currency="EUR", **TRIAL, **over)
    f = {"price": 9990, "currency": "USD"}
    yield _period("started", "1006", "f", "2026-12-15", "2027-01-15", **f)
    yield _period("renewed", "1006", "f", "2027-01-15", "2027-02-15", **f)
    yield _period("refunded", "1006", "f", "2027-01-15", "2027-02-15", at="2027-01-20", **f, **REFUND)
    yield _period("started", "1007", "g", "2026-12-28", "2027-03-28", price=14_970, currency="EUR")
    upgrade = {"price": 48_000, "currency": "EUR", "previous_product_id": f"{APP}.g"}
    yield _period("plan_changed", "1007", "g2", "2027-01-15", "2028-01-15", effective_date="2027-01-15", **upgrade)
    h = {"price": 9990, "currency": "EUR"}
    yield _period("started", "1008", "h", "2026-12-05", "2027-01-05", **h)
    yield _period("entered_billing_retry", "1008", "h", "2026-12-05", "2027-01-05", at="2027-01-05", **h)
    yield _period("recovered", "1008", "h", "2027-01-08", "2027-02-08", **h)
    yield _period("started", "1009", "i", "2027-01-28", "2027-02-04", price=1990, currency="USD")
    yield _period("started", "1010", "j", "2027-01-05", "2027-02-05", **f)
    yield _period("refunded", "1010", "j", "2027-01-05", "2027-02-05", at="2027-01-10", **f, **REFUND)
    yield _period("refund_reversed", "1010", "j", "2027-01-05", "2027-02-05", at="2027-01-12", **f)
    yield _period("started", "1011", "k", "2027-01-28", "2027-02-04", currency="EUR", **TRIAL)
    yield _period("started", "1013", "m", "2027-01-10", "2027-02-10", environment="Sandbox", **b)
    # What has no period.
    coins = {"transaction_id": "1014", "product_id": f"{APP}.coins"}
    yield event("purchase.completed", "2027-01-11", "1014", price=990, currency="EUR", **coins)
    yield event("consumption.requested", "2027-01-12", "1014", deadline="2027-01-13", **coins)


def _period(change: str, chain: str, product: str, start: str, end: str, at: str = "", **data: object) -> dict:
    """A change of a subscription; each of its periods is a transaction."""
    dates = {"transaction_id": f"{chain}-{start}", "purchase_date": start, "expires_date": end}
    return event(f"subscription.{change}", at or start, chain, product_id=f"{APP}.{product}", **dates, **data)
