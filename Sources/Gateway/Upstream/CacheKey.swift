// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts
internal import Secrets

/// The key of a cached result. The same key means the same request to Apple, in any encoding of the evidence.
///
/// Each part is needed: without environment or credentials, one client would get another one's answer.
public struct CacheKey: Hashable, Sendable {
    /// The app; nil if the evidence names none.
    public let bundleID: String?
    /// The environment; nil if the evidence names none.
    public let environment: Environment?
    /// The purchase that the request is about.
    public let subject: VerificationSubject.Identity
    /// Apple's interface for the request.
    public let api: UpstreamAPI
    /// The parts of the answer that are requested.
    public internal(set) var options: UpstreamOptions
    /// SHA-256 of the shared secret for the request; nil without one.
    public let credentials: Fingerprint?

    init(_ request: UpstreamRequest, at api: UpstreamAPI, with secret: Secret?) {
        bundleID = request.subject.bundleID
        environment = request.subject.environment
        subject = request.subject.identity
        self.api = api
        options = request.options
        credentials = secret?.fingerprint
    }
}

/// The optional parts of Apple's answer.
public struct UpstreamOptions: Hashable, Sendable {
    /// True if only the latest transaction of each subscription is requested.
    public var excludesOldTransactions = false
}

extension Secret {
    /// SHA-256 of the text, which keeps requests with different secrets apart.
    fileprivate var fingerprint: Fingerprint { Fingerprint(of: Array(exposed.utf8).span) }
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
