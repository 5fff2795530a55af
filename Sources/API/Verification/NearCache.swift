// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import Gateway
internal import HTTPServer
internal import NIOCore
internal import Receipts
internal import Resilience
internal import Telemetry

/// The recent answers of this process, ready to send, keyed by the requests; bounded in bytes.
///
/// A byte-identical request is the same request, so neither its JSON nor its base64 is read. Rejections have a small
/// share of their own, so that a flood of junk evicts no genuine answer. Clients have shares too: while a part of the
/// cache is full, entries of the client that uses the most space are evicted first.
///
/// The tag of a request decides the part of the cache, so that event loops seldom wait for each other.
package final class NearCache: Sendable {
    enum Limits {
        /// The maximum bytes of a request. Genuine receipts are known up to 105 KB in base64. The answer to a larger
        /// body takes the space of dozens of ordinary answers. Its look-up takes nearly as long as a verification.
        static let bodyBytes = BodyBudget.ordinaryBodyBytes
        /// The minimum size of a part with a lock of its own. An answer may take nearly half of a part.
        static let partBytes = 4 << 20
    }

    private struct Part {
        var genuine: S3FIFOCache<Key, CachedReply>
        var others: S3FIFOCache<Key, CachedReply>

        init(maximumBytes: Int) {
            let share = maximumBytes / 16
            genuine = S3FIFOCache(maximumBytes: maximumBytes - share)
            others = S3FIFOCache(maximumBytes: share)
        }

        mutating func insert(_ known: CachedReply, for key: Key) {
            if known.isGenuine {
                others.remove(key)
                genuine.insert(known, for: key, of: key.client, byteCount: known.byteCount)
            } else {
                genuine.remove(key)
                others.insert(known, for: key, of: key.client, byteCount: known.byteCount)
            }
        }
    }

    private let parts: Sharded<Part>
    /// False for a disabled cache: its keys and values need not be made.
    let keepsAnswers: Bool

    /// - Parameter maximumBytes: the memory of all answers; 0 disables the cache.
    package init(maximumBytes: Int) {
        keepsAnswers = maximumBytes > 0
        parts = Sharded(upTo: maximumBytes / Limits.partBytes) { Part(maximumBytes: maximumBytes / $0) }
    }

    /// Returns the answer to the same request. The caller checks whether it still holds.
    func reply(to key: Key) -> CachedReply? {
        parts.withLock(at: key.tag.part) { $0.genuine.find(key) ?? $0.others.find(key) }
    }

    func insert(_ known: CachedReply, for key: Key) {
        parts.withLock(at: key.tag.part) { $0.insert(known, for: key) }
    }

    // MARK: - Keys

    /// A request to one endpoint. Its body is known by a tag, and not kept.
    struct Key: Hashable, Sendable {
        fileprivate let tag: UniversalHash.Tag
        private let answersVersion: UInt64
        /// The name of the sending client, whose share holds the answer.
        let client: String
        private let endpoint: String
        private let isSigned: Bool

        /// Returns nil for a body that is too large to be recognised.
        /// - Parameter answersVersion: `Access.answersVersion` of the request: under another the answer may differ.
        init?(
            endpoint: String, isSigned: Bool = false, body: ByteBuffer, answersVersion: UInt64, client: String
        ) {
            guard let tag = Self.hash.tag(of: body.readableBytesUInt8Span) else { return nil }
            (self.endpoint, self.isSigned, self.tag) = (endpoint, isSigned, tag)
            (self.answersVersion, self.client) = (answersVersion, client)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(tag)
            hasher.combine(client)
        }

        /// The key and the tags never leave the process, so a client can only guess.
        private static let hash = UniversalHash(maximumBytes: Limits.bodyBytes)
    }
}

// MARK: - Values

/// An answer that may be sent again. A class, because it is handed out for each request and never changes.
final class CachedReply: Sendable {
    let validity: AnswerValidity
    let provenance: CacheProvenance
    let logMembers: LogMembers
    let counters: VerdictCounters
    let reply: Reply
    /// The purchases to check each time; nil for a request without an account.
    let claims: CachedClaims?
    /// The signed form; nil for a request whose answer is not signed.
    let signature: RepeatedSignature?
    private let expectedApp: String?
    private let itemCount: Int
    private let maximumAge: Duration?
    private let mode: Mode
    private let isLookup: Bool
    private let wantsHistory: Bool
    /// True for a genuine verdict, which junk must not evict.
    let isGenuine: Bool

    /// - Parameter answer: the answer as sent the second time.
    init(
        _ answer: Answer, to options: VerificationOptions, validity: AnswerValidity, counters: VerdictCounters,
        reply: consuming Reply, claims: CachedClaims? = nil, signature: RepeatedSignature? = nil
    ) {
        (self.validity, self.counters, self.claims) = (validity, counters, claims)
        self.signature = signature
        self.reply = reply.repeatable()
        (provenance, logMembers) = (CacheProvenance(answer), LogMembers(answer))
        (expectedApp, itemCount) = (options.expectations.bundleID, options.itemCount)
        (maximumAge, mode, isLookup) = (options.maximumAge, options.mode, options.isLookup)
        wantsHistory = options.wantsHistory
        isGenuine = answer.verdict == .genuine
    }

    /// The options that matter when the answer is sent again: they decide the charges. Secrets and identifiers that the
    /// client sent are not kept.
    var options: VerificationOptions {
        var options = VerificationOptions()
        options.expectations.bundleID = expectedApp
        options.itemCount = itemCount
        options.maximumAge = maximumAge
        options.mode = mode
        options.isLookup = isLookup
        options.wantsHistory = wantsHistory
        return options
    }

    func checkExpectedApp(among apps: PermittedApps) throws(GatewayError) {
        if let expectedApp { try apps.require(expectedApp) }
    }

    func isValid(at now: Timestamp) -> Bool { validity.isValid(at: now, maximumAge: maximumAge) }

    /// The memory in bytes, as measured for an answer without an account.
    var byteCount: Int {
        Self.fixedByteCount + reply.body.byteCount + (expectedApp.map { Self.textBytes + $0.utf8.count } ?? 0)
            + (claims?.byteCount ?? 0) + (signature.map { $0.byteCount(for: reply.body.count) } ?? 0)
    }

    /// The object, the head of the reply, the members of log lines, the name of the signed app, and a version.
    private static let fixedByteCount = 832
    /// The memory of a text beside its bytes, rounded up as malloc does.
    private static let textBytes = 48
}
