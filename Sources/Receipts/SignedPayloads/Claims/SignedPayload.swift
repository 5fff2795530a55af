// SPDX-License-Identifier: Apache-2.0

/// The payload of a verified JWS, by its kind.
public enum SignedPayload: Sendable {
    /// A purchase or renewal.
    case transaction(VerifiedTransaction)
    /// The plan for a subscription's next period.
    case renewalInfo(VerifiedRenewalInfo)
    /// The installation of the app itself.
    case appTransaction(VerifiedAppTransaction)
    /// A server notification of version 2.
    case notification(VerifiedNotification)
}

/// The kinds of signed payloads, each known by a claim that no other kind has.
enum PayloadKind: Hashable, Sendable {
    case transaction, renewalInfo, appTransaction, notification

    /// Nil for a payload of another kind.
    init?(of claims: Claims) {
        // The claims of one kind alone first: any kind may name a transaction one day.
        if claims.has("notificationType") {
            self = .notification
        } else if claims.has("receiptType") {
            self = .appTransaction
        } else if claims.has("autoRenewStatus") {
            self = .renewalInfo
        } else if claims.has("transactionId") {
            self = .transaction
        } else {
            return nil
        }
    }
}

extension ReceiptVerifier {
    /// Verifies a JWS of any kind that Apple signs: its form, its signer's chain, its signature and its claims.
    ///
    /// - Parameters:
    ///   - jws: the compact serialization (RFC 7515 §7.1) in ASCII.
    ///   - now: the present time, to reject payloads from the future.
    /// - Throws: the first rule the JWS breaks.
    public func verify(jws: [UInt8], at now: Timestamp) throws(ReceiptError) -> SignedPayload {
        let verified = try verifySignature(ofJWS: jws.span), context = ClaimContext(verifier: self, now: now)
        let claims = try context.claims(of: verified)
        switch PayloadKind(of: claims) {
        case .transaction: return .transaction(try VerifiedTransaction(verified, claims, context))
        case .renewalInfo: return .renewalInfo(try VerifiedRenewalInfo(verified, claims, context))
        case .appTransaction: return .appTransaction(try VerifiedAppTransaction(verified, claims, context))
        case .notification: return .notification(try VerifiedNotification(verified, claims, context))
        case nil: throw ReceiptError(missing: "transactionId")
        }
    }

    /// Verifies a signed transaction.
    public func verifyTransaction(_ jws: [UInt8], at now: Timestamp) throws(ReceiptError) -> VerifiedTransaction {
        try verify(jws, .transaction, at: now, read: VerifiedTransaction.init)
    }

    /// Verifies a transaction in an answer or a notification of Apple's. Its `bundleID` is empty if it names no app: another
    /// item must name it.
    package func verifyTransactionOfAnyApp(
        _ jws: [UInt8], at now: Timestamp
    ) throws(ReceiptError) -> VerifiedTransaction {
        try verify(jws, .transaction, at: now) { verified, claims, context throws(ReceiptError) in
            var context = context
            context.requiresApp = false
            return try VerifiedTransaction(verified, claims, context)
        }
    }

    /// Verifies a signed renewal info.
    public func verifyRenewalInfo(_ jws: [UInt8], at now: Timestamp) throws(ReceiptError) -> VerifiedRenewalInfo {
        try verify(jws, .renewalInfo, at: now, read: VerifiedRenewalInfo.init)
    }

    /// Verifies a signed app transaction.
    public func verifyAppTransaction(_ jws: [UInt8], at now: Timestamp) throws(ReceiptError) -> VerifiedAppTransaction {
        try verify(jws, .appTransaction, at: now, read: VerifiedAppTransaction.init)
    }

    /// Verifies a server notification of version 2, and the transaction and renewal info inside it.
    public func verifyNotification(_ jws: [UInt8], at now: Timestamp) throws(ReceiptError) -> VerifiedNotification {
        try verify(jws, .notification, at: now, read: VerifiedNotification.init)
    }

    private func verify<Payload>(
        _ jws: [UInt8], _ kind: PayloadKind, at now: Timestamp,
        read: (VerifiedJWS, Claims, ClaimContext) throws(ReceiptError) -> Payload
    ) throws(ReceiptError) -> Payload {
        let verified = try verifySignature(ofJWS: jws.span), context = ClaimContext(verifier: self, now: now)
        let claims = try context.claims(of: verified), found = PayloadKind(of: claims)
        do throws(ReceiptError) {
            return try read(verified, claims, context)
        } catch  where error.rule == .claimMissing {
            guard let found, found != kind else { throw error }
            throw ReceiptError(.payloadOfOtherKind)
        }
    }
}
