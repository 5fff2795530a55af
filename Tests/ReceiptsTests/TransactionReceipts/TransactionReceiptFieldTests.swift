// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

/// Tests that the fields of a genuine transaction receipt are what was signed.
struct TransactionReceiptFieldTests {
    private static let forge = TransactionReceiptSamples.forge

    private static func verified(_ name: String) throws -> VerifiedTransactionReceipt {
        let fault = try #require(TransactionReceiptFault(named: name))
        return try TransactionReceiptSamples.verifier(acceptsVersion2: fault.acceptsVersion2)
            .verify(transactionReceipt: forge.evidence(with: fault), at: Samples.now)
    }

    private static var sample: VerifiedTransactionReceipt {
        get throws {
            try TransactionReceiptSamples.verifier()
                .verify(transactionReceipt: TransactionReceiptSamples.receipt, at: Samples.now)
        }
    }

    @Test(arguments: TransactionReceiptFault.allCases.filter { forge.contents(with: $0) != nil })
    func `every field is read as it was signed`(_ fault: TransactionReceiptFault) throws {
        let contents = try #require(Self.forge.contents(with: fault))
        let receipt = try Self.verified(fault.name)
        #expect(receipt.bundleID == contents.bundleID && receipt.applicationVersion == contents.applicationVersion)
        #expect(receipt.productID == contents.productID && receipt.transactionID == contents.transactionID)
        #expect(receipt.originalTransactionID == contents.originalTransactionID)
        #expect(receipt.webOrderLineItemID == contents.purchase.webOrderLineItemText)
        #expect(receipt.itemID == contents.itemID && receipt.appItemID == contents.appItemID)
        #expect(receipt.versionExternalIdentifier == contents.versionExternalIdentifier)
        #expect(receipt.uniqueIdentifier == contents.uniqueIdentifier)
        #expect(receipt.uniqueVendorIdentifier == contents.uniqueVendorIdentifier)
        #expect(receipt.quantity == contents.quantity && receipt.isTrialPeriod == contents.isTrialPeriod)
        #expect(receipt.isInIntroOfferPeriod == contents.isInIntroOfferPeriod)
        #expect(receipt.purchaseDate == contents.purchaseDate.timestamp)
        #expect(receipt.originalPurchaseDate == contents.originalPurchaseDate.timestamp)
        #expect(receipt.expiresDate == contents.expiresDate?.timestamp)
        #expect(receipt.cancellationDate == contents.cancellationDate?.timestamp)
    }

    @Test func `all fields are there as texts, in the signed order`() throws {
        let fields = try Self.verified("unknown-fields").fields
        #expect(
            fields.map(\.name).prefix(3) == [
                "original-purchase-date-pst", "original-purchase-date-ms", "original-purchase-date",
            ])
        #expect(fields.suffix(2).map(\.name) == ["later", "empty"] && fields.suffix(2).map(\.value) == ["1", ""])
        #expect(fields.first { $0.name == "purchase-date" }?.value == "2024-02-29 12:30:15 Etc/GMT")
        #expect(fields.count == 21)
    }

    @Test func `escapes are undone`() throws {
        let receipt = try Self.verified("escaped-version")
        #expect(receipt.applicationVersion == "1.0 \"β\" β \\ 😀")
        #expect(receipt.fields.first { $0.name == "bvrs" }?.value == receipt.applicationVersion)
    }

    @Test(arguments: ["optional-fields-missing", "optional-fields-empty"])
    func `an optional field that is missing or empty is absent`(name: String) throws {
        let receipt = try Self.verified(name)
        #expect(receipt.applicationVersion == nil && receipt.expiresDate == nil && receipt.quantity == nil)
        #expect(receipt.webOrderLineItemID == nil)
        #expect(receipt.purchaseDate == TransactionReceiptSamples.contents.purchaseDate.timestamp)
    }

    @Test(arguments: [("version-2-accepted", 2), ("version-3", 3)]) func `the version is there`(
        name: String, version: Int
    ) throws {
        #expect(try Self.verified(name).version == version)
        #expect(try Self.sample.version == 4)
    }

    @Test func `the identity is the digest of the version and of the purchase information`() throws {
        let receipt = try Self.sample
        let info = Array(try Self.purchaseInfo(of: receipt))
        #expect(receipt.identity == Self.digest([4] + info))
        #expect(try Self.verified("version-3").identity == Self.digest([3] + info))
        #expect(receipt.bytes == TransactionReceiptSamples.receipt && receipt.byteCount > receipt.bytes.count)
    }

    /// The spans of digests cannot pass through the macros of tests.
    private static func digest(_ bytes: [UInt8]) -> Fingerprint { Fingerprint(of: bytes.span) }

    /// Finds the base64 text without the reader under test.
    private static func purchaseInfo(of receipt: VerifiedTransactionReceipt) throws -> [UInt8] {
        let text = String(decoding: receipt.bytes, as: UTF8.self)
        let match = try #require(text.firstMatch(of: /"purchase-info" = "([^"]*)"/))
        return try Base64.decode(String(match.output.1))
    }

    @Test(arguments: [
        "unsigned-environment-changed", "unsigned-members-missing", "unknown-members", "other-white-space",
        "base64-with-line-breaks",
    ])
    func `nothing unsigned is part of the identity`(name: String) throws {
        let receipt = try Self.verified(name)
        #expect(try receipt.identity == Self.sample.identity)
        #expect(try receipt.fields == Self.sample.fields)
    }

    @Test func `the environment is said to be unsigned`() throws {
        #expect(try Self.sample.unsignedEnvironment == "Sandbox")
        #expect(try Self.verified("unsigned-environment-changed").unsignedEnvironment == "Production")
        #expect(try Self.verified("unsigned-members-missing").unsignedEnvironment == nil)
    }

    @Test(arguments: [
        ("purchase-date-not-a-number", "purchase-date-ms"), ("expires-date-not-a-number", "expires-date"),
        ("quantity-not-a-number", "quantity"), ("bundle-id-missing", "bid"), ("product-empty", "product-id"),
        ("trial-neither-true-nor-false", "is-trial-period"),
    ]) func `an error names its field`(name: String, field: String) throws {
        let fault = try #require(TransactionReceiptFault(named: name))
        #expect(throws: ReceiptError(try #require(fault.rule), at: .claim(field))) { try Self.verified(name) }
    }
}
