// SPDX-License-Identifier: Apache-2.0

package import Cryptography
package import Receipts

/// The port to Apple: one request to one endpoint, one reply. The gateway selects endpoints and interprets replies.
package protocol Upstream: Sendable {
    /// Returns the app's configured shared secret. Without a secret, Apple returns nothing about the app's
    /// subscriptions.
    func secret(forApp bundleID: String?) -> Secret?

    /// Sends one request. Every fault is a reply; none is thrown, so none is missed.
    func send(
        _ request: UpstreamRequest, at endpoint: UpstreamEndpoint, deadline: ContinuousClock.Instant
    ) async -> UpstreamResponse
}

package struct UpstreamResponse: Sendable {
    package var reply: UpstreamReply
    /// Apple's status code, such as 0 or 21002; nil if there was none.
    package var status: Int?

    package init(_ reply: UpstreamReply, status: Int? = nil) {
        self.reply = reply
        self.status = status
    }
}

/// Makes one HTTP request to Apple, and adds it to the log and traces.
package typealias RequestTracer =
    @Sendable (UpstreamEndpoint, _ method: String, _ request: () async -> RequestSummary) async -> Void

/// The outcome of one HTTP request to Apple, for log and traces.
package struct RequestSummary: Sendable {
    package var outcome: UpstreamOutcome
    /// The HTTP status; nil if there was no response.
    package var httpStatus: Int?

    package init(_ outcome: UpstreamOutcome, httpStatus: Int?) {
        self.outcome = outcome
        self.httpStatus = httpStatus
    }
}

package struct UpstreamRequest: Sendable, Redacted {
    package var subject: VerificationSubject
    /// The shared secret from the client; nil selects the secret configured for the app.
    package var sentSecret: Secret?
    /// True if only the latest transaction of each subscription is requested.
    package var excludesOldTransactions = false

    var sentByteCount: Int { subject.evidence?.receiptBytes?.count ?? 0 }

    package var description: String { "UpstreamRequest(\(subject))" }
}

/// Apple's reply to one request.
package enum UpstreamReply: Sendable {
    /// Apple confirms the receipt and returns its data.
    case answer(UpstreamAnswer)
    /// The receipt belongs to the other endpoint.
    case otherEnvironment
    /// Apple answered without the receipt's contents.
    case refusal(UpstreamRefusal)
    case throttled(Duration)
    /// Apple gave no usable answer.
    case failure(UpstreamFailure)
}

/// The reason why Apple returns nothing about a receipt's contents. The raw values appear in metrics.
package enum UpstreamRefusal: String, CaseIterable, Hashable, Sendable {
    /// 21002: malformed, or a temporary fault at Apple.
    case malformed
    /// 21003: not authenticated.
    case notAuthenticated = "not_authenticated"
    /// 21004: the shared secret does not belong to the app's account.
    case secretRejected = "secret_rejected"
    /// 21100 to 21199, with Apple's hint that a retry is of no use.
    case brokenRecord = "broken_record"
    /// 21010: the customer's account was not found or was deleted.
    case accountNotFound = "account_not_found"
}

/// The reason why there is no answer. The raw values appear in metrics.
package enum UpstreamFailure: String, CaseIterable, Hashable, Sendable {
    /// No connection: the name did not resolve, or no server accepted.
    case unreachable
    /// The server could not prove that it is Apple, or TLS failed otherwise.
    case tls
    case timeout
    case reset
    case serverError = "server_error"
    /// An unusable body: HTML, empty, truncated, or without a status.
    case unusableAnswer = "unusable_answer"
    /// A body that is larger than the gateway reads.
    case answerTooLarge = "answer_too_large"
    /// 21005, 21009 and 21100 to 21199: Apple reports a temporary fault.
    case unavailable
    /// Apple did not accept the request itself; a retry is of no use.
    case requestRefused = "request_refused"
    case stopping
}

/// The consumables that the app has not finished, which `verifyReceipt` lists. The Server API's history has all of them,
/// without the difference.
package enum UnfinishedConsumables: Hashable, Sendable {
    case notRequested
    /// Apple no longer returns them.
    case unavailable
    /// Their transaction IDs.
    case known(Set<String>)
}

/// Apple's data about a genuine receipt.
package struct UpstreamAnswer: Sendable {
    package var environment: Environment
    package var bundleID: String
    /// All transactions of the answer; of duplicates in its lists, the more recent copy counts.
    package var transactions: [Transaction]
    package var renewals: [Renewal]
    /// The receipt that Apple signed for this answer, after base64: an app receipt, or a transaction receipt in answers
    /// to a transaction receipt. Nil if there is none.
    package var latestReceipt: [UInt8]?
    /// Apple's JSON; empty for the App Store Server API, whose answers consist of several.
    package var body: [UInt8]
    /// The position in the transaction history (App Store Server API) up to which the transactions are known.
    package var revision: String?
    package var unfinishedConsumables = UnfinishedConsumables.notRequested
    /// True if a part is missing that Apple may give soon.
    package var isPartial = false
    /// True if an item was left out because it cannot be read.
    package var lacksItems = false
    /// The items that were left out of this answer; not stored.
    var unreadable: [UnreadableItem] = []

    package init(
        environment: Environment, bundleID: String, transactions: [Transaction], renewals: [Renewal],
        latestReceipt: [UInt8]?, body: [UInt8], revision: String? = nil
    ) {
        self.environment = environment
        self.bundleID = bundleID
        self.transactions = transactions
        self.renewals = renewals
        self.latestReceipt = latestReceipt
        self.body = body
        self.revision = revision
    }

    /// Adds the purchases of another customer of the app.
    mutating func join(_ other: UpstreamAnswer) {
        let unfinished = (ownUnfinishedConsumables, other.ownUnfinishedConsumables)
        if case (.known(let ids), .known(let others)) = unfinished {
            unfinishedConsumables = .known(ids.union(others))
        } else {
            unfinishedConsumables = .unavailable
        }
        var indices = transactions.indicesByID
        for transaction in other.transactions { transactions.addNewest(transaction, &indices) }
        renewals += other.renewals
        isPartial = isPartial || other.isPartial
        lacksItems = lacksItems || other.lacksItems
    }

    /// The unfinished consumables; known to be none for a customer without consumables.
    private var ownUnfinishedConsumables: UnfinishedConsumables {
        transactions.contains(where: \.isConsumable) ? unfinishedConsumables : .known([])
    }

    /// True if there are consumables, and Apple was not asked which of them are unfinished.
    var lacksUnfinishedConsumables: Bool { ownUnfinishedConsumables == .notRequested }
}
