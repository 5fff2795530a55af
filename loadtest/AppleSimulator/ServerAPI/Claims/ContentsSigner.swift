// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts
internal import Synchronization

/// Signs what answers need, and keeps it: the same claims in the same edition are signed once.
final class ContentsSigner: Sendable {
    private struct Key: Hashable, Sendable {
        let claims: Fingerprint
        let issue: Int64
    }

    private let pki: TransactionPKI
    private let signed: Mutex<RecentCache<Key, String>>

    init(pki: TransactionPKI, maximumBytes: Int) {
        self.pki = pki
        signed = Mutex(RecentCache(maximumBytes: maximumBytes))
    }

    /// Returns claims as a JWS.
    /// - Parameter date: the claim with the time of signing, which is still nil.
    func jws<Contents: SignedContents>(
        _ contents: Contents, dating date: WritableKeyPath<Contents, Timestamp?>, _ call: CallContext,
        _ fault: ServerFault?
    ) -> String {
        let claims = Fingerprint(of: contents.payload.span)
        let key = Key(claims: claims, issue: call.edition.issue)
        // The chain, the claims and the signature take about four thousand bytes.
        let known = signed.withLock { $0.value(key, byteCount: Self.typicalBytes) }
        if let known, fault?.forgesPayloads != true { return known }
        var dated = contents
        dated[keyPath: date] = call.now
        let text = jws(dated)
        guard fault?.forgesPayloads != true else { return Self.forged(text, dated) }
        signed.withLock { $0.insert(text, key, byteCount: text.utf8.count) }
        return text
    }

    /// Signs claims at a date, and keeps the JWS for the answers of this edition.
    func sign<Contents: SignedContents>(
        _ contents: Contents, dating date: WritableKeyPath<Contents, Timestamp?>, at now: Timestamp, _ call: CallContext
    ) -> String {
        let key = Key(claims: Fingerprint(of: contents.payload.span), issue: call.edition.issue)
        var dated = contents
        dated[keyPath: date] = now
        let text = jws(dated)
        signed.withLock { $0.insert(text, key, byteCount: text.utf8.count) }
        return text
    }

    /// Signs claims as they are.
    func jws(_ contents: some SignedContents) -> String {
        String(decoding: pki.jws(contents), as: UTF8.self)
    }

    private static let typicalBytes = 4096

    /// Returns a JWS with one more claim than was signed.
    static func forged(_ jws: String) -> String {
        var parts = jws.split(separator: ".").map { String($0) }
        guard parts.count == 3, let payload = ReceivedToken.decoded(Substring(parts[1])) else { return jws }
        parts[1] = String(decoding: Base64URLText.encode(payload.dropLast() + #","forged":true}"#.utf8), as: UTF8.self)
        return parts.joined(separator: ".")
    }

    /// Returns a JWS with another payload than the signed payload: a subscription ends in 2099, and other data has one
    /// more claim.
    private static func forged<Contents: SignedContents>(_ text: String, _ contents: Contents) -> String {
        var parts = text.split(separator: ".").map { String($0) }
        var payload = contents.adding(#""forged":true"#).payload
        if var transaction = contents as? TransactionContents, transaction.expiresDate != nil {
            transaction.expiresDate = UTCDate(2099, 12, 31, 23, 59, 59).timestamp
            payload = transaction.payload
        }
        parts[1] = String(decoding: Base64URLText.encode(payload), as: UTF8.self)
        return parts.joined(separator: ".")
    }
}

extension ServerFault {
    /// True if signed data is changed after signing.
    var forgesPayloads: Bool { self == .tampered(.expires2099) }
}

extension Customer {
    /// The customer of another app or environment, for faults that sign such data.
    func misplaced(by fault: ServerFault?) -> Customer {
        var app = app
        switch fault {
        case .tampered(.otherBundleID): app = AppInStore(bundleID: "com.example.other", endpoint: app.endpoint)
        case .wrongEnvironment:
            app = AppInStore(bundleID: app.bundleID, endpoint: app.endpoint == .production ? .sandbox : .production)
        default: return self
        }
        return moved(to: app)
    }
}
