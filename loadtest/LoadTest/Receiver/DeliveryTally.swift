// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// The counts of one endpoint's deliveries. The memory of a million events is about 50 MB: IDs are kept as digests.
struct DeliveryTally: Sendable {
    enum Limits {
        /// The IDs, and again the chains, that are kept; later IDs are counted as `untracked`.
        static let digests = 2_000_000
    }

    /// In `GET /stats`, in snake case.
    struct Counts: Hashable, Sendable, Codable {
        /// Requests at the endpoint's path, whatever the answer.
        var requests = 0
        /// Requests at any other path: redirects that were followed.
        var elsewhere = 0
        /// Requests whose signature is missing, wrong, or too old.
        var unsigned = 0
        /// Requests without an event, or with fields that disagree with it.
        var malformed = 0
        /// Requests that a fault refused, before their content counts.
        var refused = 0
        /// Deliveries that the endpoint took: `distinct`, `duplicates` and `untracked`.
        var accepted = 0
        var distinct = 0
        var duplicates = 0
        /// Distinct events of a chain with an earlier `timestamp` than an event that arrived before.
        var orderViolations = 0
        /// Events that follow an event that was given up.
        var gaps = 0
        var untracked = 0
    }

    private struct Chain {
        var time = ""
        /// Of all IDs in the order of their first delivery.
        var order: UInt64 = 0
    }

    private(set) var counts = Counts()
    private(set) var first, last: ContinuousClock.Instant?
    private var ids: Set<UInt64> = []
    private var chains: [UInt64: Chain] = [:]
    /// A digest of the order within each chain, equal at two endpoints that received the same events of each chain in
    /// the same order, whatever the order of different chains and the duplicates.
    private(set) var order: UInt64 = 0

    mutating func count(_ counter: WritableKeyPath<Counts, Int>) { counts[keyPath: counter] += 1 }

    /// Counts a delivery that the endpoint took.
    mutating func accept(id: String, _ event: ReceivedEvent?, at now: ContinuousClock.Instant) {
        counts.accepted += 1
        first = first ?? now
        last = now
        let digest = Self.digest(of: id)
        guard !ids.contains(digest) else { return counts.duplicates += 1 }
        guard ids.count < Limits.digests else { return counts.untracked += 1 }
        ids.insert(digest)
        counts.distinct += 1
        if let event { append(event, digest) }
    }

    private mutating func append(_ event: ReceivedEvent, _ digest: UInt64) {
        if event.followsGap { counts.gaps += 1 }
        guard let id = event.chain else { return }
        let key = Self.digest(of: id)
        var chain = chains[key] ?? Chain()
        if event.time < chain.time { counts.orderViolations += 1 }
        order ^= chain.order
        chain = Chain(time: max(chain.time, event.time), order: Self.following(chain.order, digest))
        order ^= chain.order
        chains[key] = chain
    }

    /// Returns the digest of a sequence with one more element.
    private static func following(_ order: UInt64, _ digest: UInt64) -> UInt64 {
        // Knuth's multiplier, and a rotation: the order of elements matters.
        let mixed = (order ^ digest) &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return mixed << 23 | mixed >> 41
    }

    /// Returns FNV-1a, which does not depend on the process: IDs are even already, and no receiver's guess depends on
    /// it.
    private static func digest(of id: String) -> UInt64 {
        id.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}

struct ReceivedDelivery: Hashable, Sendable {
    /// The fields by lower-case name.
    let headers: [String: String]
    let body: [UInt8]

    /// The value of `webhook-id`; empty without the field.
    var id: String { headers["webhook-id"] ?? "" }
    var timestamp: String { headers["webhook-timestamp"] ?? "" }

    private enum Limits {
        /// The tolerance of Standard Webhooks for `webhook-timestamp`, in seconds.
        static let clockDifference: Int64 = 300
    }

    /// Returns true if one of the keys signed it, at about this time.
    /// - Parameter now: in seconds since 1970.
    func isSigned(by keys: [WebhookVerifier], at now: Int64) -> Bool {
        guard let signatures = headers["webhook-signature"], let time = Int64(timestamp),
            abs(now - time) <= Limits.clockDifference
        else { return false }
        return keys.contains { $0.accepts(signatures, id: id, timestamp: timestamp, body: body) }
    }

    /// The event of the body; nil if it is none, or if the body and the fields disagree.
    var event: ReceivedEvent? {
        guard let event = ReceivedEvent(body), event.id == id, agrees(with: event) else { return nil }
        return event
    }

    /// Returns true if the CloudEvents attributes in the fields match the event.
    private func agrees(with event: ReceivedEvent) -> Bool {
        headers["ce-specversion"] == "1.0" && headers["ce-id"] == event.id && headers["ce-type"] == event.type
            && headers["ce-subject"] == event.chain
    }
}

/// The members of an event that order and loss are checked by.
struct ReceivedEvent: Hashable, Sendable {
    let id: String
    let type: String
    /// The original transaction ID; nil for an event about none.
    let chain: String?
    /// In RFC 3339 without the closing `Z`, so that texts compare as times do, with a fraction or without.
    let time: String
    /// True if an earlier event of the chain was given up.
    let followsGap: Bool

    private static let limits = JSONValue.Limits(bytes: 4 << 20, depth: 16, values: 100_000)

    /// Reads the JSON of an event; nil if it is none.
    init?(_ body: [UInt8]) {
        guard let json = try? JSONValue(parsing: body, limits: Self.limits), let id = json["id"]?.string,
            let type = json["type"]?.string, let time = json["timestamp"]?.string, time.hasSuffix("Z"),
            let data = json["data"], data.members != nil
        else { return nil }
        (self.id, self.type, self.time) = (id, type, String(time.dropLast()))
        chain = data["original_transaction_id"]?.string
        followsGap = json["gap"]?.bool ?? false
    }
}
