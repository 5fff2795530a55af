// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import NIOCore
internal import Synchronization

/// The answers this process gave lately, ready to send, by the requests they were given to; bounded in bytes.
///
/// A request that is the same octet by octet is the same question, so neither its JSON nor its base64 is looked at.
/// Rejections have a small share of their own, so that a flood of junk pushes out nobody's genuine answer.
final class NearCache: Sendable {
    private let genuine: Mutex<Generations<Key, KnownReply>>
    private let others: Mutex<Generations<Key, KnownReply>>

    /// - Parameter maximumBytes: what all answers together may take, with the requests; 0 keeps none.
    init(maximumBytes: Int) {
        let share = maximumBytes / 16
        genuine = Mutex(Generations(maximumBytes: maximumBytes - share))
        others = Mutex(Generations(maximumBytes: share))
    }

    /// What was answered to the same request; whether it still holds is for others to say.
    func reply(to key: Key) -> KnownReply? {
        genuine.withLock { $0.find(key) } ?? others.withLock { $0.find(key) }
    }

    /// Remembers an answer.
    func insert(_ known: KnownReply, for key: Key) {
        let kept = key.kept
        let byteCount = kept.byteCount + known.byteCount
        if known.isGenuine {
            genuine.withLock { $0.insert(known, for: kept, byteCount: byteCount) }
        } else {
            others.withLock { $0.insert(known, for: kept, byteCount: byteCount) }
        }
    }
}

// MARK: - Keys

extension NearCache {
    /// A request to one endpoint. The digest only tells where to look: every octet is compared.
    struct Key: Hashable, Sendable {
        private let endpoint: String
        private let body: ByteBuffer
        private let edition: UInt64
        private let digest: UInt64

        /// - Parameter edition: that of the secrets, `Access.edition`: with others the answer may be another.
        init(endpoint: String, body: ByteBuffer, edition: UInt64) {
            (self.endpoint, self.body, self.edition) = (endpoint, body, edition)
            digest = BodyDigest.digest(of: body.readableBytesUInt8Span)
        }

        private init(endpoint: String, body: ByteBuffer, edition: UInt64, digest: UInt64) {
            (self.endpoint, self.body, self.edition, self.digest) = (endpoint, body, edition, digest)
        }

        func hash(into hasher: inout Hasher) { hasher.combine(digest) }

        static func == (one: Key, other: Key) -> Bool {
            one.digest == other.digest && one.edition == other.edition && one.endpoint == other.endpoint
                && one.body == other.body
        }

        /// The same with octets of its own: what came from a socket is part of a larger buffer.
        fileprivate var kept: Key {
            Key(endpoint: endpoint, body: ByteBuffer(bytes: body.readableBytesView), edition: edition, digest: digest)
        }

        fileprivate var byteCount: Int { body.storageCapacity }
    }
}

/// A number by which equal bodies are found, at a fraction of the cost of comparing them with all others.
///
/// Eight octets at a time are multiplied with what came before, and both halves of the product are kept. It withstands
/// nobody who chooses bodies for it, which is why each process begins with random numbers, and why nothing but the speed
/// of a look-up depends on it.
enum BodyDigest {
    private static let seeds = (seed(), seed(), seed(), seed())

    private static func seed() -> UInt64 { UInt64.random(in: .min ... .max) | 1 }

    static func digest(of bytes: Span<UInt8>) -> UInt64 {
        let raw = unsafe bytes.bytes
        var lanes = (seeds.0, seeds.1)
        var offset = 0
        while offset + 32 <= raw.byteCount {
            lanes.0 = fold(lanes.0 ^ word(raw, offset), seeds.2 ^ word(raw, offset + 8))
            lanes.1 = fold(lanes.1 ^ word(raw, offset + 16), seeds.3 ^ word(raw, offset + 24))
            offset += 32
        }
        for index in offset..<raw.byteCount { lanes.0 = fold(lanes.0 ^ UInt64(bytes[index]), seeds.2) }
        return fold(lanes.0 ^ UInt64(raw.byteCount), lanes.1)
    }

    /// The caller stays within the octets; any eight of them are a number.
    private static func word(_ raw: RawSpan, _ offset: Int) -> UInt64 {
        unsafe raw.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    private static func fold(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }
}

// MARK: - Values

/// An answer that may be given again. A class, because it is handed out for each request and never changes.
final class KnownReply: Sendable {
    /// When it may be given.
    let terms: KnownAnswer
    /// What it is an answer to.
    let question: Question
    /// How it is known, in header fields.
    let origin: AnswerOrigin
    /// What the log says of it.
    let facts: AnswerFacts
    /// What it counts as.
    let tally: VerdictTally
    /// What is sent.
    let reply: Reply
    /// Whether it is a good answer, which junk must not push out.
    let isGenuine: Bool

    /// - Parameter answer: as it is when it is given again.
    init(_ answer: Answer, to question: Question, terms: KnownAnswer, tally: VerdictTally, reply: Reply) {
        (self.terms, self.question, self.tally, self.reply) = (terms, question, tally, reply.repeatable)
        (origin, facts, isGenuine) = (AnswerOrigin(answer), AnswerFacts(answer), answer.verdict == .genuine)
    }

    /// What it takes in memory, roughly: its octets, and a fixed part for everything around them. Callers choose how long
    /// their expectations are.
    var byteCount: Int {
        let expected = question.expectations
        let texts = (expected.bundleID?.utf8.count ?? 0) + (expected.applicationVersion?.utf8.count ?? 0)
        return Self.fixedByteCount + reply.body.storageCapacity + texts + (expected.deviceIdentifier?.count ?? 0)
    }

    private static let fixedByteCount = 1024
}
