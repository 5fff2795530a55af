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
        /// The maximum bytes of a request. Genuine receipts are known up to 105 KB in base64; the answer to a larger body
        /// takes the space of dozens of ordinary ones, and finding it takes nearly as long as verifying it.
        static let bodyBytes = BodyBudget.ordinaryBodyBytes
    }

    private let genuine: Mutex<SharedGenerations<String, Key, CachedReply>>
    private let others: Mutex<SharedGenerations<String, Key, CachedReply>>

    /// - Parameter maximumBytes: the memory of all answers; 0 disables the cache.
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
        let byteCount = known.byteCount
        if known.isGenuine {
            genuine.withLock { $0.insert(known, for: key, of: key.client, byteCount: byteCount) }
        } else {
            others.withLock { $0.insert(known, for: key, of: key.client, byteCount: byteCount) }
        }
    }

    // MARK: - Keys

    /// A request to one endpoint. Its body is known by a tag, and not kept.
    struct Key: Hashable, Sendable {
        /// The name of the sending client, whose share holds the answer.
        let client: String
        private let endpoint: String
        private let tag: RequestTag
        private let secretsVersion: UInt64

        /// Returns nil for a body that is too large to be recognised.
        /// - Parameter secretsVersion: `Access.secretsVersion` of the secrets: with others the answer may differ.
        init?(endpoint: String, body: ByteBuffer, secretsVersion: UInt64, client: String) {
            guard let tag = RequestTag(of: body.readableBytesUInt8Span) else { return nil }
            self.endpoint = endpoint
            self.tag = tag
            self.secretsVersion = secretsVersion
            self.client = client
        }

        func hash(into hasher: inout Hasher) { hasher.combine(tag) }

        static func == (one: Key, other: Key) -> Bool {
            one.tag == other.tag && one.secretsVersion == other.secretsVersion && one.endpoint == other.endpoint
        }
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
        return Self.fixedByteCount + reply.body.byteCount + texts + (expected.deviceIdentifier?.count ?? 0)
            + (claims?.byteCount ?? 0)
    }

    private static let fixedByteCount = 832
}
