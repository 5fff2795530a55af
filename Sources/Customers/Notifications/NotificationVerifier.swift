// SPDX-License-Identifier: Apache-2.0

package import Cryptography
package import Gateway
internal import Receipts
internal import Resilience
internal import Synchronization

/// The apps whose notifications are accepted, and the values that these must have. The configuration may change.
package struct NotificationApps: Sendable {
    /// Returns true for an app that this gateway serves.
    package var isConfigured: @Sendable (_ bundleID: String) -> Bool
    /// Returns the app's number at Apple; nil if it is not configured.
    package var appAppleID: @Sendable (_ bundleID: String) -> Int64?
    /// Returns true for the app's shared secret, compared in constant time.
    package var isSharedSecret: @Sendable (_ password: Secret, _ bundleID: String) -> Bool

    package init(
        isConfigured: @escaping @Sendable (_ bundleID: String) -> Bool,
        appAppleID: @escaping @Sendable (_ bundleID: String) -> Int64?,
        isSharedSecret: @escaping @Sendable (_ password: Secret, _ bundleID: String) -> Bool
    ) {
        (self.isConfigured, self.appAppleID, self.isSharedSecret) = (isConfigured, appAppleID, isSharedSecret)
    }
}

/// Verifies the signatures of notifications, and that they are for this gateway's apps.
package struct NotificationVerifier: Sendable {
    private let verifier: CurrentVerifier
    private let apps: NotificationApps
    private let recent = RecentlyVerified()

    package init(_ verifier: CurrentVerifier, apps: NotificationApps) {
        (self.verifier, self.apps) = (verifier, apps)
    }

    /// Verifies a notification that a client posted.
    /// - Parameter body: the bytes that it was parsed from.
    func verify(
        _ notification: NotificationBody, body: [UInt8], at now: Timestamp
    ) throws(NotificationRejection) -> (NotificationRecord, SignedNotification) {
        switch notification {
        case .v2(let jws): return try verify(signedPayload: jws, body: body, at: now)
        case .v1(let notification):
            guard apps.isConfigured(notification.bundleID) else { throw .appNotConfigured(signedApp: nil) }
            guard apps.isSharedSecret(notification.password, notification.bundleID) else { throw .passwordWrong }
            let verifier = verifier.now, signed = try signed(notification, by: verifier, at: now)
            return (recent.insert(signed, by: verifier, of: NotificationRecord(.v1, body, receivedAt: now)), signed)
        }
    }

    /// Verifies a notification of version 2, and that it is for one of the apps.
    /// - Parameter body: the bytes that Apple posted; nil for a notification of Apple's history.
    func verify(
        signedPayload jws: [UInt8], body: [UInt8]? = nil, at now: Timestamp
    ) throws(NotificationRejection) -> (NotificationRecord, SignedNotification) {
        let verifier = verifier.now, signed = try signed(v2: jws, by: verifier, at: now)
        guard apps.isConfigured(signed.bundleID) else { throw .appNotConfigured(signedApp: signed.bundleID) }
        // The signed app suffices: some kinds of notification have no number.
        if signed.environment == .production, let number = signed.appAppleID,
            let configured = apps.appAppleID(signed.bundleID), configured != number
        {
            throw .appAppleIDMismatch
        }
        let record = NotificationRecord(.v2, body ?? NotificationBody.json(signedPayload: jws), receivedAt: now)
        return (recent.insert(signed, by: verifier, of: record), signed)
    }

    /// Verifies what is signed in a notification that was accepted before, unless this node did so lately.
    func verify(_ record: NotificationRecord, at now: Timestamp) throws(NotificationRejection) -> SignedNotification {
        let verifier = verifier.now
        if let signed = recent.take(record, verifiedBy: verifier) { return signed }
        switch try NotificationBody(record.bytes) {
        case .v2(let jws): return try signed(v2: jws, by: verifier, at: now)
        case .v1(let notification): return try signed(notification, by: verifier, at: record.receivedAt)
        }
    }

    private func signed(
        v2 jws: [UInt8], by verifier: ReceiptVerifier, at now: Timestamp
    ) throws(NotificationRejection) -> SignedNotification {
        let notification: VerifiedNotification
        do throws(ReceiptError) {
            notification = try verifier.verifyNotification(jws, at: now)
        } catch {
            throw .notGenuine(error.rule)
        }
        return try SignedNotification(notification)
    }

    private func signed(
        _ notification: NotificationV1, by verifier: ReceiptVerifier, at now: Timestamp
    ) throws(NotificationRejection) -> SignedNotification {
        try SignedNotification(
            notification,
            try notification.latestReceipt.map { text throws(NotificationRejection) in
                try receipt(text, by: verifier, at: now)
            }, at: now)
    }

    private func receipt(
        _ text: String, by verifier: ReceiptVerifier, at now: Timestamp
    ) throws(NotificationRejection) -> SignedItem {
        guard let bytes = try? Base64.decode(text) else { throw .receiptNotBase64 }
        do throws(ReceiptError) {
            switch Evidence(receipt: bytes) {
            case .transactionReceipt(let bytes):
                return .transactionReceipt(try verifier.verify(transactionReceipt: bytes, at: now))
            case .appReceipt(let bytes): return .appReceipt(try verifier.verify(bytes, at: now))
            case .jws, .signedTransactions: throw ReceiptError(.payloadOfOtherKind)
            }
        } catch {
            throw .notGenuine(error.rule)
        }
    }
}

/// The notifications that this node has verified and not applied, by the digest of their bytes; bounded in bytes.
///
/// In a fleet most of them are applied by other nodes, and stay here until the limit is reached. One that is missing is
/// verified again.
private final class RecentlyVerified: Sendable {
    enum Limits {
        static let bytes = 8 << 20
        /// The memory for each byte of a notification: the items that were read from it have most bytes again.
        static let memoryPerByte = 2
    }

    private typealias Entry = (notification: SignedNotification, verifier: ReceiptVerifier)

    private let notifications = Mutex(S3FIFOCache<Fingerprint, Entry>(maximumBytes: Limits.bytes))

    func insert(
        _ notification: SignedNotification, by verifier: ReceiptVerifier, of record: NotificationRecord
    ) -> NotificationRecord {
        let digest = Fingerprint(of: record.bytes.span)
        let byteCount = Limits.memoryPerByte * record.bytes.count
        notifications.withLock { $0.insert((notification, verifier), for: digest, byteCount: byteCount) }
        return record
    }

    /// Returns the notification, and removes it; nil if it is not among them, or other roots were trusted.
    func take(_ record: NotificationRecord, verifiedBy verifier: ReceiptVerifier) -> SignedNotification? {
        let digest = Fingerprint(of: record.bytes.span)
        return notifications.withLock { notifications in
            guard let found = notifications.find(digest) else { return nil }
            _ = notifications.remove(digest)
            return found.verifier === verifier ? found.notification : nil
        }
    }
}
