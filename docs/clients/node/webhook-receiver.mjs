// SPDX-License-Identifier: Apache-2.0
//
// A receiver of the gateway's events (docs/events.md). Node 18 or later, nothing but what comes with it.
//
//   WEBHOOK_KEYS=whsec_… node webhook-receiver.mjs EVENTS.jsonl
//
// takes webhooks on WEBHOOK_PORT (8000) of this machine, and stores each event once, as a line of a file. WEBHOOK_KEYS has
// the secret `whsec_…` (HMAC), or the public key `whpk_…` (Ed25519); during a rotation both old and new, separated by a
// space. Put a proxy with your certificate in front of it. The file serves one process. Several need a database, with
// the ID as primary key: webhook_receiver.py shows it.

import { createHmac, createPublicKey, timingSafeEqual, verify } from "node:crypto";
import { existsSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";

// The age at which a copied request is refused.
const toleranceSeconds = 5 * 60;
const bodyBytes = 1 << 20;
const requestMs = 10_000;

/** The request is not from the gateway, or is a copy of an old one. */
class Rejected extends Error {
  constructor(status, why) {
    super(why);
    this.status = status;
  }
}

/** A function that checks one signature, for a key in the form of Standard Webhooks. */
function checker(key) {
  const [, kind, text] = /^(whsec|whpk)_([A-Za-z0-9+/]+={0,2})$/.exec(key) ?? [];
  if (!kind) throw new Error("WEBHOOK_KEYS needs keys that begin with whsec_ or whpk_, separated by spaces");
  const bytes = Buffer.from(text, "base64");
  if (kind === "whpk") {
    const jwk = { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") };
    const publicKey = createPublicKey({ key: jwk, format: "jwk" });
    return (version, signature, signed) => version === "v1a" && verify(null, signed, publicKey, signature);
  }
  return (version, signature, signed) => {
    if (version !== "v1") return false;
    const expected = createHmac("sha256", bytes).update(signed).digest();
    // timingSafeEqual takes the same time wherever two values differ.
    return signature.length === expected.length && timingSafeEqual(signature, expected);
  };
}

/** Throws unless one of the signatures is by one of the keys. `body` has the bytes as they came. */
function check(headers, body, checkers, nowSeconds) {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
  if (!id || !/^[0-9]{1,12}$/.test(timestamp ?? "")) {
    throw new Rejected(401, "webhook-id or webhook-timestamp is missing or malformed");
  }
  if (Math.abs(nowSeconds - Number(timestamp)) > toleranceSeconds) {
    throw new Rejected(401, "webhook-timestamp is more than five minutes off");
  }
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const isGenuine = (signatures ?? "").split(" ").some((signature) => {
    const [version, text = ""] = signature.split(",");
    const bytes = Buffer.from(text, "base64");
    return bytes.toString("base64") === text && checkers.some((holds) => holds(version, bytes, signed));
  });
  if (!isGenuine) throw new Rejected(401, "no signature is by one of the keys");
  return id;
}

/** The events, each once: a line with its ID, written before the answer. */
class Store {
  #ids = new Set();
  #file;
  #length;

  constructor(path) {
    const text = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
    this.#file = openSync(path, "a");
    // A crash may cut the last line off: its event got no answer, and the gateway sends it again.
    this.#length = text.lastIndexOf("\n") + 1;
    ftruncateSync(this.#file, this.#length);
    const lines = text.subarray(0, this.#length).toString().split("\n").filter(Boolean);
    for (const line of lines) this.#ids.add(JSON.parse(line).id);
  }

  /** False if the event was stored before. Then it has no effect. Nothing else runs in between: no call waits. */
  add(id, event) {
    if (this.#ids.has(id)) return false;
    const line = Buffer.from(JSON.stringify({ id, event }) + "\n");
    try {
      if (writeSync(this.#file, line) < line.length) throw new Error("the disk is full");
      fsyncSync(this.#file);
    } catch (error) {
      ftruncateSync(this.#file, this.#length);
      throw error;
    }
    this.#length += line.length;
    this.#ids.add(id);
    return true;
  }
}

async function bodyOf(request) {
  const chunks = [];
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > bodyBytes) throw new Rejected(413, "the body is too large");
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > bodyBytes) throw new Rejected(413, "the body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The status of the answer. What takes time is for later, from the file: the gateway waits some seconds only. */
async function receive(request, store, checkers) {
  if (request.method !== "POST") return 405;
  const body = await bodyOf(request);
  const id = check(request.headers, body, checkers, Date.now() / 1000);
  // Only now is anything of the body read.
  const event = parsed(body);
  if (!store.add(id, event)) {
    console.log(id, "again: no effect");
  } else {
    // After a gap an earlier event of this purchase is missing: verify its transaction ID for the current state.
    console.log(id, event.type, ...(event.gap ? ["after a gap"] : []));
  }
  return 204;
}

function parsed(body) {
  let event;
  try {
    event = JSON.parse(body.toString());
  } catch {
    // Refused below.
  }
  if (typeof event?.type !== "string") throw new Rejected(400, "the body is no event");
  return event;
}

const keys = (process.env.WEBHOOK_KEYS ?? "").split(" ").filter(Boolean);
const [path] = process.argv.slice(2);
if (!path || !keys.length) {
  console.error("usage: WEBHOOK_KEYS=whsec_… node webhook-receiver.mjs EVENTS.jsonl");
  process.exit(64);
}
const store = new Store(path);
const checkers = keys.map(checker);
const server = createServer({ requestTimeout: requestMs }, async (request, response) => {
  const status = await receive(request, store, checkers).catch((error) => {
    console.log(error instanceof Rejected ? "rejected:" : "not stored:", error.message);
    // Without a status of its own it is a fault here: the gateway sends the event again.
    return error.status ?? 503;
  });
  // The rest of a body that is too large is not read.
  if (status === 413) response.shouldKeepAlive = false;
  response.writeHead(status).end();
});
server.listen(Number(process.env.WEBHOOK_PORT ?? "8000"), "127.0.0.1", () => {
  console.log(`listening on port ${server.address().port}`);
});
