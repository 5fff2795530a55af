#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The fleet of compose.yaml without a container engine: its settings, its HAProxy, its Prometheus and its key, on this
# machine's loopback interface. It stays up until ^C, and then ends what it started and nothing else. Everything it writes
# lies in .run/fleet. SCENARIO=outage-2020-01-24 gives Apple a bad day; FLEET_PORT_8080=18080 moves a port that is taken.
set -euo pipefail
cd "$(dirname "$0")/.."

binaries=$PWD/.build/release
run=$PWD/.run/fleet
export PATH="$PATH:/usr/sbin"
# As in compose.yaml; Redis has another one than a Redis that may be here already.
ports=(8080 8404 9095 8081 9091 8082 9092 9001 9002 6390)

fail() { echo "fleet: $*" >&2; exit 1; }
port() { local name=FLEET_PORT_$1; echo "${!name:-$1}"; }

scenario=loadtest/scenarios/${SCENARIO:-quiet}.yaml
[ -f "$scenario" ] || fail "SCENARIO=$SCENARIO: there is no $scenario"
for program in redis-server haproxy prometheus; do
    command -v $program >/dev/null || fail "$program is not installed: .ci/deps fleet"
done
for number in "${ports[@]}"; do
    if (exec 3<>"/dev/tcp/127.0.0.1/$(port "$number")") 2>/dev/null; then
        fail "port $(port "$number") is taken; FLEET_PORT_$number=PORT in front of the command moves it"
    fi
done

# Containers find each other by name, and these programs by port.
here() {
    local number rules=(-e 's/gateway-[12]:/127.0.0.1:/g' -e 's/bind :/bind 127.0.0.1:/' -e 's/redis:6379/127.0.0.1:6390/'
        -e "s|: /receipts/|: $run/receipts/|" -e "s|/etc/receipt-gateway|$PWD/docs/compose|"
        -e "s|/etc/prometheus|$PWD/helm/receipt-gateway/files|" -e 's/0\.0\.0\.0/127.0.0.1/')
    for number in "${ports[@]}"; do rules+=(-e "s/\([: ]\)$number\b/\1$(port "$number")/g"); done
    sed "${rules[@]}" "$@"
}

stop() {
    trap '' INT TERM
    local running
    running=$(jobs -pr)
    [ -z "$running" ] || kill $running 2>/dev/null || true
    wait
}
trap stop EXIT
trap 'exit 0' INT TERM

start() { # NAME COMMAND...
    local name=$1
    shift
    "$@" >"$run/$name.log" 2>&1 </dev/null &
    echo $! >"$run/$name.pid"
}

await() { # NAME COMMAND...: until the command succeeds
    local name=$1
    shift
    for _ in $(seq 600); do
        if "$@" >/dev/null 2>&1; then return; fi
        kill -0 "$(cat "$run/$name.pid")" 2>/dev/null || break
        sleep 0.1
    done
    tail -5 "$run/$name.log" >&2
    fail "$name did not start"
}

gateway() { # NUMBER
    local settings line
    settings=$(sed -n '/^x-gateway-environment/,/^$/s/^  \(GATEWAY_.*\)/\1/p' compose.yaml | tr -d '"' | here)
    while IFS= read -r line; do export "${line%%: *}=${line#*: }"; done <<<"$settings"
    # A log that grows with every request is not wanted here.
    export GATEWAY_HTTP_PORT=$(port "808$1") GATEWAY_ADMIN_PORT=$(port "909$1") GATEWAY_LOG_REQUESTS=none
    start "gateway-$1" "$binaries/receipt-gateway" serve
}

rm -rf "$run"
mkdir -p "$run"
"$binaries/receipt-loadtest" corpus --out "$run/receipts" --count 200
sed -n "s/.*X-API-Key: \(rgk_[^']*\)'.*/\1/p" compose.yaml >"$run/key"

start redis redis-server --port "$(port 6390)" --bind 127.0.0.1 --save "" --appendonly no --dir "$run" \
    --maxmemory 64mb --maxmemory-policy volatile-lru
start apple "$binaries/receipt-loadtest" apple --pki "$run/receipts" --scenario "$scenario" \
    --production-port "$(port 9001)" --sandbox-port "$(port 9002)"
await redis bash -c "exec 3<>/dev/tcp/127.0.0.1/$(port 6390)"
await apple grep -q sandbox "$run/apple.log"
gateway 1
gateway 2
here docs/compose/haproxy.cfg >"$run/haproxy.cfg"
start haproxy haproxy -db -f "$run/haproxy.cfg"
here docs/compose/prometheus.yaml >"$run/prometheus.yaml"
start prometheus prometheus --config.file="$run/prometheus.yaml" --storage.tsdb.path="$run/prometheus" --log.level=warn \
    --storage.tsdb.retention.size=100MB --web.listen-address="127.0.0.1:$(port 9095)"
for number in 1 2; do await gateway-$number curl -fs "http://127.0.0.1:$(port 909$number)/readyz"; done
# Without a key a gateway answers 401, and HAProxy 503 until it has found one.
await haproxy bash -c "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:$(port 8080)/v1/status | grep -q 401"
await prometheus curl -fs "http://127.0.0.1:$(port 9095)/-/ready"

cat <<TEXT

The fleet is up: two gateways behind HAProxy, which share a Redis, and an Apple that is simulated ($scenario).

  verify a receipt   http://127.0.0.1:$(port 8080)   with the key in .run/fleet/key; receipts are in .run/fleet/receipts
  the gateways       http://127.0.0.1:$(port 9091)/ and http://127.0.0.1:$(port 9092)/ (status pages; /metrics beside them)
  HAProxy            http://127.0.0.1:$(port 8404)
  Prometheus         http://127.0.0.1:$(port 9095)

Logs and process numbers are in .run/fleet. Stop it with ^C.
TEXT
wait
