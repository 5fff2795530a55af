// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The source of a verdict.
package struct Provenance: Hashable, Sendable {
    /// The authority behind the verdict. The raw values appear in the API.
    package enum Source: String, CaseIterable, Sendable {
        /// The receipt's own signature.
        case local
        /// Apple's `verifyReceipt`.
        case apple
        /// The App Store Server API.
        case serverAPI = "app_store_server_api"
        /// A server notification of Apple, together with the evidence.
        case notification
    }

    /// The cache that answered. The raw values appear in the API.
    package enum Cache: String, CaseIterable, Sendable {
        /// None: the answer was made for this request.
        case miss
        /// The near cache in this process, for the same bytes.
        case near
        /// The cached results of requests to Apple.
        case shared
        /// The cached results of requests to Apple, with a result past its freshness.
        case stale
    }

    package var source: Source
    package var cache: Cache
    package var verifiedAt: Timestamp
    /// The reasons why the preferred source did not answer; empty if it did.
    package var degradedReasons: [DegradedReason] = []
    /// Apple's status code, such as 0 or 21003, also of a request that did not help; nil if Apple gave none.
    package var upstreamStatus: Int?

    package var isDegraded: Bool { !degradedReasons.isEmpty }

    /// The provenance of the same answer when it is repeated.
    package var repeated: Provenance {
        var repeated = self
        repeated.cache = .near
        return repeated
    }
}
