// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import Receipts

    extension FuzzTarget {
        /// Checks a payload. The first byte of the input decides whether dates may have offsets.
        static func checkFields(_ input: [UInt8]) throws {
            let bytes = Array(input.dropFirst())
            let limits = Limits(), acceptsOffsets = input.first.map { $0 & 1 == 1 } ?? false
            do {
                let fields = try ReceiptFields(
                    bytes.span, in: 0..<bytes.count, acceptsOffsets: acceptsOffsets, limits: limits)
                let receipt = VerifiedReceipt(
                    environment: .sandbox, der: bytes, ber: nil, content: 0..<bytes.count, fields: fields)
                try receipt.checkTexts()
                try receipt.checkAttributes(of: bytes)
                try receipt.checkDates(acceptsOffsets: acceptsOffsets)
            } catch let error as ReceiptError {
                try error.checkLocation(in: bytes)
            }
        }
    }

    extension VerifiedReceipt {
        /// Checks that required texts are present, and that no text was repaired or contains a NUL.
        fileprivate func checkTexts() throws {
            try expect(!receiptType.isEmpty && !bundleID.isEmpty, "a required text is empty")
            try expect(isIssued(forBundleID: bundleID), "a bundle ID that is not itself")
            let own: [String?] = [receiptType, bundleID, applicationVersion, originalApplicationVersion, ageRating]
            let bought = purchases.flatMap { purchase -> [String?] in
                [
                    purchase.productID, purchase.transactionID, purchase.originalTransactionID,
                    purchase.promotionalOfferID,
                ]
            }
            for text in (own + bought).compactMap(\.self) {
                try expect(!text.isEmpty && !text.utf8.contains(0), "a text that is empty or holds a NUL")
            }
        }

        /// Compares the attributes with those of a reader without shortcuts.
        fileprivate func checkAttributes(of bytes: [UInt8]) throws {
            let all = try PlainAttribute.all(in: 0..<bytes.count, of: bytes)
            let unnamed = all.filter { !AttributeType.ofReceipt.contains($0.type) }
            try expect(otherAttributes == unnamed.map { $0.attribute(in: bytes) }, "attributes got lost or changed")
            let single = all.map(\.type).filter { $0 != AttributeType.inAppPurchase }
            try expect(Set(single).count == single.count, "an attribute appears twice")
            let purchased = all.filter { $0.type == AttributeType.inAppPurchase }
            try expect(purchased.count == purchases.count, "purchases got lost")
            for (attribute, purchase) in zip(purchased, purchases) {
                let all = try PlainAttribute.all(in: attribute.value, of: bytes)
                let unnamed = all.filter { !AttributeType.ofPurchase.contains($0.type) }
                try expect(
                    purchase.otherAttributes == unnamed.map { $0.attribute(in: bytes) },
                    "attributes of a purchase changed")
                try expect(Set(all.map(\.type)).count == all.count, "an attribute of a purchase appears twice")
            }
        }

        fileprivate func checkDates(acceptsOffsets: Bool) throws {
            let own: [Timestamp?] = [
                creationDate, originalReceiptCreationDate, originalPurchaseDate, expirationDate, preorderDate,
            ]
            let bought = purchases.flatMap { purchase -> [Timestamp?] in
                [purchase.purchaseDate, purchase.originalPurchaseDate, purchase.expiresDate, purchase.cancellationDate]
            }
            for date in (own + bought).compactMap(\.self) {
                try expect(
                    CivilTime(date).secondsSince1970 * 1000 == date.millisecondsSince1970, "a date off its calendar")
                // An offset may carry a date beyond four digits of the year.
                try expect(
                    acceptsOffsets || Timestamp(rfc3339: date.description) == date, "a date that cannot be written")
            }
        }
    }

    /// An attribute, read field by field.
    private struct PlainAttribute {
        let type: Int
        let version: Int
        let value: Range<Int>

        func attribute(in bytes: [UInt8]) -> ReceiptAttribute {
            ReceiptAttribute(type: type, version: version, value: Array(bytes[value]))
        }

        static func all(in range: Range<Int>, of bytes: [UInt8]) throws -> [PlainAttribute] {
            do throws(ReceiptError) {
                var attributes: [PlainAttribute] = []
                var outer = DERReader(bytes.span, in: range)
                var set = try outer.enter(.set)
                while !set.isAtEnd {
                    var fields = try set.enter(.sequence)
                    let (type, version) = (try fields.integer(), try fields.integer())
                    let value = try fields.next(.octetString).contents
                    try fields.finish()
                    attributes.append(PlainAttribute(type: Int(type), version: Int(version), value: value))
                }
                return attributes
            } catch {
                throw BrokenInvariant("attributes that a plain reader rejects: \(error.rule.rawValue)")
            }
        }
    }
#endif
