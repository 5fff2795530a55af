# SPDX-License-Identifier: Apache-2.0
"""A Redis with a replica, and three sentinels that promote the replica while the primary does not answer."""

from __future__ import annotations

from pathlib import Path

from drill.processes import Program, free_port
from stage import Redis, eventually, fetch_redis


class Sentinels:
    """A server that comes back after the other was promoted is a primary, until the sentinels make it a replica."""

    NAME = "mymaster"
    # Milliseconds without an answer after which a primary is replaced. A busy machine must not look like a fault.
    DOWN_AFTER = 4000

    def __init__(self, folder: Path, clock: dict[str, str], options: tuple[str, ...]):
        # Steps of the clock are no silence of the other server.
        options = (*options, "--repl-timeout", "86400", "--repl-diskless-sync-delay", "0")
        self.servers = [Redis(folder, clock, options, f"redis-{number}") for number in (1, 2)]
        self.primary, replica = self.servers
        replica.ask("REPLICAOF", "127.0.0.1", self.primary.port)
        # The sentinels ask a primary for its replicas when they start, and then every ten seconds.
        eventually("the replica follows", lambda: "master_link_status:up" in replica.ask("INFO", "replication"))
        self.ports = [self._start(folder / f"sentinel-{number}") for number in (1, 2, 3)]
        self.settle()

    def _start(self, folder: Path) -> int:
        folder.mkdir()
        file, port = folder / "sentinel.conf", free_port()
        lines = [f"monitor {self.NAME} 127.0.0.1 {self.primary.port} 2"]
        lines += [f"down-after-milliseconds {self.NAME} {self.DOWN_AFTER}", f"failover-timeout {self.NAME} 3000"]
        file.write_text("".join([f"port {port}\nbind 127.0.0.1\n", *(f"sentinel {line}\n" for line in lines)]))
        # Without the clock that is stepped: a sentinel stops for half a minute after a step.
        Program(folder.name, ["redis-server", file, "--sentinel"], folder)
        return port

    def settle(self) -> bool:
        """Waits until one server is the primary and the other its replica for all. Returns true if that is a change."""
        earlier, self.primary = self.primary, eventually("the sentinels have a primary and a replica", self._agreed)
        return self.primary is not earlier

    def _agreed(self) -> Redis | None:
        for primary, replica in (self.servers, self.servers[::-1]):
            states = [self._state(port) for port in self.ports]
            following = f"slave\n127.0.0.1\n{primary.port}\nconnected\n"
            ports = (str(primary.port), str(replica.port))
            if all(state == ports for state in states) and replica.ask("ROLE").startswith(following):
                return primary
        return None

    def _state(self, port: int) -> tuple[str, str] | None:
        """Returns the ports of the primary and of the replica that a sentinel could promote; None unless all is well."""

        def ask(what: str) -> dict[str, str]:
            words = fetch_redis(port, "SENTINEL", what, self.NAME).split("\n")
            return dict(zip(words[::2], words[1::2]))

        primary, replica = ask("MASTER"), ask("REPLICAS")
        # A sentinel that starts says nothing. Other flags say that a server does not answer, or that a failover has begun.
        flags = (primary.get("flags"), replica.get("flags"))
        is_well = (*flags, primary.get("num-other-sentinels")) == ("master", "slave", "2")
        return (primary["port"], replica["port"]) if is_well and replica["master-link-status"] == "ok" else None

    @property
    def url(self) -> str:
        return self.url_at(self.ports)

    def url_at(self, ports: list[int]) -> str:
        return f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in ports)}/{self.NAME}"

    def ask(self, *words: object) -> str:
        return self.primary.ask(*words)
