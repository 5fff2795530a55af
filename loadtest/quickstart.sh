#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Starts a gateway that also trusts a throw-away test root, verifies a sample receipt, and stays up until ^C.
set -euo pipefail
cd "$(dirname "$0")/.."

binaries=.build/release
samples=.run/receipts
port=${GATEWAY_HTTP_PORT:-8080}
admin=${GATEWAY_ADMIN_PORT:-9090}
url="http://127.0.0.1:$port/v1/verify"

rm -rf "$samples"
"$binaries/receipt-loadtest" corpus --out "$samples" --count 20 --seed "${SEED:-1}"

# Apple knows nothing of the samples, and is not asked about them.
GATEWAY_APPLE_ENABLED=false GATEWAY_TRUST_ROOTS="$samples/root.pem" GATEWAY_HTTP_PORT=$port GATEWAY_ADMIN_PORT=$admin \
    GATEWAY_SHUTDOWN_DRAIN_DELAY=0s "$binaries/receipt-gateway" serve 2>.run/gateway.log &
gateway=$!
trap 'kill -INT $gateway 2>/dev/null || true; wait $gateway 2>/dev/null || true' EXIT
trap 'exit 0' INT TERM

for _ in $(seq 100); do
    kill -0 $gateway 2>/dev/null || { cat .run/gateway.log >&2; echo "The gateway did not start." >&2; exit 1; }
    curl -fs "http://127.0.0.1:$admin/readyz" >/dev/null && break
    sleep 0.1
done

body() { printf '{"receipt":"%s"}' "$(tr -d '\n' <"$1")"; }
ask() { body "$1" | curl -sS "$url" -H 'Content-Type: application/json' --data-binary @-; }

printf '\nA receipt that the test root signed:\n\n'
ask "$samples/genuine-1.b64"
printf '\n\nThe same, with one bit of its content flipped:\n\n'
ask "$samples/fault-payload-bit-flipped.b64"
cat <<TEXT


Try it yourself, with a sample or with a real receipt of yours (as base64 in a file):

  printf '{"receipt":"%s"}' "\$(tr -d '\\n' <$samples/genuine-2.b64)" |
    curl -sS $url -H 'Content-Type: application/json' --data-binary @-

The gateway is up on port $port, its status page on http://127.0.0.1:$admin/, its log in .run/gateway.log.
Stop it with ^C.
TEXT
wait $gateway
