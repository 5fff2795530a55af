# SPDX-License-Identifier: Apache-2.0
"""A fleet under mixed traffic and faults of chance: `soak.py GATEWAY LOADTEST MINUTES SEED REPORT`, called by `.ci/soak`.

Three nodes, a Redis that keeps everything with its replica and three sentinels, a simulated Apple and receivers of
webhooks run on this machine. Each answer is compared with what it should have been. After the last fault the fleet must
recover by itself, and everything that it acknowledged must be there, except for what a failover may lose.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from drill.processes import Program, wait_until
from faults import Faults
from fleet import LAST_PATIENCE, QUOTA, Fleet
from traffic import Traffic
from truth import Customer, Ledger, State

# The seconds between two samples of memory and descriptors.
INTERVAL = 2
# Seconds in which everything must be there after the last fault: what Apple did not announce comes with the next recovery,
# a minute after one that failed.
SETTLING = 180
# What a node may grow by in the second half of the run.
MEMORY_GROWTH, DESCRIPTOR_GROWTH = 1.2, 32


def settle(what: str, condition: Callable[[], object]):
    return wait_until(what, condition, SETTLING)


class Watch:
    """Samples memory and descriptors of the node that is never ended, and sees processes that ended by themselves."""

    def __init__(self, fleet: Fleet, ledger: Ledger):
        self.fleet, self.ledger, self.samples, self._over = fleet, ledger, [], threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        dead: set[int] = set()
        while not self._over.wait(INTERVAL):
            for node in self.fleet.nodes:
                process = node.process.process
                if process.poll() is not None and not node.is_down and process.pid not in dead:
                    dead.add(process.pid)
                    self.ledger.violate(f"{node.name} ended with {process.returncode}", node.process.last_words())
            self.samples.append(self.sample())

    def sample(self) -> tuple[int, int]:
        """Returns KiB of memory, and descriptors."""
        folder = Path(f"/proc/{self.fleet.nodes[-1].process.process.pid}")
        memory = re.search(r"VmRSS:\s+(\d+)", (folder / "status").read_text())
        return int(memory[1]), len(list((folder / "fd").iterdir()))

    def close(self) -> None:
        self._over.set()
        self._thread.join()


class Soak:
    def __init__(self, gateway: Path, loadtest: Path, folder: Path, minutes: float, seed: int):
        self.fleet = Fleet(gateway, loadtest, folder)
        for node in self.fleet.nodes:
            node.start()
        self.ledger = Ledger()
        self.faults = Faults(self.fleet, self.ledger, seed, minutes * 60)
        self.traffic = Traffic(self.fleet, self.ledger, self.faults, seed, minutes * 60)
        # The IDs of events that were read before a failover lost them.
        self.lost: set[str] = set()
        self.ledger.begin = time.monotonic()
        self.seconds = minutes * 60

    def run(self) -> None:
        print("the plan:", *self.faults.plan, sep="\n", flush=True)
        self.watch = Watch(self.fleet, self.ledger)
        self.traffic.start()
        self.faults.start()
        time.sleep(self.seconds)
        self.faults.join()
        print(f"{self.seconds:6.1f} s  no more faults", flush=True)
        self.traffic.stop()
        # Before the checks: they step the clock.
        self.elapsed = time.monotonic() - self.ledger.begin + int(self.fleet.step.read_text())
        for check in (
            self.events, self.changes, self.jobs, self.webhooks, self.lateness, self.answers, self.erasures, self.limits,
            self.resources, self.logs,
        ):
            print(f"checks: {check.__doc__}", flush=True)
            try:
                check()
            except (AssertionError, TimeoutError) as failure:
                self.ledger.violate(check.__doc__, failure)
        self.traffic.close()
        self.watch.close()

    # After the last fault

    def events(self) -> None:
        """the reader has each event of the log, and none is gone that it was not told about"""
        customers, ledger = self.traffic.customers, self.ledger
        with contextlib.suppress(TimeoutError):
            settle("all events", lambda: (self.fleet.advance(2), all(one.is_settled for one in customers))[1])
        settle("the reader is at the end", self._all_read)
        # The failovers, by their ends, after which a page said that the log has lost events.
        told: set[float] = set()
        for at, missed in ledger.missed:
            if (end := self.faults.lost_until(at)) and all(one["count"] is None for one in missed):
                told.add(end)
            else:
                ledger.violate("the reader missed events", missed)
        read: dict[str, dict] = {}
        for event in ledger.log:
            first = read.setdefault(event["id"], event)
            if not self._is_same(first, event, ledger.read_at[event["id"]]):
                ledger.violate("two events of one ID differ", f"{first}, {event}")
        log = self._log()
        missing = [event for identifier, event in log.items() if identifier not in read]
        assert not missing, f"the reader has not: {missing}"
        erased = ledger.erased
        gone = {event["id"] for event in read.values() if event["id"] not in log and not self._is_of(event, erased)}
        self.lost = {identifier for identifier in gone if self.faults.lost_until(ledger.read_at[identifier]) in told}
        ledger.lost["events"] = len(self.lost)
        assert gone == self.lost, f"events were read, and are gone: {[read[one] for one in gone - self.lost]}"

    def changes(self) -> None:
        """each change made its event, once and in order"""
        for one in self.traffic.customers:
            events = self._kept(one)
            # A change whose event was read and lost has another event, unless the next change came before.
            may_lack = [len(events) < len(one.events) and self.faults.lost_until(at) for at in one.changed_at]
            wanted = "".join(f"({re.escape(type)} )" + "?" * bool(lacks) for type, lacks in zip(one.expected, may_lack))
            if not re.fullmatch(wanted, "".join(f"{type} " for type in events.values())):
                log = [event for event in self.ledger.log if self._is_of(event, {one.id})]
                short = [(event["type"], event["timestamp"], event["data"]["cause"]["source"]) for event in log]
                self.ledger.violate("events and changes differ", f"{one.id}: {one.expected}, and events {short}")

    def _kept(self, customer: Customer) -> dict[str, str]:
        """Returns the events that were read about a customer, without what a failover has lost."""
        return {identifier: type for identifier, type in customer.events.items() if identifier not in self.lost}

    def _is_same(self, first: dict, second: dict, at: float) -> bool:
        """Compares events of one ID. An event that a failover lost is made again, at another time or for another cause."""
        return first["type"] == second["type"] if self.faults.lost_until(at) else first == second

    def _all_read(self) -> bool:
        count = len(self.ledger.log)
        time.sleep(1)
        return count == len(self.ledger.log)

    def _log(self) -> dict[str, dict]:
        """Returns all events that are there now, by ID."""
        return {event["id"]: event for event in self.fleet.nodes[0].events()[0]}

    @staticmethod
    def _is_of(event: dict, customers: set[str]) -> bool:
        return event["data"].get("original_transaction_id") in customers

    def jobs(self) -> None:
        """each deferred verification ended with a right verdict"""
        waiting = dict(self.ledger.jobs)

        def ended() -> bool:
            self.fleet.advance(2)
            for identifier, (customer, known, at) in list(waiting.items()):
                status, job = self.fleet.nodes[0].ask("GET", f"/v1/verifications/{identifier}")
                if status == 202:
                    continue
                del waiting[identifier]
                if status == 404 and self.faults.lost_until(at):
                    self.ledger.lost["deferred verifications"] += 1
                    continue
                answer = job.get("answer", {})
                if status == 200 and job["status"] == "done" and answer["verdict"] == "genuine":
                    self.traffic.judge(f"deferred {identifier}", customer, known, answer, at)
                else:
                    self.ledger.violate("a deferred verification", f"{identifier}: {status} {job}")
            return not waiting

        settle("all deferred verifications end", ended)

    def webhooks(self) -> None:
        """each event came to both kinds of webhooks, in order, and each notification to the relay"""
        log = self._log()
        orders = self.fleet.received
        sent = lambda: set(self.fleet.web.ids("crm"))
        # An attempt may be five minutes away.
        with contextlib.suppress(TimeoutError):
            settle("all events at crm", lambda: (self.fleet.advance(20), log.keys() <= sent())[1])
        missing = log.keys() - sent()
        read_at = sorted((round(self.ledger.read_at[one] - self.ledger.begin, 1), log[one]["type"]) for one in missing)
        assert not missing, f"{len(missing)} of {len(log)} events did not come to crm: read at {read_at}"
        settle("all events at orders", lambda: (self.fleet.advance(20), orders()["counts"]["distinct"] >= len(log))[1])
        counts = orders()["counts"]
        wrong = {name: counts[name] for name in ("unsigned", "malformed", "elsewhere", "gaps") if counts[name]}
        assert not wrong, f"the receiver counts {wrong}"
        seen = {}
        for identifier, body in list(self.fleet.web.deliveries["crm"]):
            first = seen.setdefault(identifier, body)
            if not self._is_same(json.loads(first), json.loads(body), self.fleet.arrivals[first]):
                self.ledger.violate("two webhooks of one ID differ", f"{seen[identifier]}, {body}")
        for customer in self.traffic.customers:
            if not customer.is_erased:
                kept = list(self._kept(customer))
                order = [identifier for identifier in seen if identifier in kept]
                if order != kept:
                    self.ledger.violate("webhooks out of order", f"{customer.id}: {order}, not {kept}")
        erased = self.ledger.erased
        wanted = {body for customer, body in self.ledger.accepted if customer.id not in erased}

        def relayed() -> bool:
            self.fleet.advance(20)
            return wanted <= {body for _, body in list(self.fleet.web.deliveries["warehouse"])}

        settle("all notifications at the relay", relayed)

    def lateness(self) -> None:
        """after an event that was read, earlier states are shown for seconds only"""
        for late in self.ledger.late:
            # What a failover lost of the later state is done again after it.
            since = self.faults.lost_until(late.since) or late.since
            if late.at - since >= late.patience:
                self.ledger.violate(f"an earlier state {late.at - late.since:.1f} s after the later one", late.what)

    def answers(self) -> None:
        """each node gives the present state of each customer, from Apple and without one"""
        for node in self.fleet.nodes:
            for customer in self.traffic.customers:
                if customer.is_erased:
                    continue
                # Before its first change a customer has no stored state.
                for body in [customer.lookup, customer.proof] if customer.expected else [customer.lookup]:

                    def right(body=body, node=node) -> dict | None:
                        answer = node.ask("POST", "/v1/verify", body)[1]
                        return answer if answer.get("provenance", {}).get("degraded") is False else None

                    answer = settle(f"{node.name} recovers", right)
                    shown = State.of(answer)
                    assert shown == customer.states[-1], f"{node.name}, {customer.id}: {shown}, not {customer.states[-1]}"

    def erasures(self) -> None:
        """nothing is left of erased customers"""
        log = self._log().values()
        self.fleet.nodes[0].patience = LAST_PATIENCE
        for customer, begin, end in self.ledger.erasures:
            # docs/privacy.md: a node that stood still meanwhile may write afterwards what it held.
            if any(first < end + 1 and begin - 20 < last for first, last in self.faults.freezes):
                continue
            if self.faults.lost_until(begin, end):
                self.ledger.lost["erasures"] += 1
                continue
            left = [event["id"] for event in log if self._is_of(event, {customer.id})]
            assert not left, f"{customer.id}: {left}"
            status, answer = self.fleet.nodes[0].ask("POST", "/v1/erasures", customer.erasure)
            assert status == 200 and not any(answer["erased"].values()), f"{customer.id}: {status} {answer}"

    def limits(self) -> None:
        """the limited client had no more than its quota"""
        most, admitted = QUOTA * (1 + self.elapsed / 3600), self.ledger.admitted
        self.ledger.lost["admissions"] = sum(self.faults.lost_until(at) is not None for at in admitted)
        count = len(admitted) - self.ledger.lost["admissions"]
        assert count <= most, f"{count} in {self.elapsed:.0f} s"

    def resources(self) -> None:
        """memory and descriptors are flat"""
        time.sleep(3 * INTERVAL)
        samples, fifth = self.watch.samples, max(1, len(self.watch.samples) // 5)
        parts = samples[fifth : 2 * fifth], samples[-fifth:]
        early, late = (statistics.median(memory for memory, _ in part) for part in parts)
        assert late <= early * MEMORY_GROWTH + 16 * 1024, f"memory grew from {early} to {late} KiB"
        first = statistics.median(count for _, count in samples[fifth : 2 * fifth])
        assert samples[-1][1] <= first + DESCRIPTOR_GROWTH, f"{samples[-1][1]} descriptors, {first} at first"

    def logs(self) -> None:
        """no crash, and no error in the logs that is a defect"""
        for path in self.fleet.folder.glob("node-*.log"):
            text = path.read_text(errors="replace")
            for line in text.splitlines():
                if re.search(r"Fatal error|Precondition failed|Assertion failed|Crash|\"level\":\"critical\"", line):
                    self.ledger.violate(f"{path.name} has", line)
        for node in self.fleet.nodes:
            node.is_down = True
            node.stop()

    # The report

    def report(self, seed: int) -> str:
        ledger, log = self.ledger, Counter()
        for path in self.fleet.folder.glob("node-*.log"):
            text = path.read_text(errors="replace")
            for level, message in re.findall(r'"level":"(warning|error)".*?"message":"([^"]{0,90})', text):
                log[level, re.sub(r"\d+", "n", message)] += 1
        kinds = sorted({kind for kind, _ in ledger.answers})
        lost = ", ".join(f"{count} {what} may be lost" for what, count in ledger.lost.items()) or "nothing was lost"
        late = sorted(ledger.late, key=lambda one: one.since - one.at)
        lines = [
            f"# Soak of {self.seconds / 60:g} minutes, seed {seed}",
            "",
            f"{len(ledger.violations)} violations, {len(self.faults.done)} of {len(self.faults.plan)} faults,",
            f"{sum(ledger.answers.values())} answers, {len(ledger.log)} events, {len(ledger.accepted)} notifications,",
            f"{len(ledger.jobs)} deferred verifications, {ledger.purges} purges, {len(ledger.erasures)} erasures,",
            f"{len(ledger.admitted)} requests of the limited client admitted.",
            f"{len(self.faults.losses)} failovers of Redis: {lost}.",
            f"{len(ledger.missed)} pages of events said that some are missed.",
            f"{len(ledger.late)} answers showed a state before an event that was read.",
            f"{ledger.alone} answers came from the evidence alone before the node noticed that Redis is away.",
            "",
            *[f"- {line}" for line in ledger.violations],
            *[f"- late: {one.at - one.since:.1f} s after the event: {one.what}" for one in late[:20]],
            "",
            "| traffic | status: answers |",
            "|---|---|",
        ]
        for kind in kinds:
            counts = {status: count for (one, status), count in sorted(ledger.answers.items()) if one == kind}
            lines.append(f"| {kind} | " + ", ".join(f"{status}: {count}" for status, count in counts.items()) + " |")
        lines += ["", "Degraded: " + ", ".join(f"{reason} {count}" for reason, count in ledger.degraded.most_common()), ""]
        memory = [sample[0] // 1024 for sample in self.watch.samples]
        descriptors = [sample[1] for sample in self.watch.samples]
        step = max(1, len(memory) // 10)
        lines += [f"Memory of {self.fleet.nodes[-1].name}, MiB: {memory[::step]}"]
        lines += [f"Descriptors: {descriptors[::step]}", ""]
        lines += ["| faults | times |", "|---|---|"]
        faults = Counter(entry.fault for entry in self.faults.done)
        lines += [f"| {fault} | {count} |" for fault, count in sorted(faults.items())]
        lines += ["", "| in the logs | lines |", "|---|---|"]
        lines += [f"| {level}: {message} | {count} |" for (level, message), count in log.most_common(30)]
        return "\n".join(lines) + "\n"


def main() -> int:
    gateway, loadtest = (Path(path).resolve() for path in sys.argv[1:3])
    minutes, seed = float(sys.argv[3]), int(sys.argv[4]) if sys.argv[4] else random.SystemRandom().randrange(1 << 32)
    page = Path(sys.argv[5]).resolve()
    # Also after a SIGTERM all programs are ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"soak: {minutes:g} minutes, seed {seed} (again: make soak MINUTES={minutes:g} SEED={seed})", flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        try:
            soak = Soak(gateway, loadtest, Path(folder), minutes, seed)
            soak.run()
            page.write_text(soak.report(seed))
        finally:
            Program.stop_all()
    print(page.read_text().split("\n| faults")[0])
    print(f"soak: the report is {page}")
    print(f"soak: {len(soak.ledger.violations)} violations, seed {seed}")
    return 1 if soak.ledger.violations else 0


if __name__ == "__main__":
    sys.exit(main())
