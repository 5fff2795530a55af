// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Gateway
internal import JSON
package import Receipts
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
struct StoredDelivery: RedisArgument {
    let position: EventPosition
    let sealed: [UInt8]

    /// Its number, and the member.
    func write(to words: inout [RedisWord]) {
        words += [RedisWord(position.number), RedisWord(Array("\(position.text) ".utf8) + sealed)]
    }
}

extension StoredDelivery {
    init?(_ member: RedisValue) {
        guard let bytes = member.bytes, let space = bytes.firstIndex(of: UInt8(ascii: " ")),
            let position = String(outside: bytes[..<space]).flatMap({ EventPosition(text: $0) })
        else { return nil }
        self.init(position: position, sealed: Array(bytes[(space + 1)...]))
    }
}

extension HeldEvent: StoredForm {
    /// Visits all fields but the position.
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.version(1)
        try form.text(&chain)
        try form.number(&attempts)
        try form.date("next_attempt", &nextAttempt)
        try form.date("first_attempt", &firstAttempt)
    }

    init(_ position: EventPosition, storedBytes: [UInt8]) throws(StoredFormFault) {
        self.init(position, chain: "")
        try read(storedBytes)
    }
}

extension DeadDelivery: StoredForm {
    /// Visits all fields but the position.
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.version(1)
        try form.text(&eventID)
        try form.text(&chain)
        try form.number(&attempts)
        try form.text(&reason)
        try form.time(&time)
    }

    init(_ position: EventPosition, storedBytes: [UInt8]) throws(StoredFormFault) {
        self.init(position: position, eventID: "", chain: "", attempts: 0, reason: "", time: .earliest)
        try read(storedBytes)
    }
}
