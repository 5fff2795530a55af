# SPDX-License-Identifier: Apache-2.0
"""Client load with every kind of request, so that every series changes."""

from __future__ import annotations

import http.client
import json
import random
import threading

from drill.fleet import Fleet

# Enough workers to continue while many wait for a slow Apple.
WORKERS = 24
# Seconds between two requests of a worker: 150 requests per second in all, a light load for two cores.
PAUSE = 0.16


class Load:
    """Load that runs until `close`."""

    # The kinds of requests, and the percentage of each.
    USUAL = {"known": 40, "uncached": 25, "apple": 15, "forged": 8, "local": 8, "keyless": 2, "unrouted": 2}

    def __init__(self, fleet: Fleet):
        self.fleet = fleet
        self.mix = dict(self.USUAL)
        self.sent = 0
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(number,), daemon=True) for number in range(WORKERS)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _work(self, seed: int) -> None:
        chance = random.Random(seed)
        connections = [
            http.client.HTTPConnection("127.0.0.1", ports[0], timeout=15) for ports in self.fleet.ports.values()
        ]
        while not self._over.wait(PAUSE):
            mix = self.mix
            (kind,) = chance.choices(list(mix), list(mix.values()))
            self._send(chance.choice(connections), kind, chance)
            self.sent += 1

    def _send(self, connection: http.client.HTTPConnection, kind: str, chance: random.Random) -> None:
        path, body, headers = self._request(kind, chance)
        try:
            connection.request("POST", path, json.dumps(body), headers)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            # Some faults stop gateways; the next request reconnects.
            connection.close()

    def _request(self, kind: str, chance: random.Random) -> tuple[str, dict, dict]:
        headers = {"Content-Type": "application/json", "X-API-Key": self.fleet.key}
        genuine, verify = chance.choice(self.fleet.genuine), "/v1/verify"
        match kind:
            case "known":
                return verify, {"receipt": self.fleet.genuine[chance.randrange(20)]}, headers
            case "uncached":
                return verify, {"receipt": genuine, "mode": "apple", "max_age": 0}, headers
            case "unknown":
                return verify, {"receipt": chance.choice(self.fleet.unknown), "mode": "apple"}, headers
            case "apple":
                return "/verifyReceipt", {"receipt-data": genuine}, headers
            case "local":
                return verify, {"receipt": genuine, "mode": "local"}, headers
            case "forged":
                return verify, {"receipt": chance.choice(self.fleet.forged)}, headers
            case "strange":
                return verify, {"receipt": chance.choice(self.fleet.strange)}, headers
            case "deferred":
                # Without a wait for Apple the verification is stored, and ends when Apple has answered.
                body = {"receipt": genuine, "mode": "apple", "max_age": 0}
                return verify, body, {**headers, "Prefer": "respond-async, wait=0"}
            case "keyless":
                return verify, {"receipt": genuine}, {"Content-Type": "application/json"}
            case _:
                return "/unknown", {}, headers
