# SPDX-License-Identifier: Apache-2.0
"""The faults of a soak, and the plan that chance makes of them."""

from __future__ import annotations

import math
import random
import resource
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

from drill.processes import wait_until
from fleet import Fleet, SoakNode
from stage import Redis
from truth import Ledger
from wire import Wire

MiB = 1 << 20
# Seconds in which nodes connect to Redis again, in which they notice that it does not answer (docs/notifications.md says
# three; a busy machine takes longer), in which they read changed files, and in which all of them must have.
RECOVERY, NOTICE, RELOAD, LAST_RELOAD = 5, 5, 5, 30
# Faults after which a failover takes this many seconds.
REPLACED, REPLACING = ("redis killed", "redis frozen"), 20
# Seconds before a failover whose writes may be missing on the replica: milliseconds, and a busy machine.
LAG = 2


@dataclass(frozen=True)
class Entry:
    """One fault of the plan. `at` and `seconds` count from the start of the traffic."""

    lane: str
    at: float
    seconds: float
    fault: str
    # A number of chance, by which the fault chooses a node or a size.
    choice: int

    def __str__(self) -> str:
        return f"{self.at:6.1f} s  {self.lane:6}  {self.fault} ({self.seconds:.1f} s, {self.choice})"


Fault = Callable[[Entry], AbstractContextManager]

# Apple's faults that no genuine answer may come of. Names are in loadtest/scenarios/all.yaml.
APPLE = {
    "apple 503": {"fault": {"http_status": 503}},
    "apple 429": {"fault": {"throttled": 3000}, "share": 0.3},
    "apple page": {"fault": "html"},
    "apple empty": {"fault": "empty"},
    "apple truncated": {"fault": "truncated"},
    "apple drips": {"fault": {"slow_body": 200}},
    "apple reset": {"fault": "reset"},
    "apple reset in body": {"fault": "reset_mid_body", "share": 0.5},
    "apple silent": {"fault": "no_answer"},
    "apple slow": {"latency": {"uniform": [0.5, 4]}},
    "apple lies about dates": {"fault": {"tampered": "expires_2099"}},
    "apple lies about the app": {"fault": {"tampered": "other_bundle_id"}},
    "apple of another environment": {"fault": "wrong_environment", "share": 0.5},
}
RECEIVER = {
    "receiver 503": {"status": 503, "retry_after": 1},
    "receiver down": "down",
    "receiver slow": {"slow": 2},
    "receiver endless": "endless",
}


class Faults:
    """Each lane has one fault at a time; lanes overlap."""

    def __init__(self, fleet: Fleet, ledger: Ledger, seed: int, seconds: float):
        self.fleet, self.ledger = fleet, ledger
        # The times in which a node stood still.
        self.freezes: list[tuple[float, float]] = []
        # The times in which Redis acknowledged what a failover may have lost.
        self.losses: list[tuple[float, float]] = []
        # The last fault of Redis or its network, with the time to recover.
        self._trouble = (0.0, 0.0)
        # The sentinels promote no replica that seems to lag, as after a step of its clock.
        self._stepping = threading.Lock()
        nodes = {
            "node killed": self.kill,
            "node stopped": self.stop,
            "node frozen": self.freeze,
            "clock of a node": self.skew,
            "clock of all": self.step,
            "disk for logs full": self.fill_disk,
            "certificates changed": self.certify,
        }
        redis = {"redis killed": self.crash, "redis frozen": self.freeze_redis, "redis full": self.fill}
        redis |= {f"network {mode}": partial(self._network, mode) for mode in Wire.MODES if mode != "open"}
        outside = {name: partial(self._apple, fault) for name, fault in APPLE.items()}
        outside |= {name: partial(self._receiver, fault) for name, fault in RECEIVER.items()}
        outside["receiver's name slow"] = self.resolve
        # Each fault is a context, which lasts for the seconds of its entry.
        self.lanes: dict[str, dict[str, Fault]] = {"node": nodes, "redis": redis, "apple": outside}
        self.plan = [entry for lane in self.lanes for entry in self._draw(lane, seed, seconds)]
        self.done: list[Entry] = []
        self._threads: list[threading.Thread] = []

    def _draw(self, lane: str, seed: int, seconds: float) -> list[Entry]:
        """Each fault of a lane once, in an order of chance, before any comes again."""
        chance, entries, at, left = random.Random(f"{seed} {lane}"), [], 0.0, []
        while True:
            at += chance.uniform(2, 8)
            lasting = chance.uniform(1, 10)
            if at + lasting > seconds:
                return entries
            left = left or chance.sample(sorted(self.lanes[lane]), len(self.lanes[lane]))
            entries.append(Entry(lane, round(at, 1), round(lasting, 1), left.pop(), chance.getrandbits(16)))
            at += lasting + (REPLACING if entries[-1].fault in REPLACED else 0)

    def start(self) -> None:
        begin = time.monotonic()
        for lane in self.lanes:
            thread = threading.Thread(target=self._run, args=(lane, begin), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _run(self, lane: str, begin: float) -> None:
        for entry in (entry for entry in self.plan if entry.lane == lane):
            time.sleep(max(0, begin + entry.at - time.monotonic()))
            print(f"{time.monotonic() - begin:6.1f} s  {entry.fault}", flush=True)
            try:
                with self._troubling() if lane == "redis" else nullcontext(), self.lanes[lane][entry.fault](entry):
                    time.sleep(entry.seconds)
            except Exception:
                self.ledger.violate(f"a fault did not end well: {entry.fault}", traceback.format_exc())
            else:
                self.done.append(entry)

    @contextmanager
    def _troubling(self) -> Iterator[None]:
        begin = time.monotonic()
        self._trouble = (begin, math.inf)
        try:
            yield
        finally:
            self._trouble = (begin, time.monotonic() + RECOVERY)

    @property
    def is_redis_in_trouble(self) -> bool:
        begin, end = self._trouble
        return begin <= time.monotonic() < end

    @property
    def is_redis_unnoticed(self) -> bool:
        """True while nodes may not know yet that they do not reach Redis."""
        return self.is_redis_in_trouble and time.monotonic() < self._trouble[0] + NOTICE

    def lost_until(self, begin: float, end: float | None = None) -> float | None:
        """Returns the end of the failover that may have lost what Redis acknowledged at this time; None without one."""
        ends = [last for first, last in self.losses if first < (end or begin) and begin < last]
        return max(ends, default=None)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    # Nodes. The last is never ended: its memory is watched.

    def _mortal(self, entry: Entry) -> SoakNode:
        return self.fleet.nodes[entry.choice % (len(self.fleet.nodes) - 1)]

    def _any(self, entry: Entry) -> SoakNode:
        return self.fleet.nodes[entry.choice % len(self.fleet.nodes)]

    @contextmanager
    def _ending(self, node: SoakNode, end: Callable[[], None]) -> Iterator[None]:
        node.is_down = True
        end()
        yield
        node.start()

    def kill(self, entry: Entry):
        node = self._mortal(entry)
        return self._ending(node, node.kill)

    def stop(self, entry: Entry):
        node = self._mortal(entry)
        return self._ending(node, node.stop)

    @contextmanager
    def freeze(self, entry: Entry) -> Iterator[None]:
        begin = time.monotonic()
        with self._any(entry).process.frozen():
            yield
        self.freezes.append((begin, time.monotonic()))

    @contextmanager
    def skew(self, entry: Entry) -> Iterator[None]:
        node = self._any(entry)
        node.set_clock((-20, -5, 5, 20)[entry.choice % 4])
        yield
        node.set_clock(0)

    @contextmanager
    def step(self, entry: Entry) -> Iterator[None]:
        with self._stepping:
            self.fleet.advance(5 + entry.choice % 40)
        yield

    @contextmanager
    def fill_disk(self, entry: Entry) -> Iterator[None]:
        node = self._any(entry)
        node.limit_files(1)
        yield
        node.limit_files(resource.RLIM_INFINITY)

    @contextmanager
    def certify(self, entry: Entry) -> Iterator[None]:
        made = self.fleet.certify()
        yield
        nodes = [node for node in self.fleet.nodes if not node.is_down]
        wait_until("the new certificate", lambda: all(node.presented() == made for node in nodes), LAST_RELOAD, 1)

    # Redis. The sentinels replace a primary that is away for long enough.

    @contextmanager
    def _replaceable(self) -> Iterator[Redis]:
        assert not self.fleet.redis.settle(), "the sentinels promoted a replica without a fault"
        begin = time.monotonic() - LAG
        with self._stepping:
            yield self.fleet.redis.primary
            if self.fleet.redis.settle():
                self.losses.append((begin, time.monotonic() + RECOVERY))
                print(f"{time.monotonic() - self.ledger.begin:6.1f} s  the replica is the primary now", flush=True)

    @contextmanager
    def crash(self, entry: Entry) -> Iterator[None]:
        with self._replaceable() as primary:
            primary.program.kill()
            yield
            primary.start()

    @contextmanager
    def freeze_redis(self, entry: Entry) -> Iterator[None]:
        with self._replaceable() as primary, primary.program.frozen():
            yield

    @contextmanager
    def fill(self, entry: Entry) -> Iterator[None]:
        self.fleet.redis.ask("CONFIG", "SET", "maxmemory", MiB)
        yield
        self.fleet.redis.ask("CONFIG", "SET", "maxmemory", 0)

    @contextmanager
    def _network(self, mode: str, entry: Entry) -> Iterator[None]:
        wire = self._any(entry).wire
        wire.play(mode)
        yield
        wire.play("open")

    # Outside

    def _apple(self, fault: dict, entry: Entry):
        return self.fleet.playing(fault)

    @contextmanager
    def _receiver(self, fault: object, entry: Entry) -> Iterator[None]:
        self.fleet.receive(fault)
        yield
        self.fleet.receive("none")

    @contextmanager
    def resolve(self, entry: Entry) -> Iterator[None]:
        self.fleet.names.write_text(str(round(entry.seconds)))
        self.fleet.rename_receiver()
        yield
        time.sleep(RELOAD)
        self.fleet.names.write_text("0")
