// SPDX-License-Identifier: Apache-2.0
//
// How a backend asks receipt-gateway. Node 18 or later, nothing but what comes with it.
//
//   RECEIPTS_BUNDLE_ID=com.example.shop node receipt-client.mjs EVIDENCE KNOWN.json
//
// prints whether to serve the customer, and why. EVIDENCE is what the app sent: a receipt in base64, one JWS, or the JSON
// of docs/storekit.md with the signed transactions of StoreKit 2. KNOWN.json stands for the row of your database that says
// what this customer had when you last knew. RECEIPTS_BUNDLE_ID is your app: evidence of another app is genuine, too.
// RECEIPTS_URL, RECEIPTS_KEY and RECEIPTS_MODE name the gateway, the API key and the mode.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const url = process.env.RECEIPTS_URL ?? "http://127.0.0.1:8080";
const key = process.env.RECEIPTS_KEY ?? "";
const mode = process.env.RECEIPTS_MODE ?? "auto";
const bundleID = process.env.RECEIPTS_BUNDLE_ID;
// All attempts together. The gateway itself waits for Apple for up to 4 s (gateway.apple.soft_timeout).
const deadlineMs = Number(process.env.RECEIPTS_DEADLINE ?? "10") * 1000;
const attemptMs = 6000;
const attempts = 4;
// The cost of an outage: a day of service for a known customer, an hour for an unknown one.
const keepKnownMs = 24 * 3600 * 1000;
const trustNewMs = 3600 * 1000;

/** No verdict now; not the customer's fault. */
class Unanswered extends Error {}

/** The fields of the request that hold evidence; null if the app sent none. All others are for this backend to choose. */
function evidence(sent) {
  if (!sent.trimStart().startsWith("{")) return sent.trim() ? { receipt: sent } : null;
  const { signed_transactions, signed_renewal_infos, app_transaction } = parsed(sent);
  // What is undefined is left out of JSON.
  if (signed_transactions?.length) return { signed_transactions, signed_renewal_infos, app_transaction };
  // A customer without purchases: the app itself is genuine.
  return app_transaction ? { receipt: app_transaction } : null;
}

function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}

/** The gateway's answer. Asking twice about a purchase does no harm, so what failed is simply asked again. */
async function verify(fields) {
  const question = JSON.stringify({ ...fields, mode, bundle_id: bundleID });
  const end = performance.now() + deadlineMs;
  let why = "no time left";
  for (let attempt = 0; attempt < attempts; attempt++) {
    const left = end - performance.now();
    if (left <= 0) break;
    let wait = backoff(attempt);
    try {
      const answer = await post(question, Math.ceil(Math.min(attemptMs, left)));
      if (answer.status === 200) return await answer.json();
      const problem = await answer.json().catch(() => ({}));
      why = `${answer.status} ${problem.code ?? ""}`.trim();
      // The app sent no base64, or no list: not a fault of ours, so no reason to serve.
      if (answer.status === 400 && problem.field in fields) {
        return { verdict: "rejected", reason: problem.fault ?? "malformed" };
      }
      // Any other 400, 401, 403: our request, our key, our configuration. A retry does not help: alert the operator.
      if (![429, 502, 503, 504].includes(answer.status)) throw new Unanswered(`${why}: ${problem.detail ?? ""}`);
      wait = retryAfter(answer.headers, attempt);
    } catch (error) {
      if (error instanceof Unanswered) throw error;
      why = error.cause?.code ?? error.name;
    }
    // Retry-After is a promise of the gateway's: earlier is in vain. Who cannot wait so long does not ask again.
    if (performance.now() + wait >= end) break;
    await sleep(wait);
  }
  throw new Unanswered(why);
}

function post(body, milliseconds) {
  return fetch(`${url}/v1/verify`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) },
    body,
    signal: AbortSignal.timeout(milliseconds), // for the whole answer, the body included
  });
}

/** In milliseconds; the gateway sends whole seconds. A little later than all others that were told the same. */
function retryAfter(headers, attempt) {
  const value = headers.get("Retry-After") ?? "";
  return /^\d+$/.test(value) ? Number(value) * 1000 + Math.random() * 500 : backoff(attempt);
}

function backoff(attempt) {
  return 50 + Math.random() * 200 * 2 ** attempt;
}

/** What genuine evidence entitles to now: a product, and until when (in milliseconds; null for ever). */
function entitlement(answer) {
  for (const subscription of answer.subscriptions) {
    if (["active", "in_grace_period"].includes(subscription.state)) {
      return { product: subscription.product_id, until_ms: subscription.access_until_ms };
    }
  }
  // What was bought once has no end. Consumables stay here until the app finishes them: credit each transaction_id once.
  const once = answer.transactions.find((purchase) => !purchase.expires_date && !purchase.cancellation_date);
  return once ? { product: once.product_id, until_ms: null } : null;
}

/** Whether to serve, why, and what to remember. */
async function decide(sent, known, now) {
  const fields = evidence(sent);
  if (!fields) return { serve: false, why: "no evidence", remember: known };
  let answer;
  try {
    answer = await verify(fields);
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    return withoutAnswer(error.message, known, now);
  }
  if (answer.verdict === "undecided") return withoutAnswer(`undecided, ${answer.reason}`, known, now);
  // It says nothing about what the customer had before.
  if (answer.verdict === "rejected") return { serve: false, why: `rejected, ${answer.reason}`, remember: known };
  const found = entitlement(answer);
  const { source, degraded } = answer.provenance;
  const word = source + (degraded ? ", degraded" : "");
  // Apple was wanted and did not come: a renewal may be missing. That takes nothing from anybody.
  if (!found && degraded && known) return withoutAnswer(word, known, now);
  return { serve: found !== null, why: `${found?.product ?? "nothing bought"} (${word})`, remember: found };
}

/** An outage is ours, not the customer's: who had something keeps it for a while, who is new gets in for a moment. */
function withoutAnswer(why, known, now) {
  if (!known) {
    const remember = { product: "provisional", until_ms: now + trustNewMs, provisional: true };
    return { serve: true, why: `provisional (${why})`, remember };
  }
  const end = known.until_ms;
  const serve = end === null || now < end + (known.provisional ? 0 : keepKnownMs);
  return { serve, why: `${known.product}, as last known (${why})`, remember: known };
}

const [evidenceFile, row] = process.argv.slice(2);
if (!row || !bundleID) {
  console.error("usage: RECEIPTS_BUNDLE_ID=ID node receipt-client.mjs EVIDENCE KNOWN.json");
  process.exit(64);
}
const known = existsSync(row) ? JSON.parse(readFileSync(row, "utf8")) : null;
const { serve, why, remember } = await decide(readFileSync(evidenceFile, "utf8"), known, Date.now());
writeFileSync(row, JSON.stringify(remember));
console.log(serve ? "serve" : "refuse", "–", why);
process.exitCode = serve ? 0 : 1;
