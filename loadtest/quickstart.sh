#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Starts a gateway that also trusts throw-away test roots, verifies a sample receipt and a sample signed transaction, and
# stays up until ^C.
set -euo pipefail
cd "$(dirname "$0")/.."

binaries=.build/release
samples=.run/receipts
port=${GATEWAY_HTTP_PORT:-8080}
admin=${GATEWAY_ADMIN_PORT:-9090}
url="http://127.0.0.1:$port/v1/verify"

# Another server here would answer in the place of the gateway.
for number in "$port" "$admin"; do
    if (exec 3<>"/dev/tcp/127.0.0.1/$number") 2>/dev/null; then
        echo "Port $number is taken: set GATEWAY_HTTP_PORT and GATEWAY_ADMIN_PORT." >&2
        exit 1
    fi
done

rm -rf "$samples"
"$binaries/receipt-loadtest" corpus --out "$samples" --count 20 --seed "${SEED:-1}"

# Apple knows nothing of the samples, and is not asked about them.
GATEWAY_APPLE_ENABLED=false GATEWAY_TRUST_ROOTS="$samples/root.pem,$samples/jws-root.pem=Sandbox+Production" \
    GATEWAY_HTTP_PORT=$port GATEWAY_ADMIN_PORT=$admin GATEWAY_SHUTDOWN_DRAIN_DELAY=0s \
    "$binaries/receipt-gateway" serve 2>.run/gateway.log &
gateway=$!
trap 'kill -INT $gateway 2>/dev/null || true; wait $gateway 2>/dev/null || true' EXIT
trap 'exit 0' INT TERM

for _ in $(seq 100); do
    kill -0 $gateway 2>/dev/null || { cat .run/gateway.log >&2; echo "The gateway did not start." >&2; exit 1; }
    curl -fs "http://127.0.0.1:$admin/readyz" >/dev/null && break
    sleep 0.1
done

text() { tr -d '\n' <"$samples/$1"; }
ask() { curl -sS "$url" -H 'Content-Type: application/json' --data-binary @-; }

printf '\nA receipt that a test root signed:\n\n'
printf '{"receipt":"%s"}' "$(text genuine-1.b64)" | ask
printf '\n\nA receipt with one bit of its content flipped:\n\n'
printf '{"receipt":"%s"}' "$(text fault-payload-bit-flipped.b64)" | ask
printf '\n\nA signed transaction of StoreKit 2, with its renewal info:\n\n'
printf '{"signed_transactions":["%s"],"signed_renewal_infos":["%s"]}' "$(text jws-transaction.jws)" \
    "$(text jws-renewal-info.jws)" | ask
cat <<TEXT


Try it yourself, with a sample, or with a real receipt (base64) or signed transaction (JWS) of yours in a file:

  printf '{"receipt":"%s"}' "\$(tr -d '\\n' <$samples/genuine-2.b64)" |
    curl -sS $url -H 'Content-Type: application/json' --data-binary @-
  printf '{"signed_transactions":["%s"]}' "\$(tr -d '\\n' <$samples/jws-transaction.jws)" |
    curl -sS $url -H 'Content-Type: application/json' --data-binary @-

The gateway is up on port $port, its status page on http://127.0.0.1:$admin/, its log in .run/gateway.log.
Stop it with ^C.
TEXT
wait $gateway
