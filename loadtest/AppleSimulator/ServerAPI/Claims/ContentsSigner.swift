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

    private struct Signed: Sendable {
        let jws: String
        let date: Timestamp
    }

    private let pki: TransactionPKI
    private let signed: Mutex<RecentCache<Key, Signed>>

    init(pki: TransactionPKI, maximumBytes: Int) {
        self.pki = pki
        signed = Mutex(RecentCache(maximumBytes: maximumBytes))
    }

    /// Returns claims without a time of signing as a JWS.
    /// - Parameter anew: true for a time of signing that is not before the call, also if this edition has them.
    func jws(_ contents: some SignedContents, for call: APICall, anew: Bool = false) -> String {
        let key = Self.key(contents, call.context), now = call.context.now
        // The chain, the claims and the signature take about four thousand bytes.
        let known = signed.withLock { $0.value(key, byteCount: Self.typicalBytes) }
        guard call.fault?.forgesPayloads == true else {
            if let known, !anew || now <= known.date { return known.jws }
            return sign(contents, at: now, as: key)
        }
        var dated = contents
        dated.signedDate = now
        return Self.forged(jws(dated), Self.laterEnd(dated))
    }

    /// Signs claims at a date, and keeps the JWS for the answers of this edition.
    func sign(_ contents: some SignedContents, at date: Timestamp, _ context: CallContext) -> String {
        sign(contents, at: date, as: Self.key(contents, context))
    }

    private func sign(_ contents: some SignedContents, at date: Timestamp, as key: Key) -> String {
        var dated = contents
        dated.signedDate = date
        let text = jws(dated)
        signed.withLock { $0.insert(Signed(jws: text, date: date), key, byteCount: text.utf8.count) }
        return text
    }

    /// Signs claims as they are.
    func jws(_ contents: some SignedContents) -> String {
        String(decoding: pki.jws(contents), as: UTF8.self)
    }

    private static func key(_ contents: some SignedContents, _ context: CallContext) -> Key {
        Key(claims: Fingerprint(of: contents.payload.span), issue: context.edition.issue)
    }

    private static let typicalBytes = 4096

    /// Returns a JWS with another payload than was signed: this one, or one more claim.
    static func forged(_ jws: String, _ payload: [UInt8]? = nil) -> String {
        var parts = jws.split(separator: ".").map { String($0) }
        guard parts.count == 3, let signed = Base64URLDecoder.decode(parts[1].utf8.span) else { return jws }
        let forged = payload ?? signed.dropLast() + Array(#","forged":true}"#.utf8)
        parts[1] = Base64.encodeURL(forged)
        return parts.joined(separator: ".")
    }

    /// Returns the payload of a subscription that ends in 2099; nil for other data.
    private static func laterEnd(_ contents: some SignedContents) -> [UInt8]? {
        guard var transaction = contents as? TransactionContents, transaction.expiresDate != nil else { return nil }
        transaction.expiresDate = ServerFault.Tampering.end.timestamp
        return transaction.payload
    }
}

extension ServerFault {
    /// True if signed data is changed after signing.
    var forgesPayloads: Bool { self == .tampered(.expires2099) }
}

extension Customer {
    /// The customer of another app or environment, for faults that sign such data.
    func misplaced(by fault: ServerFault?) -> Customer {
        var customer = self
        switch fault {
        case .tampered(.otherBundleID): customer.app.bundleID = ServerFault.Tampering.bundleID
        case .wrongEnvironment: customer.app.endpoint = app.endpoint.other
        default: break
        }
        return customer
    }
}
