// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Receipts

/// The key of a cached result. The same key means the same request to Apple, in any encoding of the evidence.
///
/// Each part is needed: without environment or credentials, one client would get another client's answer.
package struct CacheKey: Hashable, Sendable {
    package let bundleID: String?
    package private(set) var environment: Environment?
    package private(set) var subject: VerificationSubject.Identity
    package let api: UpstreamAPI
    package internal(set) var excludesOldTransactions = false
    /// SHA-256 of the shared secret for the request; nil without a secret. The Server API's answers do not depend on
    /// its key.
    package let credentials: Fingerprint?

    init(_ request: UpstreamRequest, at api: UpstreamAPI, with secret: Secret?) {
        bundleID = request.subject.bundleID
        environment = request.subject.environment
        subject = request.subject.identity
        self.api = api
        excludesOldTransactions = request.excludesOldTransactions
        credentials = secret.map { Fingerprint(of: Array($0.exposed.utf8).span) }
    }

    /// Creates the key of a customer's purchases, by the ID in calls of the App Store Server API. Evidence and requests
    /// without it share results, and so do all options: Apple's answer does not depend on them.
    init(_ subject: VerificationSubject, transactionID: String) {
        bundleID = subject.bundleID
        environment = subject.environment
        self.subject = .transaction(transactionID)
        api = .serverAPI
        credentials = nil
    }

    /// The ID in calls of the Server API; nil for `verifyReceipt`.
    var transactionID: String? { if case .transaction(let id) = subject, api == .serverAPI { id } else { nil } }

    /// Returns the key under which the results about an original transaction are kept.
    func canonical(_ alias: TransactionAlias) -> CacheKey { naming(alias.originalTransactionID, in: alias.environment) }

    /// Returns the key of requests that name this transaction and nothing else.
    func naming(_ transactionID: String, in environment: Environment? = nil) -> CacheKey {
        var key = self
        (key.environment, key.subject) = (environment, .transaction(transactionID))
        return key
    }

    /// Returns the original transaction and the environment that an answer to this key belongs to. An app transaction
    /// has its own ID and its environment.
    func alias(for answer: UpstreamAnswer) -> TransactionAlias? {
        guard let id = transactionID else { return nil }
        let asked = answer.transactions.first { $0.transactionID == id }?.chainID ?? id
        let original = ChainNames(answer.transactions, answer.renewals).current(asked)
        return TransactionAlias(
            originalTransactionID: original, environment: answer.environment, bundleID: answer.bundleID)
    }
}

extension UpstreamAnswer {
    /// Returns the IDs by which backends name a purchase: the chain ID, and the ID of its newest transaction.
    func names(of chainID: String) -> Set<String> {
        let newest = transactions.filter { $0.chainID == chainID }.newest
        return Set([chainID, newest?.transactionID].compactMap(\.self))
    }
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
