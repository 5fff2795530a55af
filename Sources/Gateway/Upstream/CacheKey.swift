// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts
internal import Secrets

/// The key of a cached result. The same key means the same request to Apple, in any encoding of the evidence.
///
/// Each part is needed: without environment or credentials, one client would get another one's answer.
package struct CacheKey: Hashable, Sendable {
    package let bundleID: String?
    package let environment: Environment?
    package let subject: VerificationSubject.Identity
    package let api: UpstreamAPI
    package internal(set) var options: UpstreamOptions
    /// SHA-256 of the shared secret for the request; nil without one.
    package let credentials: Fingerprint?

    init(_ request: UpstreamRequest, at api: UpstreamAPI, with secret: Secret?) {
        bundleID = request.subject.bundleID
        environment = request.subject.environment
        subject = request.subject.identity
        self.api = api
        options = request.options
        credentials = secret.map { Fingerprint(of: Array($0.exposed.utf8).span) }
    }
}

package struct UpstreamOptions: Hashable, Sendable {
    /// True if only the latest transaction of each subscription is requested.
    package var excludesOldTransactions = false
}

extension VerificationSubject.Identity {
    /// The subject as a number from 0 to below 1, evenly spread: it selects a stable share of subjects.
    var fraction: Double {
        switch self {
        case .signedContent(let digest): digest.fraction
        case .transaction(let id): Fingerprint(of: Array(id.utf8).span).fraction
        }
    }
}
