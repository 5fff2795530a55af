// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Attributes that are missing, repeated, or numbered so that two readers disagree about them.
extension FaultForge {
    static let attributes: [ReceiptFault] = [
        .rejected("receipt-type-missing", .attributeMissing).attributes { $0.remove(.receiptType) }
            .because("Without attribute 0 the environment is unknown."),
        .rejected("bundle-id-missing", .attributeMissing).attributes { $0.remove(.bundleID) }
            .because("Without attribute 2 the receipt fits every app."),
        .rejected("bundle-id-empty", .attributeMissing).attributes { $0.replace(with: .text(.bundleID, "")) }
            .because("An empty string means absent."),
        .rejected("creation-date-missing", .attributeMissing).attributes { $0.remove(.creationDate) }
            .because("Without attribute 12 there is no moment to judge the certificates at."),
        .rejected("creation-date-empty", .attributeMissing).attributes { $0.replace(with: .date(.creationDate, nil)) }
            .because("`16 00` where the creation date should be."),
        .rejected("bundle-id-twice", .attributeDuplicate)
            .attributes { $0.append(.text(.bundleID, "com.example.victim")) }
            .because("Does the first one count or the last one? Only attribute 17 may repeat."),
        .rejected("creation-date-twice", .attributeDuplicate)
            .attributes { $0.append(.date(.creationDate, UTCDate(2020, 1, 1))) }
            .because("The second creation date lies inside the validity of another certificate."),
        .rejected("product-id-twice", .attributeDuplicate)
            .attributes { $0.editFirstPurchase { $0.append(.text(.productID, "com.example.forge.lifetime")) } }
            .because("A purchase of two products at once."),
        .rejected("attribute-type-two-to-the-32-plus-2", .attributeTypeOutOfRange)
            .attributes { $0.append(.text(4_294_967_298, "com.example.victim")) }
            .because("Cut to 32 bits this is attribute 2, the bundle ID."),
        .rejected("attribute-type-negative", .attributeTypeOutOfRange)
            .attributes { $0.append(.text(-4_294_967_294, "com.example.victim")) }
            .because("2 - 2^32 is attribute 2 as well, once it is cut to 32 bits."),
        .rejected("purchase-as-sequence", .derUnexpectedTag)
            .attributes { $0.editValue(of: .inAppPurchase) { $0[0] = DERNodeTag.sequence.rawValue } }
            .because("A purchase is a SET like the payload; this one is a SEQUENCE."),
    ]
}

/// Signed values that cannot be true.
extension FaultForge {
    static let values: [ReceiptFault] = [
        .rejected("bundle-id-with-nul", .textContainsNUL).contents { $0.bundleID = "com.example.victim\0.forge" }
            .because("A C string ends at the NUL, a Swift string does not: two apps for one receipt."),
        .rejected("product-id-with-nul", .textContainsNUL)
            .contents { $0.purchases[0].productID = "com.example.lifetime\0monthly" }
            .because("The same trick with a product."),
        .rejected("bundle-id-with-invalid-utf8", .textInvalidUTF8)
            .attributes { $0.replace(with: AttributeTemplate(.bundleID, DERNode(.utf8String, [0x61, 0xC3, 0x28]))) }
            .because("`C3 28` is no character; repairing it would invent an unsigned bundle ID."),
        .rejected("bundle-id-with-overlong-utf8", .textInvalidUTF8)
            .attributes { $0.replace(with: AttributeTemplate(.bundleID, DERNode(.utf8String, [0x61, 0xC0, 0xAE]))) }
            .because(
                "`C0 AE` is a dot in two bytes (RFC 3629 §3 forbids it), which a comparison of bytes does not find."),
        .rejected("creation-date-on-february-30", .dateInvalid)
            .attributes { $0.replace(with: .creationDate("2024-02-30T12:00:00Z")) }
            .because("Calendar software that rolls over makes it March."),
        .rejected("creation-date-at-hour-25", .dateInvalid)
            .attributes { $0.replace(with: .creationDate("2024-03-01T25:00:00Z")) }
            .because("An hour no day has."),
        .rejected("creation-date-without-zone", .dateInvalid)
            .attributes { $0.replace(with: .creationDate("2024-03-01T12:00:00")) }
            .because("Without `Z` the date means whatever the server's time zone is."),
        .rejected("expires-date-on-february-30", .dateInvalid)
            .attributes { $0.editFirstPurchase { $0.replace(with: .ia5(.expiresDate, "2024-02-30T12:00:00Z")) } }
            .because("A subscription that ends on a day that never comes."),
        .rejected("creation-date-in-future", .creationDateInFuture).contents { $0.creationDate = UTCDate(2035, 12, 31) }
            .because("Certificates are judged at a date the receipt claims about itself; it must not lie ahead."),
        .rejected("receipt-type-unknown", .receiptTypeUnknown).contents { $0.receiptType = "Staging" }
            .because("A receipt type that belongs to no environment."),
        .rejected("production-receipt", .environmentNotAllowed).contents { $0.receiptType = "Production" }
            .because("The forged root may sign for Sandbox only; this receipt is for Production."),
    ]
}

extension AttributeTemplate {
    fileprivate static func ia5(_ type: AttributeNumber, _ text: String) -> Self {
        Self(type, .ia5String(text))
    }

    fileprivate static func creationDate(_ text: String) -> Self {
        ia5(.creationDate, text)
    }
}
