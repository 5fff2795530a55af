# SPDX-License-Identifier: Apache-2.0
"""What two nodes of different versions do at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from cases import PARTITION, delivered, erase, facts, notify, of
from stage import APP, Node, Stage, eventually, purchase

CUSTOMERS = range(75, 95)


def together(*calls: Callable[[], object]) -> list:
    """Runs calls at the same time, and returns their results."""
    results: list = [None] * len(calls)
    threads = [threading.Thread(target=_record, args=(results, number, call)) for number, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def _record(results: list, number: int, call: Callable[[], object]) -> None:
    try:
        results[number] = call()
    except BaseException as error:
        results[number] = error


def members(stage: Stage, one: Node, other: Node) -> None:
    """they count each other"""
    for node in (one, other):
        eventually("two live nodes", lambda node=node: node.metric("fleet_live_nodes") == 2)
    assert stage.seen("gw:nodes")


def leases(stage: Stage, one: Node, other: Node) -> None:
    """one request to Apple for both"""
    body = {"transaction_id": purchase(70), "bundle_id": APP}
    calls = stage.calls()
    alone = {"transaction_id": purchase(71), "bundle_id": APP}
    one.verify(alone)
    usual = stage.calls() - calls
    calls = stage.calls()
    with stage.playing({"api": "server_api", "latency": 0.3}):
        *answers, _ = together(
            lambda: one.verify(body),
            lambda: other.verify(body),
            lambda: eventually("a lease", lambda: stage.seen("rcl:1:*")),
        )
    assert facts(answers[0]["transactions"]) == facts(answers[1]["transactions"])
    # Each format of results is asked for once.
    expected = usual * len(stage.result_formats())
    assert stage.calls() - calls == expected, f"{stage.calls() - calls} requests, not {expected}"


def purges(stage: Stage, one: Node, other: Node) -> None:
    """a purge of one reaches the memory of the other"""
    for begin, end, customer in ((one, other, 72), (other, one, 73)):
        body = {"transaction_id": purchase(customer), "bundle_id": APP}
        before = end.verify(body)
        eventually("the near cache", lambda body=body, end=end: end.verify(body)["provenance"]["cache"] == "near")
        stage.notify("DID_RENEW", customer)
        status, answer, _ = begin.request("DELETE", f"/v1/cache/transactions/{purchase(customer)}")
        assert status // 100 == 2, f"{status} {answer}"
        after = end.verify(body)
        assert len(after["transactions"]) == len(before["transactions"]) + 1, f"{end.name} used a purged result"


def quotas(stage: Stage, one: Node, other: Node) -> None:
    """a pause of a quota holds for both"""
    path = f"/v1/apple/{APP}/production/inApps"
    for begin, end, operation in ((one, other, "v1/transactions"), (other, one, "v2/refund/lookup")):
        target = f"{path}/{operation}/{purchase(74)}"
        with stage.playing({"api": "server_api", "fault": {"throttled": 600_000}}):
            assert begin.request("GET", target)[0] == 429

        def paused(end=end, target=target) -> bool:
            return end.request("GET", target)[0] == 429

        eventually("the other node pauses", paused)
        calls = stage.calls()
        assert paused() and stage.calls() == calls, f"{end.name} called Apple"


def events(stage: Stage, one: Node, other: Node) -> None:
    """each notification is one event, whoever takes it, in order at the webhook"""
    cursor = one.events()[1]

    def take(node: Node, notifications: list[bytes]) -> None:
        for notification in notifications:
            node.take(notification)

    for _ in range(2):
        notifications = [stage.notify("DID_RENEW", customer) for customer in CUSTOMERS]
        together(lambda all=notifications: take(one, all), lambda all=notifications: take(other, all[::-1]))

    def mine(node: Node) -> list[dict]:
        return [event for customer in CUSTOMERS for event in of(node.events(cursor)[0], customer)]

    def renewals() -> int:
        return [event["type"] for event in mine(one)].count("subscription.renewed")

    expected = 2 * len(CUSTOMERS)
    eventually("all events", lambda: renewals() >= expected)
    found = mine(one)
    assert renewals() == expected and found == mine(other), f"{renewals()} events, not {expected}"
    eventually("all webhooks", lambda: delivered(stage, found))
    bodies: dict[str, bytes] = {}
    for name, body in list(stage.web.deliveries["crm"]):
        # A copy may follow a delivery whose lease ended on a busy machine.
        assert bodies.setdefault(name, body) == body, f"two bodies of {name}"
    for customer in CUSTOMERS:
        names = [event["id"] for event in of(found, customer)]
        assert [name for name in bodies if name in names] == names, f"customer {customer}: the webhooks are not in order"


def takeover(stage: Stage, one: Node, other: Node) -> None:
    """a node takes the webhooks of a node that was killed"""
    for begin, end in ((one, other), (other, one)):
        cursor = end.events()[1]
        begin.kill()
        # The lease of the killed node ends, by the clock of Redis.
        stage.advance(20)
        for customer in CUSTOMERS[:8]:
            notify(stage, end, customer)
        found = end.events(cursor)[0]
        eventually("all webhooks", lambda found=found: delivered(stage, found))
        begin.start()


def expiries(stage: Stage, one: Node, other: Node) -> None:
    """a state of either makes one event when its dates end"""
    notify(stage, one, 96)
    notify(stage, other, 97)
    for node in (one, other):
        assert of(node.events()[0], 96) and of(node.events()[0], 97)
    news = [of(one.events()[0], customer)[-1] for customer in (96, 97)]
    ends = max(event["data"]["expires_date_ms"] for event in news) / 1000
    stage.advance(int(ends - stage.now) + 120)

    def expired() -> bool:
        # Without a survey for a minute, dates make events ten minutes later.
        stage.advance(20)
        time.sleep(1)
        types = [event["type"] for customer in (96, 97) for event in of(other.events()[0], customer)]
        return types.count("subscription.expired") == 2

    eventually("two expiries", expired)


def erasures(stage: Stage, one: Node, other: Node) -> None:
    """each erases what the other wrote"""
    for writer, eraser, customer in ((one, other, 98), (other, one, 99)):
        evidence = writer.evidence(customer)
        notify(stage, writer, customer)
        known = stage.results()
        writer.verify({"signed_transactions": [evidence], "mode": "apple", "account": f"owner {customer}"})
        added = stage.results() - known
        assert added, "no result was cached"
        erased = erase(eraser, original_transaction_ids=[purchase(customer)], account=f"owner {customer}")
        for what in ("ownership", "customer_states", "events", "relayed_notifications"):
            assert erased[what] >= 1, f"{eraser.name}: {what}: {erased}"
        # Results of another format are deleted, and not counted.
        left = added & stage.results()
        assert not left, f"{eraser.name} left {left}"
        again = erase(writer, original_transaction_ids=[purchase(customer)], account=f"owner {customer}")
        assert not any(again.values()), f"{writer.name} still has something: {again}"


FORMS = ["gw:nodes", "rcl:1:*", "gw:pause:*", PARTITION + "delivery:*:*"]
SCENES = [members, leases, purges, events, takeover, erasures, quotas, expiries]
