// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The facts that decide which of Apple's interfaces answer about a subject.
struct UpstreamConditions {
    /// The operator's choice for the receipts of the app.
    var permitted = ReceiptUpstream.both
    /// True if there is a shared secret for the app.
    var hasSecret: Bool
    /// True if the Server API can be called: there is a key for the app, and the subject has an ID.
    var hasServerAPI: Bool
    /// Returns true if the subject belongs to the share that no longer depends on `verifyReceipt`. Called for receipts
    /// that `verifyReceipt` can answer.
    var isMoved: () -> Bool
}

extension UpstreamAPI {
    /// Chooses the interfaces for a subject, in order: each next interface is used if the previous interface gives no
    /// answer. Empty if the evidence is to answer alone. No other code makes this choice.
    /// - Parameter isFullyPaid: returns true if the evidence shows by itself that every subscription is paid for.
    /// - Throws: The reason why Apple cannot answer.
    static func choice(
        for subject: VerificationSubject, mode: Mode, isFullyPaid: () -> Bool, _ conditions: UpstreamConditions
    ) throws(UndecidedReason) -> [UpstreamAPI] {
        // Apple has no record of purchases made in Xcode or by tests.
        guard subject.environment?.isApples ?? true else { throw .environmentWithoutUpstream }
        let isReceipt = subject.evidence?.receiptBytes != nil
        let usesServerAPI = conditions.hasServerAPI && !(isReceipt && conditions.permitted == .verifyReceipt)
        // Without a secret Apple says nothing about subscriptions, but answers in its own form.
        let usesVerifyReceipt =
            isReceipt && conditions.permitted != .serverAPI
            && (conditions.hasSecret || mode == .appleFirst || (mode == .apple && !usesServerAPI))
        switch (usesVerifyReceipt, usesServerAPI) {
        case (true, true):
            return conditions.isMoved() ? [.serverAPI, .verifyReceipt] : [.verifyReceipt, .serverAPI]
        case (true, false):
            let moves = conditions.permitted == .both && conditions.isMoved()
            return moves && subject.isComplete(mode, isFullyPaid: isFullyPaid) ? [] : [.verifyReceipt]
        case (false, true): return [.serverAPI]
        case (false, false): throw .upstreamNotConfigured
        }
    }
}

extension VerificationSubject {
    /// Returns true if the evidence alone is a good answer. For any other, `verifyReceipt` stays the source, to its end.
    fileprivate func isComplete(_ mode: Mode, isFullyPaid: () -> Bool) -> Bool {
        switch mode {
        case .auto: isFullyPaid()
        // A receipt without purchases: Apple would return its content.
        case .appleFirst: evidence?.transactions.isEmpty == true
        case .apple, .local: false
        }
    }
}
