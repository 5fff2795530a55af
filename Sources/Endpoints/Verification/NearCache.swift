// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Caching
internal import Gateway
internal import HTTPServer
internal import NIOCore
internal import Receipts
internal import Synchronization
internal import Telemetry

/// The recent answers of this process, ready to send, keyed by the requests; bounded in bytes.
///
/// A byte-identical request is the same request, so neither its JSON nor its base64 is read. Rejections have a small
/// share of their own, so that a flood of junk evicts no genuine answer. Clients have shares too: while the cache is
/// full, the client that uses most of it is evicted from first.
package final class NearCache: Sendable {
    enum Limits {
        /// The maximum bytes of a request. Genuine receipts are known up to 105 KB in base64; a larger body takes the
        /// space of dozens of ordinary ones, and finding it takes nearly as long as verifying it.
        static let bodyBytes = BodyBudget.ordinaryBodyBytes
    }

    private let genuine: Mutex<SharedGenerations<String, Key, CachedReply>>
    private let others: Mutex<SharedGenerations<String, Key, CachedReply>>

    /// - Parameter maximumBytes: the memory of all answers with their requests; 0 disables the cache.
    package init(maximumBytes: Int) {
        let share = maximumBytes / 16
        genuine = Mutex(SharedGenerations(maximumBytes: maximumBytes - share))
        others = Mutex(SharedGenerations(maximumBytes: share))
    }

    /// Returns the answer to the same request. The caller checks whether it still holds.
    func reply(to key: Key) -> CachedReply? {
        genuine.withLock { $0.find(key, of: key.client) } ?? others.withLock { $0.find(key, of: key.client) }
    }

    func insert(_ known: CachedReply, for key: Key) {
        let kept = key.kept
        let byteCount = kept.byteCount + known.byteCount
        if known.isGenuine {
            genuine.withLock { $0.insert(known, for: kept, of: key.client, byteCount: byteCount) }
        } else {
            others.withLock { $0.insert(known, for: kept, of: key.client, byteCount: byteCount) }
        }
    }

    // MARK: - Keys

    /// A request to one endpoint. The digest only locates candidates: all bytes are compared.
    struct Key: Hashable, Sendable {
        /// The name of the sending client, whose share holds the answer.
        let client: String
        private let endpoint: String
        private var body: ByteBuffer
        private let secretsVersion: UInt64
        private let digest: UInt64

        /// Returns nil for a body that is too large to be kept.
        /// - Parameter secretsVersion: `Access.secretsVersion` of the secrets: with others the answer may differ.
        init?(endpoint: String, body: ByteBuffer, secretsVersion: UInt64, client: String) {
            guard body.readableBytes <= Limits.bodyBytes else { return nil }
            self.endpoint = endpoint
            self.body = body
            self.secretsVersion = secretsVersion
            self.client = client
            digest = BodyDigest.digest(of: body.readableBytesUInt8Span)
        }

        func hash(into hasher: inout Hasher) { hasher.combine(digest) }

        static func == (one: Key, other: Key) -> Bool {
            one.digest == other.digest && one.secretsVersion == other.secretsVersion && one.endpoint == other.endpoint
                && one.body == other.body
        }

        /// The same key with a copy of the bytes, unless it uses most of the buffer that it is part of.
        var kept: Key {
            guard byteCount > 2 * body.readableBytes else { return self }
            var kept = self
            kept.body = ByteBuffer(bytes: body.readableBytesView)
            return kept
        }

        /// The memory that the body takes, with the buffer around it.
        var byteCount: Int { body.storageCapacity }
    }
}

/// A hash of request bodies, at a fraction of the cost of comparing them with all others.
///
/// It multiplies eight bytes at a time with the previous value, and keeps both halves of the product. It does not
/// resist chosen bodies: so each process has random seeds, and only the speed of a look-up depends on it.
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

    /// The caller stays within the bytes; any eight of them are a number.
    private static func word(_ raw: RawSpan, _ offset: Int) -> UInt64 {
        unsafe raw.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    private static func fold(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }
}

// MARK: - Values

/// An answer that may be sent again. A class, because it is handed out for each request and never changes.
final class CachedReply: Sendable {
    let validity: AnswerValidity
    let options: VerificationOptions
    let provenance: CacheProvenance
    let details: AnswerDetails
    let counters: VerdictCounters
    let reply: Reply
    /// True for a genuine verdict, which junk must not evict.
    let isGenuine: Bool
    /// The purchases to check each time; nil for a request without an account.
    let claims: CachedClaims?

    /// - Parameter answer: the answer as sent the second time.
    init(
        _ answer: Answer, to options: VerificationOptions, validity: AnswerValidity, counters: VerdictCounters,
        reply: Reply, claims: CachedClaims? = nil
    ) {
        self.validity = validity
        self.options = options
        self.counters = counters
        self.reply = reply.repeatable
        self.claims = claims
        provenance = CacheProvenance(answer)
        details = AnswerDetails(answer)
        isGenuine = answer.verdict == .genuine
    }

    func isValid(at now: Timestamp) -> Bool { validity.isValid(for: options, at: now) }

    /// The approximate memory: its bytes and a fixed overhead. Clients choose the length of their expectations.
    var byteCount: Int {
        let expected = options.expectations
        let texts = (expected.bundleID?.utf8.count ?? 0) + (expected.applicationVersion?.utf8.count ?? 0)
        return Self.fixedByteCount + reply.body.storageCapacity + texts + (expected.deviceIdentifier?.count ?? 0)
            + (claims?.byteCount ?? 0)
    }

    private static let fixedByteCount = 1024
}
