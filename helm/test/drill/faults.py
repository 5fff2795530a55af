# SPDX-License-Identifier: Apache-2.0
"""Faults, and the alerts that each must raise."""

from __future__ import annotations

import hashlib
import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, UTC
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count

from drill.fleet import APP, CACHE_KEY, QUIET, Fleet, Redis
from drill.load import Load
from drill.processes import wait_until


@dataclass
class Fault:
    """A fault: a context that causes and ends it, and the alerts it must raise."""

    name: str
    # Names without `ReceiptGateway`; `/severity` follows the name of an alert that has several.
    alerts: list[str]
    happen: Callable[[Fleet, Load], object]
    # The requests that clients send meanwhile.
    mix: dict[str, int] = field(default_factory=lambda: Load.USUAL)
    # The time limit until the last alert is pending.
    seconds: float = 60


@dataclass
class Scene:
    """Faults that run one after another on one fleet. No two of them raise the same alert."""

    name: str
    faults: list[Fault] = field(default_factory=list)


@contextmanager
def meanwhile(*works: Callable[[threading.Event], None]):
    """Runs each function in a thread of its own until the event is set."""
    over = threading.Event()
    threads = [threading.Thread(target=work, args=(over,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def apple(*faults: dict, **more) -> Callable:
    """Makes Apple fail in this way, then recover."""

    @contextmanager
    def happen(fleet: Fleet, load: Load):
        fleet.play({**QUIET, **more, "faults": [*faults, *QUIET["faults"]]})
        yield
        fleet.play(QUIET)

    return happen


def sunset(days: int) -> Callable:
    """Makes Apple announce its end. Nodes keep the announcement."""

    @contextmanager
    def happen(fleet: Fleet, load: Load):
        end = datetime.now(UTC) + timedelta(days=days, hours=-1)
        header = end.strftime("%a, %d %b %Y %H:%M:%S GMT")
        fleet.play({**QUIET, "faults": [{"latency": 0.01, "headers": {"Sunset": header}}]})
        yield

    return happen


@contextmanager
def app_without_key(fleet: Fleet, load: Load):
    """Names an app in the clients file. The account has no key."""
    fleet.write_clients(fleet.client, {"bundle_id": "com.example.other", "app_apple_id": 1})
    yield
    fleet.write_clients(fleet.client)
    wait_until(
        "both gateways reload the original clients file",
        lambda: not fleet.query("receipt_gateway_app_without_server_api_key"),
        30,
    )


@contextmanager
def nothing(fleet: Fleet, load: Load):
    """Changes only the requests of clients."""
    yield


@contextmanager
def redis_killed(fleet: Fleet, load: Load):
    port = fleet.redis.port
    fleet.redis.program.kill()
    yield
    fleet.redis = Redis(fleet.folder, port=port)
    _connected(fleet)


@contextmanager
def redis_password(fleet: Fleet, load: Load):
    fleet.redis.command("CONFIG", "SET", "requirepass", "changed-by-a-fault")
    for kind in ("normal", "pubsub"):
        fleet.redis.command("CLIENT", "KILL", "TYPE", kind, password="changed-by-a-fault")
    yield
    fleet.redis.command("CONFIG", "SET", "requirepass", "", password="changed-by-a-fault")
    _connected(fleet)


@contextmanager
def redis_full(fleet: Fleet, load: Load):
    fleet.redis.command("CONFIG", "SET", "maxmemory", "1mb")
    yield
    fleet.redis.command("CONFIG", "SET", "maxmemory", "0")


@contextmanager
def redis_emptied(fleet: Fleet, load: Load):
    """Flushes Redis continuously. Requests that bypass the near cache then miss."""

    def flush(over: threading.Event) -> None:
        while not over.wait(0.05):
            fleet.redis.command("FLUSHALL")

    with meanwhile(flush):
        yield


@contextmanager
def redis_tampered(fleet: Fleet, load: Load):
    """Changes the last byte of each value."""

    def tamper(over: threading.Event) -> None:
        while not over.wait(0.5):
            for key in fleet.redis.command("KEYS", "rc:*"):
                if value := fleet.redis.command("GET", key):
                    fleet.redis.command("SET", key, value[:-1] + bytes([value[-1] ^ 1]), "KEEPTTL")

    with meanwhile(tamper):
        yield
    fleet.redis.command("FLUSHALL")


def second_gateway(**settings: str) -> Callable:
    """Restarts the second gateway with other settings."""

    @contextmanager
    def happen(fleet: Fleet, load: Load):
        fleet.restart("gateway-2", **settings)
        yield
        fleet.restart("gateway-2")

    return happen


@contextmanager
def second_redis(fleet: Fleet, load: Load):
    other = Redis(fleet.folder, name="redis-2")
    try:
        fleet.restart("gateway-2", GATEWAY_REDIS_URL=other.url)
        yield
    finally:
        other.program.stop()
    fleet.restart("gateway-2")


@contextmanager
def bodies_everywhere(fleet: Fleet, load: Load):
    """Lowers the memory for bodies on both gateways, and fills it with an unfinished body."""
    for name in fleet.ports:
        fleet.restart(name, GATEWAY_HTTP_LIMITS_BODY="64KiB", GATEWAY_HTTP_LIMITS_BODIES_IN_FLIGHT="64KiB")
    with meanwhile(*(partial(_stall, fleet, ports[0]) for ports in fleet.ports.values())):
        yield
    for name in fleet.ports:
        fleet.restart(name)


def _stall(fleet: Fleet, port: int, over: threading.Event) -> None:
    head = f"POST /v1/verify HTTP/1.1\r\nHost: gateway\r\nX-API-Key: {fleet.key}\r\nContent-Length: 65536\r\n\r\n"
    while not over.is_set():
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(head.encode() + b'{"receipt":"' + b"A" * 65400)
                over.wait(10)
        except OSError:
            over.wait(0.1)


@contextmanager
def second_killed(fleet: Fleet, load: Load):
    fleet.gateways["gateway-2"].kill()
    yield
    fleet.start("gateway-2")


@contextmanager
def all_killed(fleet: Fleet, load: Load):
    for program in fleet.gateways.values():
        program.kill()
    yield
    for name in fleet.ports:
        fleet.start(name)


@contextmanager
def started_again(fleet: Fleet, load: Load):
    """Kills the second gateway three times. Prometheus scrapes each start before the next."""
    admin = fleet.ports["gateway-2"][1]
    for _ in range(3):
        before = _start_time(fleet, admin)
        fleet.gateways["gateway-2"].kill()
        fleet.start("gateway-2")
        wait_until("Prometheus sees the start", lambda: _start_time(fleet, admin) not in (None, before), 30)
    yield


def _start_time(fleet: Fleet, admin: int) -> str | None:
    found = fleet.query(f'process_start_time_seconds{{instance="127.0.0.1:{admin}"}}')
    return found[0]["value"][1] if found else None


@contextmanager
def clients_broken(fleet: Fleet, load: Load):
    """Adds an unknown field to the clients file."""
    fleet.write_clients({**fleet.client, "colour": "red"})
    yield
    fleet.write_clients(fleet.client)
    _reloaded(fleet)


@contextmanager
def key_expires_soon(fleet: Fleet, load: Load):
    end = (datetime.now(UTC) + timedelta(days=10)).date()
    (key,) = fleet.client["keys"]
    fleet.write_clients({**fleet.client, "keys": [{**key, "expires": end}]})
    yield
    fleet.write_clients(fleet.client)
    _reloaded(fleet)


def _reloaded(fleet: Fleet) -> None:
    wait_until(
        "both gateways reload the original clients file",
        lambda: not fleet.query("receipt_gateway_configuration_last_reload_successful == 0")
        and not fleet.query("receipt_gateway_api_key_expiry_timestamp_seconds > 0"),
        30,
    )


@contextmanager
def root_expires_soon(fleet: Fleet, load: Load):
    """Adds a trust root that expires in ten days to the second gateway."""
    soon = fleet.folder / "soon.pem"
    request = "openssl req -x509 -newkey rsa:2048 -nodes -days 10 -subj /CN=soon -keyout /dev/null -out"
    subprocess.run([*request.split(), soon], check=True, capture_output=True)
    fleet.restart("gateway-2", GATEWAY_TRUST_ROOTS=f"{fleet.trust_roots},{soon}")
    yield
    fleet.restart("gateway-2")


def fake_target(text: Callable[[int], str]) -> Callable:
    """Adds a target with made-up metrics, by the number of the scrape, for faults that no gateway has on purpose."""
    scrapes = count()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text(next(scrapes)).encode())

        def log_message(self, *_):
            pass

    @contextmanager
    def happen(fleet: Fleet, load: Load):
        server = HTTPServer(("127.0.0.1", 0), Answers)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        fleet.scrape([*fleet.nodes, f"127.0.0.1:{server.server_port}"])
        yield
        fleet.scrape(fleet.nodes)
        server.shutdown()
        thread.join()
        server.server_close()

    return happen


@contextmanager
def notifications_unknown(fleet: Fleet, load: Load):
    with fleet.notifications("com.example.other"):
        yield


@contextmanager
def redis_evicts(fleet: Fleet, load: Load):
    """Lets Redis evict any key, while Apple sends notifications."""
    fleet.redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    with fleet.notifications():
        yield
    fleet.redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")


@contextmanager
def notification_damaged(fleet: Fleet, load: Load):
    """Adds a notification that no gateway wrote."""
    app = hashlib.sha256(APP.encode()).hexdigest()[:16]
    fleet.redis.command("XADD", f"gw:{{n:{app}:0}}:pending", "*", "n", "damaged")
    yield


def receiver_answers(status: int) -> Callable:
    """Makes the receiver of webhooks answer so, while Apple sends notifications."""

    @contextmanager
    def happen(fleet: Fleet, load: Load):
        fleet.receiver.status = status
        with fleet.notifications():
            yield
        fleet.receiver.status = 204

    return happen


def webhook(series: str, value: Callable[[int], int]) -> Callable:
    """Adds a target with such a series for an endpoint."""
    labels = ",".join(['endpoint="load/silent"', *series.split(",")[1:]])
    name = series.split(",")[0]
    return fake_target(lambda scrapes: f"receipt_gateway_webhook_{name}{{{labels}}} {value(scrapes)}\n")


def jobs(outcome: str) -> Callable:
    """Adds a target whose deferred verifications end so."""
    return fake_target(lambda scrapes: f'receipt_gateway_jobs_total{{outcome="{outcome}"}} {scrapes}\n')


def server_api_calls(outcome: str) -> Callable:
    """Adds a target whose calls of the App Store Server API end so. No key of Apple's is needed."""
    series = f'operation="transaction_history",environment="production",outcome="{outcome}"'
    return fake_target(lambda scrapes: f"receipt_gateway_server_api_calls_total{{{series}}} {scrapes}\n")


def _connected(fleet: Fleet) -> None:
    wait_until(
        "both gateways are connected to Redis again",
        lambda: len(fleet.query('receipt_gateway_store_state{state="connected"} == 1')) == 2,
        30,
    )


SCENES = [
    Scene(
        "Apple is down",
        [
            Fault(
                "Apple answers every request with 503",
                ["AppleErrorRateHigh", "CircuitBreakerOpen", "DegradedAnswers", "VerificationsUndecided"],
                apple({"fault": {"http_status": 503}}),
                mix={**Load.USUAL, "unknown": 100},
            ),
        ],
    ),
    Scene(
        "Apple misbehaves",
        [
            Fault(
                "Apple takes 1.5 s",
                ["LatencyBurnsFast", "LatencyBurnsSlowly"],
                apple({"latency": 1.5}),
                mix={"uncached": 1},
            ),
            Fault("the shared secret was changed", ["SharedSecretRejected"], apple(shared_secret="f" * 32)),
            Fault(
                "Apple answers every third request with 429",
                ["AppleThrottling"],
                apple({"share": 0.33, "fault": {"throttled": 1000}}),
            ),
            Fault(
                "Apple calls a tenth of the receipts malformed, as on 7 February 2023",
                ["AppleRejectsGenuineReceipts"],
                apple({"share": 0.1, "fault": {"receipt_status": 21002}}),
            ),
            Fault(
                "responses are for another app",
                ["UpstreamTLSInterception"],
                apple({"endpoint": "sandbox", "share": 0.2, "fault": {"tampered": "other_bundle_id"}}),
            ),
            Fault(
                "responses claim another expiry date than Apple signed",
                ["AppleAnswersRejected"],
                apple({"endpoint": "sandbox", "share": 0.2, "fault": {"tampered": "expires_2099"}}),
            ),
            Fault(
                "genuine receipts become receipts of an unknown authority",
                ["ReceiptCertificatesRejected"],
                nothing,
                mix={"strange": 1},
            ),
        ],
    ),
    Scene(
        "Redis",
        [
            Fault("Redis is flushed continuously", ["CacheHitRatioDropped"], redis_emptied),
            Fault("Redis is full", ["RedisWritesRejected"], redis_full),
            Fault("values in Redis are modified", ["RedisDataTampered"], redis_tampered),
            Fault(
                "one node has another cache key",
                ["CacheKeyMismatch"],
                second_gateway(GATEWAY_CACHE_KEYS=f"other:{CACHE_KEY}"),
            ),
            Fault("one node has another Redis", ["FleetSplit"], second_redis),
            Fault("Redis is killed", ["RedisUnavailable", "RedisErrorRateHigh", "RateLimitsDegraded"], redis_killed),
            Fault("Redis requires a password", ["RedisMisconfigured"], redis_password),
        ],
    ),
    Scene(
        "nodes",
        [
            Fault(
                "request bodies fill their memory",
                ["Overloaded", "ErrorsBurnFast", "ErrorsBurnSlowly"],
                bodies_everywhere,
            ),
            Fault(
                "one node of another version (made up)",
                ["VersionMismatch"],
                fake_target(lambda _: 'receipt_gateway_build_info{version="9"} 1\n'),
            ),
            Fault(
                "a count without a series (made up)",
                ["MetricsLost"],
                fake_target(lambda _: "prometheus_export_undeclared_total 1\n"),
            ),
            Fault("one node restarts three times", ["FrequentRestarts"], started_again),
            Fault("one node is killed", ["TargetDown"], second_killed),
            Fault("all nodes are killed", ["Down"], all_killed),
        ],
    ),
    Scene(
        "configuration",
        [
            Fault("the clients file has an error", ["ConfigurationReloadFailed"], clients_broken),
            Fault("an API key expires in ten days", ["APIKeyExpiresSoon"], key_expires_soon),
            Fault("a trust root expires in ten days", ["CertificateExpiresSoon"], root_expires_soon),
            Fault(
                "an unknown intermediate certificate (made up: only Apple can sign one)",
                ["UnknownIntermediateCertificate"],
                fake_target(lambda scrapes: f"receipt_gateway_unknown_intermediates_total {min(scrapes, 1)}\n"),
            ),
        ],
    ),
    Scene(
        "the App Store Server API",
        [
            Fault(
                "Apple rejects a key (made up)",
                ["ServerAPIKeyRejected"],
                fake_target(
                    lambda _: (
                        'receipt_gateway_server_api_key_paused{key_id="2X9R4HXF34",bundle_id="com.example.shop"} 1\n'
                    )
                ),
            ),
            Fault("an app's budget is used up (made up)", ["ServerAPIBudgetExhausted"], server_api_calls("budget")),
            Fault("Apple answers 429 (made up)", ["ServerAPIThrottled"], server_api_calls("throttled")),
            Fault(
                "a clock is 45 seconds fast (made up)",
                ["ServerAPIClockSkew"],
                fake_target(lambda _: 'receipt_gateway_server_api_clock_skew_seconds{environment="production"} -45\n'),
            ),
            Fault(
                "clients try transaction IDs (made up)",
                ["UnknownTransactionIDs"],
                fake_target(lambda scrapes: f"receipt_gateway_unknown_transaction_ids_total {5 * scrapes}\n"),
            ),
        ],
    ),
    Scene(
        "Apple's notifications",
        [
            Fault("Apple sends those of another app", ["NotificationUnknownApp"], notifications_unknown),
            Fault(
                "Apple posts none, and its history has some (made up)",
                ["NotificationsUndelivered"],
                fake_target(
                    lambda scrapes: (
                        'receipt_gateway_notifications_received_total{version="v2",origin="history",outcome="stored"} '
                        f"{scrapes}\n"
                    )
                ),
            ),
            Fault("Redis may evict them", ["NotificationsRefused"], redis_evicts),
            Fault("one was changed in Redis", ["NotificationDeadLetters"], notification_damaged),
            Fault(
                "the oldest waits for a minute (made up)",
                ["NotificationBacklog"],
                fake_target(lambda _: "receipt_gateway_notification_oldest_pending_seconds 61\n"),
            ),
            Fault(
                "Apple's history cannot be read (made up)",
                ["NotificationRecoveryFailing"],
                fake_target(
                    lambda scrapes: f'receipt_gateway_notification_recoveries_total{{outcome="failed"}} {scrapes}\n'
                ),
            ),
            Fault(
                "an app has had none for almost a week (made up)",
                ["NotificationsSilent"],
                fake_target(
                    lambda scrapes: (
                        'receipt_gateway_notification_last_age_seconds{bundle_id="com.example.silent"} '
                        f"{600_000 + scrapes % 2}\n"
                    )
                ),
                seconds=90,
            ),
        ],
    ),
    Scene(
        "webhooks",
        [
            Fault("the receiver answers 500", ["WebhookFailing"], receiver_answers(500)),
            Fault("the receiver answers 410", ["WebhookDisabled"], receiver_answers(410)),
            Fault(
                "an event is given up (made up)",
                ["WebhookDeadEvents"],
                webhook('deliveries_total,outcome="dead"', lambda scrapes: scrapes),
            ),
            Fault("an endpoint is late (made up)", ["WebhookLagHigh"], webhook("lag_seconds", lambda _: 301)),
            Fault(
                "an endpoint missed events (made up)",
                ["EventsMissed"],
                webhook("missed_events_total", lambda scrapes: scrapes),
            ),
        ],
    ),
    Scene(
        "deferred verifications",
        [
            Fault(
                "Apple answers, and one has waited for two hours (made up)",
                ["DeferredVerificationsStalled"],
                fake_target(lambda _: "receipt_gateway_job_oldest_seconds 7201\n"),
            ),
            Fault("one is given up (made up)", ["DeferredVerificationsFailed"], jobs("failed")),
            Fault(
                "a client has too many (made up)", ["DeferredVerificationsRefused"], jobs("refused_client_limit")
            ),
        ],
    ),
    Scene(
        "the end of verifyReceipt",
        [
            Fault("Apple announces the end in 90 days", ["SunsetApproaching/info"], sunset(90)),
            Fault("an app has no key, and the end is near", ["SunsetAppWithoutKey"], app_without_key),
            Fault("Apple announces the end in 30 days", ["SunsetApproaching/warning"], sunset(30)),
            Fault(
                "Apple announces the end in 7 days",
                ["SunsetApproaching/critical", "SunsetTrafficRemaining"],
                sunset(7),
            ),
        ],
    ),
]
