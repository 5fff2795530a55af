// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Receipts

/// The port to the App Store Server API: the purchases of one customer of an app.
///
/// An adapter requests the transaction history and, if there are subscriptions, their statuses. It verifies each JWS,
/// stays within the app's budget, and selects the host.
package protocol CustomerLookup: Sendable {
    func hasKey(forApp bundleID: String) -> Bool

    /// Returns the customer's purchases. Every fault is a result; none is thrown, so none is missed.
    func purchases(_ request: CustomerRequest, deadline: ContinuousClock.Instant) async -> UpstreamResult
}

package struct CustomerRequest: Sendable, Redacted {
    package var bundleID: String
    /// A transaction ID, an original transaction ID, or an app transaction ID.
    package var transactionID: String
    /// The environment that is signed or remembered; nil to call production first, then the sandbox.
    package var environment: UpstreamEnvironment?
    /// True if signed evidence names the transaction. Requests without evidence have a smaller share of the budget.
    package var hasEvidence: Bool
    /// True if the answer needs the unfinished consumables.
    package var listsUnfinishedConsumables = false
    /// Ties the history to the evidence; nil without evidence, so that the history must have the ID itself.
    package var ties: PurchaseTies?
    /// The verifier of the request, for each JWS in Apple's answers.
    package var verifier: ReceiptVerifier
    /// An earlier answer of the same environment, whose revision the history continues from.
    package var known: UpstreamAnswer?
}

/// The signed facts that tie a customer's history to evidence whose transaction ID the history does not have: copies of a
/// purchase have IDs of their own.
package struct PurchaseTies: Hashable, Sendable {
    /// The customer's downloads of the app (`appTransactionId`).
    private let appTransactionIDs: Set<String>
    private let periods: Set<PurchasedPeriod>

    /// - Parameter transactions: those that Apple signed in the evidence.
    package init(_ transactions: [Transaction]) {
        appTransactionIDs = Set(transactions.compactMap { $0.signedFields?.value.appTransactionID })
        periods = Set(transactions.compactMap(PurchasedPeriod.init(of:)))
    }

    package func connects(to transaction: Transaction) -> Bool {
        transaction.signedFields?.value.appTransactionID.map(appTransactionIDs.contains) ?? false
            || PurchasedPeriod(of: transaction).map(periods.contains) ?? false
    }
}
