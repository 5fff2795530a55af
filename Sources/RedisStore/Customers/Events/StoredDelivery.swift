// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import JSON
internal import Receipts
internal import Redis

/// The keys of the deliveries of one partition to one endpoint, in the hash slot of the partition. None expires.
///
/// ```
/// gw:{n:<app>:<number>}:deliveries                          sorted set: the queues, by the time of their last change
/// gw:{n:<app>:<number>}:delivery:<endpoint>:<stream>        hash: the position, the time of a 410, and the lease
/// gw:{n:<app>:<number>}:delivery:<endpoint>:<stream>:held   sorted set: the events that wait, by number
/// gw:{n:<app>:<number>}:delivery:<endpoint>:<stream>:dead   sorted set: the events that were given up, by number
/// gw:{n:<app>:<number>}:delivery:<endpoint>:<stream>:gaps   hash: the chains whose next event is marked
/// ```
/// The endpoint is a digest of its name without a secret, so that its state survives a change of the cache keys.
struct DeliveryKeys: Sendable {
    let queues: RedisWord
    let queue: RedisWord
    let held: RedisWord
    let gaps: RedisWord
    let dead: RedisWord
    let totals: RedisWord
    let log: RedisWord
    /// The name that binds encrypted values to the queue.
    let sealedName: String

    init(_ queue: DeliveryQueue) {
        let keys = NotificationKeys(queue.partition)
        let endpoint = Fingerprint(of: Array(queue.endpoint.utf8).span).description.prefix(16)
        sealedName = "\(keys.prefix)delivery:\(endpoint):\(queue.stream.rawValue)"
        (queues, self.queue) = (RedisWord(keys.prefix + "deliveries"), RedisWord(sealedName))
        (totals, log) = (keys.totals, keys.log(queue.stream))
        (held, gaps, dead) = Self.parts(of: self.queue)
    }

    /// Returns the keys of held events, gaps and dead events.
    private static func parts(of queue: RedisWord) -> (held: RedisWord, gaps: RedisWord, dead: RedisWord) {
        func part(_ name: String) -> RedisWord { RedisWord(queue.bytes + Array(":\(name)".utf8)) }
        return (part("held"), part("gaps"), part("dead"))
    }

    /// Returns all keys of a queue, derived from its hash's key.
    static func all(of queue: RedisWord) -> [RedisWord] {
        let parts = parts(of: queue)
        return [queue, parts.held, parts.gaps, parts.dead]
    }
}

/// An event of a queue as a member of a sorted set: its position, a space, and the rest encrypted.
struct StoredDelivery {
    let position: EventPosition
    let sealed: [UInt8]

    init(_ position: EventPosition, sealed: [UInt8]) {
        self.position = position
        self.sealed = sealed
    }

    init?(_ member: RedisValue) {
        guard let bytes = member.bytes, let space = bytes.firstIndex(of: UInt8(ascii: " ")),
            let position = String(outside: bytes[..<space]).flatMap({ EventPosition(text: $0) })
        else { return nil }
        self.init(position, sealed: Array(bytes[(space + 1)...]))
    }

    /// Its number, and the member.
    var words: [RedisWord] {
        [RedisWord(position.number), RedisWord(Array("\(position.text) ".utf8) + sealed)]
    }
}

/// The stored form of a held event, before encryption:
///
/// ```
/// 1 byte   version of the form, 1
/// text     chain
/// 8 bytes  failed attempts
/// date     next attempt
/// date     first attempt
/// ```
extension HeldEvent {
    private static let storedForm: UInt8 = 1

    var storedBytes: [UInt8] {
        var fields = StoredFieldWriter(), event = self
        fields.write(Self.storedForm)
        fields.write(Optional(chain))
        fields.write(Int64(attempts))
        fields.date("next_attempt", &event.nextAttempt)
        fields.date("first_attempt", &event.firstAttempt)
        return fields.bytes
    }

    init(_ position: EventPosition, storedBytes: [UInt8]) throws(SharedCacheFault) {
        var fields = StoredFieldReader(storedBytes)
        guard try fields.byte() == Self.storedForm else { throw .unreadable }
        self.init(position, chain: "")
        try fields.required("chain", &chain)
        attempts = Int(clamping: try fields.number())
        try fields.date("next_attempt", &nextAttempt)
        try fields.date("first_attempt", &firstAttempt)
        guard fields.isAtEnd else { throw .unreadable }
    }
}

/// The stored form of a dead event, before encryption:
///
/// ```
/// 1 byte   version of the form, 1
/// text     event ID
/// text     chain
/// 8 bytes  failed attempts
/// text     last fault
/// 8 bytes  time of giving up
/// ```
extension DeadDelivery {
    private static let storedForm: UInt8 = 1

    var storedBytes: [UInt8] {
        var fields = StoredFieldWriter()
        fields.write(Self.storedForm)
        fields.write(Optional(eventID))
        fields.write(Optional(chain))
        fields.write(Int64(attempts))
        fields.write(Optional(reason))
        fields.write(time.millisecondsSince1970)
        return fields.bytes
    }

    init(_ position: EventPosition, storedBytes: [UInt8]) throws(SharedCacheFault) {
        var fields = StoredFieldReader(storedBytes), eventID = "", chain = "", reason = ""
        guard try fields.byte() == Self.storedForm else { throw .unreadable }
        try fields.required("event_id", &eventID)
        try fields.required("chain", &chain)
        let attempts = Int(clamping: try fields.number())
        try fields.required("reason", &reason)
        let time = Timestamp(millisecondsSince1970: try fields.number())
        guard fields.isAtEnd else { throw .unreadable }
        self.init(
            position: position, eventID: eventID, chain: chain, attempts: attempts, reason: reason, time: time)
    }
}
