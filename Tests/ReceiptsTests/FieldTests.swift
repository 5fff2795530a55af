// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

struct FieldTests {
    private static let verifier = ForgedReceiptTests.verifier

    @Test func `every field of a receipt is read`() throws {
        let receipt = try Self.verified(
            Samples.forge.receipt {
                $0.adamID = 1_234_567_890
                $0.applicationVersion = "7"
                $0.originalApplicationVersion = "1.5"
                $0.developerID = 42
                $0.downloadID = 1 << 59
                $0.versionExternalIdentifier = 800_000_001
                $0.originalPurchaseDate = UTCDate(2020, 2, 29, 1, 2, 3)
                $0.expirationDate = UTCDate(2030, 1, 1)
                $0.preorderDate = UTCDate(2019, 12, 31, 23, 59, 59)
            })
        #expect(receipt.environment == .sandbox && receipt.receiptType == "ProductionSandbox")
        #expect(receipt.bundleID == "com.example.forge" && receipt.ageRating == "4+")
        #expect(receipt.applicationVersion == "7" && receipt.originalApplicationVersion == "1.5")
        #expect(receipt.adamID == 1_234_567_890 && receipt.developerID == 42)
        #expect(receipt.downloadID == 1 << 59 && receipt.versionExternalIdentifier == 800_000_001)
        #expect(receipt.creationDate == Samples.created && receipt.originalReceiptCreationDate == nil)
        #expect(receipt.originalPurchaseDate?.description == "2020-02-29T01:02:03Z")
        #expect(receipt.expirationDate?.description == "2030-01-01T00:00:00Z")
        #expect(receipt.preorderDate?.description == "2019-12-31T23:59:59Z")
    }

    @Test func `every field of a purchase is read`() throws {
        let date = UTCDate(2023, 5, 6, 7, 8, 9)
        let receipt = try Self.verified(
            Samples.forge.receipt { contents in
                var purchase = PurchaseContents(productID: "product", transactionID: "2", purchaseDate: date)
                purchase.quantity = 3
                purchase.originalTransactionID = "1"
                purchase.originalPurchaseDate = date.advanced(byDays: -30)
                purchase.expiresDate = date.advanced(byDays: 30)
                purchase.cancellationDate = date.advanced(byDays: 1)
                purchase.cancellationReason = .issueInApp
                purchase.webOrderLineItemID = 0x7F_FFFF_FFFF_FFFF
                purchase.isTrialPeriod = true
                purchase.isInIntroOfferPeriod = false
                purchase.promotionalOfferID = "offer"
                contents.purchases = [purchase]
            })
        let purchase = try #require(receipt.purchases.first)
        #expect(purchase.productID == "product" && purchase.quantity == 3)
        #expect(purchase.transactionID == "2" && purchase.originalTransactionID == "1")
        #expect(purchase.purchaseDate == Timestamp(date))
        #expect(purchase.originalPurchaseDate == Timestamp(date.advanced(byDays: -30)))
        #expect(purchase.expiresDate == Timestamp(date.advanced(byDays: 30)))
        #expect(purchase.cancellationDate == Timestamp(date.advanced(byDays: 1)) && purchase.cancellationReason == 1)
        #expect(purchase.webOrderLineItemID == 0x7F_FFFF_FFFF_FFFF && purchase.promotionalOfferID == "offer")
        #expect(purchase.isTrialPeriod == true && purchase.isInIntroOfferPeriod == false)
        #expect(purchase.productType == .autoRenewableSubscription && purchase.inAppAdamID == 0)
    }

    @Test func `what a purchase leaves out is nil, and so are empty texts and a line item of 0`() throws {
        let receipt = try Self.verified(
            Samples.forge.receipt { contents in
                var purchase = PurchaseContents(productID: "p", transactionID: "1", purchaseDate: UTCDate(2024, 1, 1))
                purchase.originalTransactionID = ""
                purchase.isTrialPeriod = nil
                purchase.isInIntroOfferPeriod = nil
                purchase.productType = nil
                contents.purchases = [purchase]
            })
        let purchase = try #require(receipt.purchases.first)
        #expect(
            purchase.originalTransactionID == nil && purchase.expiresDate == nil && purchase.cancellationDate == nil)
        #expect(purchase.webOrderLineItemID == nil && purchase.promotionalOfferID == nil && purchase.productType == nil)
        #expect(purchase.isTrialPeriod == nil && purchase.isInIntroOfferPeriod == nil)
        #expect(purchase.cancellationReason == nil)
    }

    @Test(arguments: [(UTCDate(0, 1, 1), nil), (UTCDate(0, 12, 30), nil), (UTCDate(1, 1, 1), UTCDate(1, 1, 1))])
    func `a date in the year 0 is absent`(written: UTCDate, read: UTCDate?) throws {
        let receipt = try Self.verified(
            Samples.forge.receipt { contents in
                contents.originalPurchaseDate = written
                contents.purchases = [contents.purchases[0]]
                contents.purchases[0].expiresDate = written
            })
        let expected = read.map { Timestamp(millisecondsSince1970: $0.secondsSince1970 * 1000) }
        #expect(receipt.originalPurchaseDate == expected)
        #expect(receipt.purchases.map(\.expiresDate) == [expected])
    }

    @Test func `a product type without a meaning is none`() throws {
        let receipt = try Self.verified(
            Samples.forge.receipt { contents in
                contents.purchases = PurchaseContents.ProductType.allCases.map { type in
                    var purchase = contents.purchases[0]
                    purchase.productType = type
                    return purchase
                }
            })
        let types: [ProductType?] = [
            .nonConsumable, .consumable, .nonRenewingSubscription, .autoRenewableSubscription,
        ]
        #expect(receipt.purchases.map(\.productType) == types)
        let unknown = try Self.verified(Samples.forge.receiptWithProductType(4))
        #expect(unknown.purchases.map(\.productType).contains(nil) && unknown.purchases.count == 2)
    }

    @Test(
        arguments: [
            ([0x02, 1, 0], 0), ([0x02, 1, 1], 1), ([0x02, 2, 0x7F, 0xFF], 32_767), ([0x0C, 1, 0x31], nil),
            ([0x0C, 0], nil), ([0x02, 9] + Array(repeating: 0x7F, count: 9), nil), ([0x02, 1, 0, 0], nil), ([], nil),
        ] as [([UInt8], Int64?)])
    func `attribute 1722 is a number where it is one, and kept in any form`(value: [UInt8], number: Int64?) throws {
        let attribute = ReceiptForge.AttributeTemplate(1722, value: value)
        let receipt = try Self.verified(Samples.forge.receipt(replacingInFirstPurchase: attribute))
        // The other of the two purchases has a zero.
        #expect(receipt.purchases.contains { $0.attribute1722 == number && $0.keeps(1722, value) })
        #expect(receipt.purchases.allSatisfy { $0.keeps(1722, value) || $0.attribute1722 == 0 })
    }

    @Test func `attribute 1722 may be absent`() throws {
        let receipt = try Self.verified(Samples.forge.receipt(withoutInFirstPurchase: 1722))
        #expect(receipt.purchases.contains { $0.attribute1722 == nil })
    }

    // MARK: Integers

    @Test(
        arguments: [
            ([0x00], 0), ([0x7F], 127), ([0x00, 0xFF], 255), ([0x00, 0xFF, 0xFF, 0xFF, 0xFF], 0xFFFF_FFFF),
            ([0x20, 0, 0, 0, 0, 0, 0x01], (1 << 53) + 1),
            ([0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .max), ([0x80, 0, 0, 0, 0, 0, 0, 0], .min), ([0xFF], -1),
        ] as [([UInt8], Int64)])
    func `numbers have 64 bits`(contents: [UInt8], value: Int64) throws {
        let receipt = try Self.verified(Samples.forge.receipt(settingInteger: 15, to: contents))
        #expect(receipt.downloadID == value)
    }

    @Test(arguments: [1, 11, 15, 16] as [AttributeNumber])
    func `a number beyond 64 bits is refused, not cut`(type: AttributeNumber) {
        for contents: [UInt8] in [[0x00, 0x80, 0, 0, 0, 0, 0, 0, 0], [0x01, 0, 0, 0, 0, 0, 0, 0, 0]] {
            let receipt = Samples.forge.receipt(settingInteger: type, to: contents)
            #expect(Self.verifier.brokenRule(of: receipt) == .derIntegerOutOfRange)
        }
    }

    // MARK: Attributes without a name

    @Test func `unknown attributes are kept as they stand`() throws {
        let unknown: [ReceiptForge.AttributeTemplate] = [
            .init(9999, version: 3, value: [1, 2, 3]), .init(2_147_483_647, value: []),
            .init(33, version: 127, value: [0]),
            .init(1702, value: Array(repeating: 9, count: 300)),
        ]
        let receipt = try Self.verified(Samples.forge.receipt { $0.unknownAttributes = unknown })
        for attribute in unknown {
            let kept = receipt.otherAttributes.filter { $0.type == attribute.type.rawValue }
            #expect(kept.map(\.value) == [attribute.value] && kept.map(\.version) == [Int(attribute.version)])
        }
        let named = [0, 1, 2, 3, 4, 5, 12, 15, 17]
        #expect(receipt.otherAttributes.allSatisfy { !named.contains($0.type) })
        #expect(receipt.otherAttributes.contains { $0.type == 6 } && receipt.otherAttributes.contains { $0.type == 9 })
    }

    @Test func `unknown attributes of a purchase are kept too`() throws {
        let receipt = try Self.verified(
            Samples.forge.receipt(addingToFirstPurchase: [.init(1763, value: [7]), .init(2, value: [0x0C, 1, 0x41])]))
        let purchase = try #require(receipt.purchases.first { $0.otherAttributes.contains { $0.type == 1763 } })
        #expect(purchase.otherAttributes.first { $0.type == 2 }?.value == [0x0C, 1, 0x41])
        #expect(purchase.otherAttributes.allSatisfy { $0.type != 1702 })
        #expect(receipt.bundleID == Samples.contents.bundleID)
    }

    /// Types around every boundary between the forms of attributes and between the ways of remembering seen types.
    @Test(arguments: [
        13, 62, 63, 64, 126, 127, 128, 255, 256, 1699, 1700, 1763, 1764, 32_767, 32_768, 65_535, 2_147_483_647,
    ])
    func `a second attribute of any type is refused`(type: Int64) throws {
        let attribute = ReceiptForge.AttributeTemplate(AttributeNumber(rawValue: type), value: [5])
        let other = ReceiptForge.AttributeTemplate(AttributeNumber(rawValue: type), version: 2, value: [6, 7])
        let isUsed = try Self.verified(Samples.receipt).otherAttributes.contains { $0.type == Int(type) }
        let once = Samples.forge.receipt { $0.unknownAttributes = isUsed ? [] : [attribute] }
        let twice = Samples.forge.receipt { $0.unknownAttributes = isUsed ? [other] : [attribute, other] }
        #expect(Self.verifier.brokenRule(of: once) == nil)
        #expect(throws: ReceiptError(.attributeDuplicate, at: .attribute(Int(type)))) { try Self.verified(twice) }
    }

    @Test(arguments: [-1, -128, -32_768, 2_147_483_648, 4_294_967_298, .max, .min])
    func `a type outside 31 bits is refused`(type: Int64) {
        let receipt = Samples.forge.receipt {
            $0.unknownAttributes = [.init(AttributeNumber(rawValue: type), value: [])]
        }
        #expect(Self.verifier.brokenRule(of: receipt) == .attributeTypeOutOfRange)
    }

    // MARK: Texts

    @Test(
        arguments: [
            [0x80], [0xC3], [0xC3, 0x28], [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80],
            [0xF4, 0x90, 0x80, 0x80],
            [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFF], [0xFE],
        ] as [[UInt8]])
    func `invalid UTF-8 is refused`(bytes: [UInt8]) {
        for prefix in 0...9 {
            let text = [UInt8](repeating: 0x61, count: prefix) + bytes
            let receipt = Samples.forge.receipt(settingText: 3, to: text)
            #expect(Self.verifier.brokenRule(of: receipt) == .textInvalidUTF8)
        }
    }

    // MARK: Purchases

    @Test(arguments: [0, 1, 2, 187]) func `purchases are a collection in the order they stand`(count: Int) throws {
        let identifiers = (0..<count).map { "\(($0 * 7919) % 10_007)" }
        let receipt = try Self.verified(Samples.forge.receiptWithPurchases(inOrder: identifiers))
        let purchases = receipt.purchases
        #expect(purchases.count == count && purchases.isEmpty == (count == 0))
        #expect(purchases.map(\.transactionID) == identifiers)
        #expect(purchases.reversed().map(\.transactionID) == identifiers.reversed())
        #expect(purchases.indices == 0..<count)
        #expect(
            purchases.first?.transactionID == identifiers.first && purchases.last?.transactionID == identifiers.last)
        #expect(purchases.dropFirst(1).map(\.transactionID) == Array(identifiers.dropFirst(1)))
        #expect(purchases.index(purchases.startIndex, offsetBy: count) == purchases.endIndex)
    }

    @Test func `a purchase outlives its receipt`() throws {
        var purchase: InAppPurchase?
        do { purchase = try Self.verified(Samples.receipt).purchases.last }
        #expect(purchase?.productID == "com.example.forge.monthly")
    }

    @Test(arguments: [1702, 1703] as [AttributeNumber])
    func `a purchase without a product or a transaction is refused`(type: AttributeNumber) {
        let receipt = Samples.forge.receipt(withoutInFirstPurchase: type)
        #expect(throws: ReceiptError(.attributeMissing, at: .attribute(Int(type.rawValue)))) {
            try Self.verified(receipt)
        }
    }

    @Test func `the signed content is the same for every encoding of a receipt`() throws {
        let receipts = [
            Samples.receipt, Samples.forge.receipt(certificateOrder: [2, 1, 0]),
            Samples.forge.receipt(certificateOrder: [0, 1]),
        ]
        let contents = try receipts.map { receipt in
            let verified = try Self.verified(receipt)
            return Fingerprint(of: verified.signedContent)
        }
        #expect(Set(receipts).count == 3 && Set(contents).count == 1)
    }

    private static func verified(_ receipt: [UInt8]) throws -> VerifiedReceipt {
        try verifier.verify(receipt, at: Samples.now)
    }
}

extension InAppPurchase {
    fileprivate func keeps(_ type: Int, _ value: [UInt8]) -> Bool {
        otherAttributes.contains { $0.type == type && $0.value == value }
    }
}
