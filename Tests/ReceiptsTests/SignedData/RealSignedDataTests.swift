// SPDX-License-Identifier: Apache-2.0

import RealCorpus
import Testing

@testable import ReceiptForge
@testable import Receipts

/// JWS that Apple, Xcode and tests of others really signed, through the whole verifier.
@Suite(
    .enabled(
        if: RealTransactions.folder != nil,
        """
        Set the environment variable RECEIPT_CORPUS to a folder beside which ../jws holds signed transactions \
        (index.json and the files it names).
        """))
struct RealSignedDataTests {
    private static let apple = ReceiptVerifier()
    private static let now = SignedSamples.now

    @Test(arguments: try RealTransactions.index())
    func `each file gets the verdict of the index`(_ row: RealTransactions.Row) throws {
        let broken = Self.apple.brokenRule(ofJWS: Array(try #require(row.text).utf8))
        #expect((broken == nil) == row.isGenuine, "\(broken?.rawValue ?? "genuine")")
    }

    @Test(arguments: try RealTransactions.index().filter { $0.isGenuine && $0.kind == "transaction" })
    func `what Apple signed about a transaction is read`(_ row: RealTransactions.Row) throws {
        let read = try Self.apple.verifyTransaction(Array(try #require(row.text).utf8), at: Self.now)
        #expect(read.transactionID == row.transactionId && read.originalTransactionID == row.originalTransactionId)
        #expect(read.bundleID == row.bundleId && read.productID == row.productId)
        #expect(read.environment?.rawValue == row.environment)
        #expect(read.signedDate == row.signingTime && read.type == "Auto-Renewable Subscription")
        #expect(read.unreadClaims.isEmpty)
        #expect(read.quantity == 1 && read.inAppOwnershipType == "PURCHASED" && read.subscriptionGroupIdentifier != nil)
        let purchased = try #require(read.purchaseDate), expires = try #require(read.expiresDate)
        #expect(purchased < expires && read.originalPurchaseDate ?? expires <= purchased)
        // Prices and storefronts came in 2023.
        let fields = read.signedFields
        #expect(
            (fields.price == nil) == (row.environment == nil) && (fields.storefront == nil) == (fields.currency == nil))
    }

    @Test(arguments: try RealTransactions.index().filter { $0.isGenuine && $0.kind == "renewal" })
    func `what Apple signed about a renewal is read`(_ row: RealTransactions.Row) throws {
        let read = try Self.apple.verifyRenewalInfo(Array(try #require(row.text).utf8), at: Self.now)
        #expect(read.originalTransactionID == row.originalTransactionId && read.productID == row.productId)
        #expect(read.environment?.rawValue == row.environment && read.signedDate == row.signingTime)
        #expect(read.autoRenewStatus == 0 && read.autoRenewProductID == row.productId)
    }

    @Test(arguments: try RealTransactions.index().filter { $0.isGenuine && $0.kind == "notification" })
    func `the items of a notification are verified with it`(_ row: RealTransactions.Row) throws {
        let read = try Self.apple.verifyNotification(Array(try #require(row.text).utf8), at: Self.now)
        #expect(read.notificationType == row.notificationType && read.subtype == row.subtype)
        #expect(read.bundleID == row.bundleId && read.environment?.rawValue == row.environment)
        #expect(read.signedDate == row.signingTime && read.appAppleID != nil)
        let transaction = try #require(read.transaction), renewal = try #require(read.renewalInfo)
        #expect(transaction.bundleID == row.bundleId && renewal.belongs(to: transaction))
    }

    @Test(arguments: try RealTransactions.index().filter(\.isGenuine))
    func `no genuine file is genuine with a changed character`(_ row: RealTransactions.Row) throws {
        let text = Array(try #require(row.text).utf8)
        for place in stride(from: 0, to: text.count, by: 97) {
            var changed = text
            changed[place] = changed[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(Self.apple.brokenRule(ofJWS: changed) != nil, "at \(place)")
        }
    }

    @Test(arguments: try RealTransactions.index().filter { $0.class == "Xcode" })
    func `what Xcode signed is genuine to an operator who trusts its certificate`(_ row: RealTransactions.Row) throws {
        let text = Array(try #require(row.text).utf8), jws = try #require(row.jws)
        let root = try #require(jws.x5c.first)
        let trusting = ReceiptVerifier(
            trustStore: TrustStore(anchors: [try TrustAnchor(der: root, environments: [.xcode])]))
        #expect(Self.apple.brokenRule(ofJWS: text) == .x5cCountWrong)
        switch try trusting.verify(jws: text, at: Self.now) {
        case .transaction(let read):
            #expect(row.kind == "transaction" && read.environment == .xcode && read.signedDate == row.signingTime)
        case .appTransaction(let read):
            #expect(row.kind == "appTransaction" && read.receiptCreationDate == row.signingTime)
        case .renewalInfo, .notification: Issue.record("another kind")
        }
    }

    /// The root in these headers is of version 1, and the one that an operator would configure is another certificate of
    /// the same key. Here a forged one stands for that.
    @Test(arguments: try RealTransactions.index().filter { $0.class == "Apple-library test chain" })
    func `a test chain is genuine to an operator who trusts its root`(_ row: RealTransactions.Row) throws {
        let text = Array(try #require(row.text).utf8), jws = try #require(row.jws)
        let root = try #require(jws.x5c.last)
        let anchor = try TrustAnchor(der: try root.reissuedAsVersion3(), environments: [.sandbox])
        let verifier = ReceiptVerifier(trustStore: TrustStore(anchors: [anchor]))
        let read = try verifier.verifyNotification(text, at: Self.now)
        #expect(read.bundleID == row.bundleId && read.notificationType == row.notificationType)
        var changed = text
        changed[changed.count - 20] ^= 1
        #expect(verifier.brokenRule(ofJWS: changed) != nil)
    }
}

extension RealTransactions.Row {
    /// Fractions of milliseconds are dropped.
    fileprivate var signingTime: Timestamp? {
        signedDate_ms.map { Timestamp(millisecondsSince1970: Int64($0.rounded(.down))) }
    }
}

extension [UInt8] {
    /// Returns an authority of version 3 with the name and the key of a certificate of version 1. Its own signature,
    /// which nothing verifies, is by another key.
    fileprivate func reissuedAsVersion3() throws -> [UInt8] {
        var outer = DERReader(span, in: indices)
        var fields = try outer.enter(.sequence)
        var body = try fields.enter(.sequence)
        _ = try body.next(.integer)
        for _ in 0..<4 { _ = try body.next(.sequence) }
        let key = try body.next(.sequence).encoding
        var template = CertificateTemplate.root(key: SignedSamples.pki.rootKey)
        template.issuer = .cupertino
        template.subject = .cupertino
        template.subjectPublicKeyInfo = .verbatim(Array(self[key]))
        return template.signed(by: SignedSamples.pki.rootKey, .sha384).der
    }
}

extension DistinguishedName {
    fileprivate static let cupertino = DistinguishedName(
        .country("US"), Attribute(type: [2, 5, 4, 8], value: .utf8String("California")),
        Attribute(type: [2, 5, 4, 7], value: .utf8String("Cupertino")))
}
