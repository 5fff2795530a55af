// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts
internal import Secrets

/// The name of a cached finding. The same key means the same request to Apple, however the evidence was encoded.
///
/// Every part counts: without environment or credentials, one client would get an answer that was made for another.
public struct CacheKey: Hashable, Sendable {
    /// The app; nil if the evidence names none.
    public let bundleID: String?
    /// The environment; nil if the evidence names none.
    public let environment: Environment?
    /// The purchase that Apple is asked about.
    public let subject: VerificationSubject.Identity
    /// The interface that is asked.
    public let api: UpstreamAPI
    /// What of the answer is wanted.
    public internal(set) var options: UpstreamOptions
    /// SHA-256 of the secret that Apple is asked with; nil without one.
    public let credentials: Fingerprint?

    /// - Parameter secret: the one that Apple is asked with.
    init(_ request: UpstreamRequest, at api: UpstreamAPI, with secret: Secret?) {
        bundleID = request.subject.bundleID
        environment = request.subject.environment
        subject = request.subject.identity
        self.api = api
        options = request.options
        credentials = secret?.fingerprint
    }
}

/// The parts of Apple's answer that a caller may do without.
public struct UpstreamOptions: Hashable, Sendable {
    /// Whether only the latest transaction of each subscription is wanted.
    public var excludesOldTransactions: Bool

    /// Creates options.
    public init(excludesOldTransactions: Bool = false) {
        self.excludesOldTransactions = excludesOldTransactions
    }
}

extension Secret {
    /// SHA-256 of the text: tells requests with different secrets apart.
    fileprivate var fingerprint: Fingerprint { Fingerprint(of: Array(exposed.utf8).span) }
}

extension VerificationSubject.Identity {
    /// The subject as a number from 0 to below 1, spread evenly: chooses a share of subjects, the same ones each time.
    var fraction: Double {
        switch self {
        case .signedContent(let digest): digest.fraction
        case .transaction(let id): Fingerprint(of: Array(id.utf8).span).fraction
        }
    }
}
