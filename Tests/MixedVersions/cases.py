# SPDX-License-Identifier: Apache-2.0
"""What one node writes alone, and another node reads after it: a case for the stored forms that belong together.

The cases write in the order of this file, and read in the reverse order: those that step the clock write first and read
last, because cached results end after a day. Each case has customers of its own.
"""

from __future__ import annotations

import json
from typing import ClassVar

from stage import APP, CLIENT, SUNSET, Node, Stage, eventually, purchase

PARTITION, JOBS = "gw:{n:*:*}:", "gw:{v}:"
HOUR = 3600
ENDPOINT = f"{CLIENT}/crm"
# The seconds after the attempts of a delivery (docs/events.md).
RETRIES = [5, 300, HOUR // 2, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
TIMES = ("signed_date", "status_date")
SERVER_API_DOWN = {"api": "server_api", "fault": {"http_status": 503}}


class Case:
    """`write` leaves something in Redis, `read` uses it with a node of the other version."""

    forms: ClassVar[list[str]]

    def is_known(self, node: Node) -> bool:
        """Returns false if a version before this form cannot write or read it."""
        return True

    def write(self, stage: Stage, node: Node) -> None:
        raise NotImplementedError

    def read(self, stage: Stage, node: Node) -> None:
        raise NotImplementedError


def notify(stage: Stage, node: Node, customer: int) -> bytes:
    """Renews a customer, and gives the notification to a node. Returns it once its event is in the log."""
    count = len(of(node.events()[0], customer))
    notification = stage.notify("DID_RENEW", customer)
    node.take(notification)
    eventually("an event", lambda: len(of(node.events()[0], customer)) > count)
    return notification


def of(events: list[dict], customer: int) -> list[dict]:
    return [event for event in events if event["data"].get("original_transaction_id") == purchase(customer)]


def delivered(stage: Stage, events: list[dict], endpoint: str = "crm") -> bool:
    return {event["id"] for event in events} <= set(stage.web.ids(endpoint))


class DeadLetters(Case):
    """notifications that could not be applied"""

    forms: ClassVar = [PARTITION + "dead"]

    def write(self, stage: Stage, node: Node) -> None:
        with stage.unapplied():
            node.take(stage.notify("DID_RENEW", 15))
            node.kill()
        # A node that trusts other roots finds it not genuine, and gives up after an hour.
        stage.advance(2 * HOUR)
        node.start(GATEWAY_TRUST_ROOTS=str(stage.receipts / "root.pem"))
        eventually("a dead letter", lambda: stage.seen(self.forms[0]))
        node.stop()
        node.start()

    def read(self, stage: Stage, node: Node) -> None:
        (letter,) = [json.loads(line) for line in node.command("notifications", "dead", "--format", "json").splitlines()]
        assert letter["reason"] == "not_genuine" and letter["bundle_id"] == APP, letter
        # Both are within the encrypted form.
        assert letter["version"] == "v2" and letter["arrived_at"], letter


class EndedJobs(Case):
    """deferred verifications that have ended"""

    forms: ClassVar = [JOBS + name for name in ("done", "expired", "failed", "ended:*", "job:*", "usage")]

    def write(self, stage: Stage, node: Node) -> None:
        evidence = {customer: node.evidence(customer) for customer in (20, 21, 22)}
        with stage.playing(SERVER_API_DOWN):
            expired, failed = self.defer(node, evidence[20]), self.defer(node, evidence[21])
            self.fail(stage, node, failed)
            stage.advance(2 * HOUR)
            self.end(stage, node, expired, "expired")
            done = self.defer(node, evidence[22])
        self.end(stage, node, done, "done")
        self.answers = {job: node.request("GET", f"/v1/verifications/{job}") for job in (done, expired, failed)}

    def defer(self, node: Node, evidence: str) -> str:
        body = {"signed_transactions": [evidence], "mode": "apple", "account": "job"}
        status, job, _ = node.request("POST", "/v1/verify", body, Prefer="respond-async, wait=0")
        assert status == 202, f"{status} {job}"
        return job["id"]

    def end(self, stage: Stage, node: Node, job: str, status: str) -> None:
        def ended() -> bool:
            # A delay after a failure is a minute at most.
            stage.advance(5)
            return node.request("GET", f"/v1/verifications/{job}")[1]["status"] == status

        eventually(f"a verification is {status}", ended)

    def fail(self, stage: Stage, node: Node, job: str) -> None:
        # As if its worker had ended with it three times. An attempt that ends otherwise takes this back.
        def failed() -> bool:
            stage.redis.ask("HSET", f"gw:{{v}}:job:{job}", "losses", 3)
            stage.advance(5)
            return node.request("GET", f"/v1/verifications/{job}")[1]["status"] == "failed"

        eventually("a verification is failed", failed)

    def read(self, stage: Stage, node: Node) -> None:
        for job, (status, answer, _) in self.answers.items():
            read = node.request("GET", f"/v1/verifications/{job}")
            assert read[:2] == (status, answer), f"{read[:2]}, not {(status, answer)}"
        assert node.command("verifications", "list", "--status", "failed").count("ver_") == 1


class Recovery(Case):
    """the end of the last recovery, and its lease"""

    forms: ClassVar = [f"gw:{{n:*}}:{name}:*" for name in ("recovered", "recovering")]

    def write(self, stage: Stage, node: Node) -> None:
        eventually("a recovery", lambda: (stage.advance(20), stage.seen(self.forms[0]))[1])
        # The node ends while it has the lease.
        with stage.playing({"api": "server_api", "latency": 3}):
            eventually("a lease", lambda: (stage.advance(20), stage.seen(self.forms[1]))[1])
            node.kill()
        stage.notify("DID_RENEW", 25, deliver=False)
        node.start()

    def read(self, stage: Stage, node: Node) -> None:
        eventually("the lost notification", lambda: (stage.advance(20), of(node.events()[0], 25))[1])


class Deliveries(Case):
    """deliveries that wait, gaps and dead letters of webhooks"""

    forms: ClassVar = [
        *(PARTITION + name for name in ("deliveries", "delivery:*:*", "delivery:*:*:held")),
        *(PARTITION + name for name in ("delivery:*:*:dead", "delivery:*:*:gaps", "totals")),
    ]

    def write(self, stage: Stage, node: Node) -> None:
        # A new endpoint begins at the newest event: two endpoints have a position in each of eight partitions.
        eventually("all positions", lambda: stage.count(PARTITION + "delivery:*:*") == 16)
        attempts = []
        failing = {purchase(10)}

        def answer(endpoint: str, body: bytes) -> int:
            if endpoint != "crm" or not any(name.encode() in body for name in failing):
                return 204
            attempts.append(body)
            return 500

        stage.web.answer = answer
        notify(stage, node, 10)
        eventually("an attempt", lambda: attempts)

        def is_dead() -> bool:
            # In steps: an attempt that fails after a step is repeated only after its whole wait.
            stage.advance(RETRIES[min(len(attempts), len(RETRIES)) - 1] // 4)
            return stage.seen(PARTITION + "delivery:*:*:dead")

        eventually("a dead delivery", is_dead)
        failing.add(purchase(11))
        notify(stage, node, 11)
        eventually("a held delivery", lambda: purchase(11).encode() in attempts[-1] and stage.seen(self.forms[2]))
        self.dead, self.held = of(node.events()[0], 10), of(node.events()[0], 11)
        assert len(self.dead) == len(self.held) == 1, f"{self.dead} {self.held}"

    def read(self, stage: Stage, node: Node) -> None:
        # It is due within five minutes, or thirty if the writer has tried it twice meanwhile.
        eventually("the held delivery", lambda: (stage.advance(60), delivered(stage, self.held))[1])
        assert not delivered(stage, self.dead), "a dead letter was sent without a request"
        listed = node.command("events", "redeliver", "--endpoint", ENDPOINT)
        assert self.dead[0]["id"] in listed, listed
        notify(stage, node, 10)
        later = of(node.events()[0], 10)[1:]
        eventually("the later event", lambda: delivered(stage, later))
        body = next(body for name, body in stage.web.deliveries["crm"] if name == later[0]["id"])
        assert json.loads(body).get("gap") is True, body
        node.command("events", "redeliver", "--endpoint", ENDPOINT, "--all")
        eventually("the dead letter", lambda: delivered(stage, self.dead))


class Purges(Case):
    """purges of cached results"""

    forms: ClassVar = ["gw:{purges}:head", "gw:{purges}:log"]

    def write(self, stage: Stage, node: Node) -> None:
        self.body = {"transaction_id": purchase(35), "bundle_id": APP}
        node.verify(self.body)
        status, answer, _ = node.request("DELETE", f"/v1/cache/transactions/{purchase(35)}")
        assert status // 100 == 2, f"{status} {answer}"

    def read(self, stage: Stage, node: Node) -> None:
        purged = node.metric("shared_cache_faults_total", fault="purged")
        calls = stage.calls()
        node.verify(self.body)
        assert stage.calls() > calls, "a purged result was used"
        # Unless the result has another format.
        if not stage.asked_again:
            assert node.metric("shared_cache_faults_total", fault="purged") > purged, "the purge was not read"
        for fault in ("purges_lost", "purges_unknown"):
            assert node.metric("shared_cache_faults_total", fault=fault) == 0, fault


def facts(value: object) -> object:
    """Returns a part of an answer without the times of Apple's signatures and of its answer."""
    if isinstance(value, dict):
        return {name: facts(part) for name, part in value.items() if not name.startswith(TIMES)}
    return [facts(part) for part in value] if isinstance(value, list) else value


class Results(Case):
    """cached results of both interfaces, and the other names of a purchase"""

    forms: ClassVar = ["rc:*"]

    def write(self, stage: Stage, node: Node) -> None:
        for customer in (30, 31):
            notify(stage, node, customer)
        # A renewal's ID, which is another name of the purchase.
        known = node.verify({"transaction_id": purchase(31), "bundle_id": APP})["transactions"]
        renewal = next(one["transaction_id"] for one in known if one["transaction_id"] != purchase(31))
        self.bodies = [
            ({"signed_transactions": [node.evidence(30)], "mode": "apple"}, stage.key),
            ({"transaction_id": purchase(31), "bundle_id": APP}, stage.key),
            ({"transaction_id": renewal, "bundle_id": APP}, stage.key),
            ({"receipt": stage.receipt(1), "mode": "apple"}, stage.anyone),
        ]
        self.answers = [node.verify(*request) for request in self.bodies]
        self.formats = stage.result_formats()

    def read(self, stage: Stage, node: Node) -> None:
        calls = stage.calls()
        answers = [node.verify(*request) for request in self.bodies]
        asked = stage.calls() - calls
        # Nodes of both versions use all results of one format, and none of another.
        if others := stage.result_formats() - self.formats:
            assert asked > 0, "a result in another format was used"
            stage.asked_again.append(f"cached results: {', '.join(others)} beside {', '.join(self.formats)}")
            calls = stage.calls()
            for request in self.bodies:
                node.verify(*request)
            asked = stage.calls() - calls
        for (body, _), answer, written in zip(self.bodies, answers, self.answers, strict=True):
            assert not answer["provenance"]["degraded"], answer["provenance"]
            for member in ("transactions", "subscriptions", "environment", "bundle_id"):
                mine, theirs = facts(answer.get(member)), facts(written.get(member))
                assert mine == theirs, f"{member} of {list(body)}: {mine}\n{theirs}"
        assert asked == 0, f"{asked} requests to Apple for cached results"


class Tokens(Case):
    """token buckets"""

    forms: ClassVar = ["rl:*"]
    QUOTA, SPENT = 10, 6

    def write(self, stage: Stage, node: Node) -> None:
        assert self.spend(stage, node, self.SPENT) == [200] * self.SPENT

    def read(self, stage: Stage, node: Node) -> None:
        left = self.QUOTA - self.SPENT
        statuses = self.spend(stage, node, left + 1)
        # A token comes back in three days.
        assert statuses == [200] * left + [429], statuses

    def spend(self, stage: Stage, node: Node, count: int) -> list[int]:
        body = {"receipt": stage.receipt(1), "mode": "local"}
        return [node.request("POST", "/v1/verify", body, stage.limited)[0] for _ in range(count)]


class Comparisons(Case):
    """results of comparisons, with an example"""

    forms: ClassVar = ["gw:{c}:*:*"]

    def is_known(self, node: Node) -> bool:
        return "comparison" in node.command("--help")

    def write(self, stage: Stage, node: Node) -> None:
        node.stop()
        # Without comparisons otherwise: they would add to the calls to Apple that other cases count.
        node.start(GATEWAY_COMPARISON_MODE="local_apple", GATEWAY_COMPARISON_SHARE="1")
        with stage.playing({"fault": {"receipt_status": {"status": 21003}}}):
            node.verify({"receipt": stage.receipt(4), "mode": "local"}, stage.anyone)
            eventually("a comparison", lambda: stage.seen(self.forms[0]))
        node.stop()
        node.start()

    def read(self, stage: Stage, node: Node) -> None:
        (pair,) = json.loads(node.command("comparison", "report", "--format", "json"))["pairs"]
        assert pair["pair"] == "local_apple" and pair["compared"] == 1 and pair["equal"] == 0, pair
        (difference,) = pair["differences"]
        assert difference["examples"], pair


class Ownership(Case):
    """the accounts of purchases"""

    forms: ClassVar = [PARTITION + "owner:*", PARTITION + "owners", "gw:{a:*:*}:account:*", "gw:{a:*:*}:accounts"]

    def write(self, stage: Stage, node: Node) -> None:
        self.evidence = node.evidence(40)
        assert self.use(node, "alice") == "first_seen"

    def use(self, node: Node, account: str) -> str:
        return node.verify({"signed_transactions": [self.evidence], "account": account})["ownership"]

    def read(self, stage: Stage, node: Node) -> None:
        assert self.use(node, "bob") == "other"
        assert self.use(node, "alice") == "same"
        body = {"bundle_id": APP, "account": "bob"}
        status, answer, _ = node.request("PUT", f"/v1/ownership/{purchase(40)}", body)
        assert status // 100 == 2, f"{status} {answer}"
        assert self.use(node, "bob") == "same" and self.use(node, "alice") == "other"


class Notifications(Case):
    """states, events, relayed notifications and the identities of notifications"""

    forms: ClassVar = [PARTITION + name for name in ("state:*", "states", "due", "seen", "events", "relay")]

    def write(self, stage: Stage, node: Node) -> None:
        self.customers = range(45, 53)
        self.evidence = {customer: node.evidence(customer) for customer in self.customers}
        self.late = stage.notify("DID_RENEW", 45)
        # The newer notification of customer 45 comes first.
        self.taken = [notify(stage, node, customer) for customer in self.customers]
        _, self.cursor = node.events()
        self.taken += [notify(stage, node, customer) for customer in self.customers]
        self.log, self.later = node.events()[0], node.events(self.cursor)[0]
        # The late notification is in Apple's history, which the node may read meanwhile.
        count = sum(len(of(self.later, customer)) for customer in self.customers if customer != 45)
        assert count == len(self.customers) - 1, self.later
        mine = [event for customer in self.customers for event in of(self.log, customer)]
        eventually("all webhooks", lambda: delivered(stage, mine))
        eventually("all relayed bodies", lambda: self.relayed(stage) == len(self.taken))

    def relayed(self, stage: Stage) -> int:
        bodies = [body for _, body in list(stage.web.deliveries["warehouse"])]
        return sum(bodies.count(notification) for notification in self.taken)

    def read(self, stage: Stage, node: Node) -> None:
        later = {event["id"]: event for event in node.events(self.cursor)[0]}
        log = {event["id"]: event for event in node.events()[0]}
        for events, read in ((self.log, log), (self.later, later)):
            assert all(read.get(event["id"]) == event for event in events), "an event is missing, or differs"
        sent = len(of(list(log.values()), 46)), self.relayed(stage)
        for notification in self.taken:
            node.take(notification)
        # The older notification of customer 45 changes no state.
        node.take(self.late)
        calls = stage.calls()
        answers = {customer: self.answer(node, customer) for customer in self.customers}
        assert stage.calls() == calls, "a state was not read, and Apple was asked"
        for customer, answer in answers.items():
            assert answer["provenance"]["source"] == "notification", answer["provenance"]
            mine, truth = answer["subscriptions"][0], self.answer(node, customer, mode="apple")["subscriptions"][0]
            for member in ("expires_date_ms", "state", "transaction_id"):
                assert mine[member] == truth[member], f"{member}: {mine} not {truth}"
        notify(stage, node, 46)
        assert (len(of(node.events()[0], 46)) - 1, self.relayed(stage)) == sent, "a repeated notification was applied"
        news = of(node.events(self.cursor)[0], 46)[-1:]
        eventually("the next webhook", lambda: delivered(stage, news))

    def answer(self, node: Node, customer: int, **options: str) -> dict:
        return node.verify({"signed_transactions": [self.evidence[customer]], **options})


class Erasures(Case):
    """the numbers of deleted events"""

    forms: ClassVar = [PARTITION + "events:erased", PARTITION + "relay:erased"]

    def write(self, stage: Stage, node: Node) -> None:
        _, self.cursor = node.events()
        notify(stage, node, 55)
        notify(stage, node, 56)
        erased = erase(node, original_transaction_ids=[purchase(55)])
        assert erased["events"] == erased["relayed_notifications"] == 1, erased

    def read(self, stage: Stage, node: Node) -> None:
        # No deleted event counts as missed.
        events = node.events(self.cursor)[0]
        assert of(events, 56) and not of(events, 55), events


def erase(node: Node, **subject: object) -> dict:
    status, answer, _ = node.request("POST", "/v1/erasures", {"bundle_id": APP, **subject})
    assert status == 200, f"{status} {answer}"
    return answer["erased"]


class Announcements(Case):
    """pauses and announcements of Apple's endpoints"""

    forms: ClassVar = ["gw:pause:*", "gw:lifecycle:*"]

    def write(self, stage: Stage, node: Node) -> None:
        # All receipts of the corpus are of the sandbox.
        with stage.playing({"endpoint": "sandbox", "api": "verify_receipt", "fault": {"throttled": 3_000_000}}):
            answer = node.verify({"receipt": stage.receipt(2), "mode": "auto"}, stage.anyone)
        assert answer["provenance"]["degraded"], answer
        eventually("a pause", lambda: "gw:pause:sandbox" in stage.redis.keys())
        eventually("an announcement", lambda: stage.seen("gw:lifecycle:*"))

    def read(self, stage: Stage, node: Node) -> None:
        answer = node.verify({"receipt": stage.receipt(3), "mode": "auto"}, stage.anyone)
        assert answer["provenance"]["degraded_reasons"] == ["upstream_paused"], answer["provenance"]
        sunset = node.metric("upstream_sunset_timestamp_seconds", api="verify_receipt", environment="production")
        assert sunset > 4e9, f"{sunset}, not {SUNSET}"
        # As docs/redis.md says, for the cases that follow.
        stage.redis.ask("DEL", "gw:pause:sandbox")
        node.stop()
        stage.redis.ask("DEL", "gw:pause:sandbox")
        node.start()


class WaitingJobs(Case):
    """deferred verifications that wait"""

    forms: ClassVar = [JOBS + name for name in ("waiting", "due:*", "same", "about:*", "job:*", "usage")]

    def write(self, stage: Stage, node: Node) -> None:
        self.body = {"signed_transactions": [node.evidence(60)], "mode": "apple", "account": "carol"}
        stage.play(SERVER_API_DOWN)
        status, job, _ = self.request(node)
        assert status == 202, f"{status} {job}"
        self.job = f"/v1/verifications/{job['id']}"
        # It is named by the request itself, too.
        assert self.request(node)[1]["id"] == job["id"]

    def request(self, node: Node) -> tuple[int, dict, dict[str, str]]:
        return node.request("POST", "/v1/verify", self.body, Prefer="respond-async, wait=0", Idempotency_Key="60")

    def read(self, stage: Stage, node: Node) -> None:
        def ended() -> bool:
            stage.advance(2)
            return node.request("GET", self.job)[1]["status"] == "done"

        eventually("the verdict", ended)
        status, answer, fields = self.request(node)
        assert status == 200 and fields.get("content-location") == self.job, f"{status} {answer} {fields}"
        name = {"original_transaction_ids": [purchase(60)], "account": "carol"}
        assert erase(node, **name)["verifications"] == 1


class Pending(Case):
    """notifications that are not applied yet"""

    forms: ClassVar = [PARTITION + "pending"]

    def write(self, stage: Stage, node: Node) -> None:
        # Repeated at the end: no other case may start a node after it.
        with stage.unapplied():
            node.take(stage.notify("DID_RENEW", 65))
            node.kill()
        assert stage.pending() == 1

    def read(self, stage: Stage, node: Node) -> None:
        eventually("the event", lambda: of(node.events()[0], 65))
        eventually("the queue is empty", lambda: stage.pending() == 0)


CASES = [
    DeadLetters,
    EndedJobs,
    Recovery,
    Deliveries,
    Purges,
    Results,
    Tokens,
    Comparisons,
    Ownership,
    Notifications,
    Erasures,
    Announcements,
    WaitingJobs,
    Pending,
]
