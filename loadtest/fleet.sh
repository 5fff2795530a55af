#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The fleet of compose.yaml without a container engine: its settings, its HAProxy, its Prometheus and its keys, on this
# machine's loopback interface. It shows a receipt and a signed transaction being verified, and a notification of Apple's
# that becomes an event and a webhook. It stays up until ^C, and then ends what it started and nothing else. Everything it
# writes lies in .run/fleet. SCENARIO=outage-2020-01-24 gives Apple a bad day; FLEET_PORT_8080=18080 moves a port that is
# taken.
set -euo pipefail
cd "$(dirname "$0")/.."

binaries=$PWD/.build/release
run=$PWD/.run/fleet
export PATH="$PATH:/usr/sbin"
# As in compose.yaml; Redis has another one than a Redis that may be here already.
ports=(8080 8404 9095 8081 9091 8082 9092 9001 9002 9300 9301 6390)

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
        -e "s|\([ ,]\)/receipts/|\1$run/receipts/|g" -e "s|/etc/receipt-gateway|$run|"
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
    # For the commands of receipt-gateway beside it.
    declare -p ${!GATEWAY_*} >"$run/gateway-$1.env"
    start "gateway-$1" "$binaries/receipt-gateway" serve
}

rm -rf "$run"
mkdir -p "$run"
"$binaries/receipt-loadtest" corpus --out "$run/receipts" --count 200
sed -n "s/.*X-API-Key: \(rgk_[^']*\)'.*/\1/p" compose.yaml >"$run/key"
sed -n "s/.*X-API-Key: //p" docs/compose/clients.yaml >"$run/shop-key"
sed -n "s/^  # rgk_/rgk_/p" docs/compose/clients.yaml >"$run/app-key"
sed -n "s/.*secrets: \[\(whsec_.*\)\]/\1/p" docs/compose/clients.yaml >"$run/webhook-key"
here docs/compose/clients.yaml >"$run/clients.yaml"

start redis redis-server --port "$(port 6390)" --bind 127.0.0.1 --save "" --appendonly no --dir "$run" \
    --maxmemory 64mb --maxmemory-policy volatile-lru
start apple "$binaries/receipt-loadtest" apple --pki "$run/receipts" --scenario "$scenario" --customers 100 \
    --production-port "$(port 9001)" --sandbox-port "$(port 9002)"
start receiver "$binaries/receipt-loadtest" receiver --endpoint "crm:$(port 9301)" --control-port "$(port 9300)" \
    --key "$(cat "$run/webhook-key")"
await redis bash -c "exec 3<>/dev/tcp/127.0.0.1/$(port 6390)"
await apple grep -q sandbox "$run/apple.log"
await receiver grep -q control "$run/receiver.log"
gateway 1
gateway 2
here docs/compose/haproxy.cfg >"$run/haproxy.cfg"
start haproxy haproxy -db -f "$run/haproxy.cfg"
here docs/compose/prometheus.yaml >"$run/prometheus.yaml"
start prometheus prometheus --config.file="$run/prometheus.yaml" --storage.tsdb.path="$run/prometheus" --log.level=warn \
    --storage.tsdb.retention.size=100MB --web.listen-address="127.0.0.1:$(port 9095)"
for number in 1 2; do await gateway-$number curl -fs "http://127.0.0.1:$(port 909$number)/readyz"; done
# Without a key a gateway answers 401, and HAProxy 503 until it has found one.
await haproxy bash -c "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:$(port 8080)/v1/status | grep 401 >/dev/null"
await prometheus curl -fs "http://127.0.0.1:$(port 9095)/-/ready"

# What it can do, shown once, with a receipt and a customer that no page needs unseen. A simulated outage may leave an
# answer out, and is no fault of the fleet.
gateway=http://127.0.0.1:$(port 8080) apple=http://127.0.0.1:$(port 9001) receiver=http://127.0.0.1:$(port 9300)
key="X-API-Key: $(cat "$run/key")"
text() { tr -d '\n' <"$run/receipts/$1"; }
# The beginning of an answer, which is one long line.
ask() { curl -sS "$gateway/v1/verify" -H "$key" -H 'Content-Type: application/json' --data-binary @- | cut -c1-330; }

printf '\nA receipt that a test root signed:\n\n'
printf '{"receipt":"%s"}' "$(text genuine-100.b64)" | ask
printf '\nA signed transaction of StoreKit 2:\n\n'
printf '{"signed_transactions":["%s"]}' "$(text jws-transaction.jws)" | ask

printf '\nA renewal, of which Apple notifies the gateway, is an event:\n\n'
shop='"bundle_id":"com.example.shop","environment":'
for environment in production sandbox; do
    curl -sS -X PUT "$apple/notifications" -d "{$shop\"$environment\",\"url\":\"$gateway/apple/notifications\"}"
done
curl -sS "$apple/notifications" -o "$run/sent" \
    -d "{$shop\"production\",\"type\":\"DID_RENEW\",\"original_transaction_id\":\"2000001000000000\"}"
curl -sS "$gateway/v1/events?wait=20" -H "X-API-Key: $(cat "$run/shop-key")"
printf '\n\nand a webhook, which the receiver has counted:\n\n'
for _ in $(seq 200); do
    curl -sS "$receiver/stats" >"$run/received"
    if grep -q '"accepted" : 1,' "$run/received"; then break; fi
    sleep 0.1
done
grep -E '"(accepted|duplicates|unsigned)"' "$run/received"
curl -sS -X DELETE "$apple/stats"

cat <<TEXT

The fleet is up: two gateways behind HAProxy, which share a Redis, and an Apple that is simulated ($scenario).

  send requests      $gateway   with the key in .run/fleet/key; receipts and JWS are in .run/fleet/receipts
  simulated Apple    $apple/stats   (its other requests: receipt-loadtest apple --help)
  the app's events   $gateway/v1/events   with the key in .run/fleet/shop-key
  plugins in apps    $gateway/v1/validate   with the key in .run/fleet/app-key
  webhooks           $receiver/stats   for the endpoint shop/crm, with the key in .run/fleet/webhook-key
  the gateways       http://127.0.0.1:$(port 9091)/ and http://127.0.0.1:$(port 9092)/ (status pages; /metrics beside them)
  HAProxy            http://127.0.0.1:$(port 8404)
  Prometheus         http://127.0.0.1:$(port 9095)

Logs, process numbers and the gateways' settings are in .run/fleet. Stop it with ^C.
TEXT
wait
