// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import NIOCore
internal import Synchronization
internal import Telemetry

/// The answers this process gave lately, ready to send, by the requests they were given to; bounded in bytes.
///
/// A request that is the same octet by octet is the same question, so neither its JSON nor its base64 is looked at.
/// Rejections have a small share of their own, so that a flood of junk pushes out nobody's genuine answer. Clients have
/// shares too: while the cache is full, the client that takes the most of it gives way.
package final class NearCache: Sendable {
    /// The sizes that are kept.
    enum Limits {
        /// Bytes of a request. Genuine receipts are known up to 105 KB in base64; a larger body takes the room of dozens of
        /// ordinary ones, and finding it takes nearly as long as verifying it.
        static let bodyBytes = BodyBudget.ordinaryBodyBytes
    }

    private let genuine: Mutex<SharedGenerations<String, Key, CachedReply>>
    private let others: Mutex<SharedGenerations<String, Key, CachedReply>>

    /// - Parameter maximumBytes: what all answers together may take, with the requests; 0 keeps none.
    package init(maximumBytes: Int) {
        let share = maximumBytes / 16
        genuine = Mutex(SharedGenerations(maximumBytes: maximumBytes - share))
        others = Mutex(SharedGenerations(maximumBytes: share))
    }

    /// What was answered to the same request; whether it still holds is for others to say.
    func reply(to key: Key) -> CachedReply? {
        genuine.withLock { $0.find(key, of: key.client) } ?? others.withLock { $0.find(key, of: key.client) }
    }

    /// Remembers an answer.
    func insert(_ known: CachedReply, for key: Key) {
        let kept = key.kept
        let byteCount = kept.byteCount + known.byteCount
        if known.isGenuine {
            genuine.withLock { $0.insert(known, for: kept, of: key.client, byteCount: byteCount) }
        } else {
            others.withLock { $0.insert(known, for: kept, of: key.client, byteCount: byteCount) }
        }
    }
}

// MARK: - Keys

extension NearCache {
    /// A request to one endpoint. The digest only tells where to look: every octet is compared.
    struct Key: Hashable, Sendable {
        /// The name of the client that sends it, in whose share the answer is kept.
        let client: String
        private let endpoint: String
        private let body: ByteBuffer
        private let edition: UInt64
        private let digest: UInt64

        /// The key of a request; nil for a body that is too large to be kept.
        /// - Parameter edition: that of the secrets, `Access.edition`: with others the answer may be another.
        init?(endpoint: String, body: ByteBuffer, edition: UInt64, client: String) {
            guard body.readableBytes <= Limits.bodyBytes else { return nil }
            self.endpoint = endpoint
            self.body = body
            self.edition = edition
            self.client = client
            digest = BodyDigest.digest(of: body.readableBytesUInt8Span)
        }

        private init(_ key: Key, body: ByteBuffer) {
            endpoint = key.endpoint
            self.body = body
            edition = key.edition
            client = key.client
            digest = key.digest
        }

        func hash(into hasher: inout Hasher) { hasher.combine(digest) }

        static func == (one: Key, other: Key) -> Bool {
            one.digest == other.digest && one.edition == other.edition && one.endpoint == other.endpoint
                && one.body == other.body
        }

        /// The same with octets of its own, unless it has the most of the buffer that it is part of.
        var kept: Key {
            guard byteCount > 2 * body.readableBytes else { return self }
            return Key(self, body: ByteBuffer(bytes: body.readableBytesView))
        }

        /// The bytes that the body takes in memory, with the buffer around it.
        var byteCount: Int { body.storageCapacity }
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
final class CachedReply: Sendable {
    /// When it may be given.
    let terms: CachedAnswer
    /// What it is an answer to.
    let options: VerificationOptions
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
    init(_ answer: Answer, to options: VerificationOptions, terms: CachedAnswer, tally: VerdictTally, reply: Reply) {
        self.terms = terms
        self.options = options
        self.tally = tally
        self.reply = reply.repeatable
        origin = AnswerOrigin(answer)
        facts = AnswerFacts(answer)
        isGenuine = answer.verdict == .genuine
    }

    /// What it takes in memory, roughly: its octets, and a fixed part for everything around them. Callers choose how long
    /// their expectations are.
    var byteCount: Int {
        let expected = options.expectations
        let texts = (expected.bundleID?.utf8.count ?? 0) + (expected.applicationVersion?.utf8.count ?? 0)
        return Self.fixedByteCount + reply.body.storageCapacity + texts + (expected.deviceIdentifier?.count ?? 0)
    }

    private static let fixedByteCount = 1024
}
