// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Attributes that are missing, repeated, or numbered so that two readers disagree about them.
extension FaultForge {
    static let attributes: [ReceiptFault] = [
        ReceiptFault(
            "receipt-type-missing", .rejected(.attributeMissing), "Without attribute 0 the environment is unknown.",
            .attributes { $0.remove(.receiptType) }),
        ReceiptFault(
            "bundle-id-missing", .rejected(.attributeMissing), "Without attribute 2 the receipt fits every app.",
            .attributes { $0.remove(.bundleID) }),
        ReceiptFault(
            "bundle-id-empty", .rejected(.attributeMissing), "An empty string means absent.",
            .attributes { $0.replace(with: .text(.bundleID, "")) }),
        ReceiptFault(
            "creation-date-missing", .rejected(.attributeMissing),
            "Without attribute 12 there is no moment to judge the certificates at.",
            .attributes { $0.remove(.creationDate) }),
        ReceiptFault(
            "creation-date-empty", .rejected(.attributeMissing), "`16 00` where the creation date should be.",
            .attributes { $0.replace(with: .date(.creationDate, nil)) }),
        ReceiptFault(
            "bundle-id-twice", .rejected(.attributeDuplicate),
            "Does the first one count or the last one? Only attribute 17 may repeat.",
            .attributes { $0.append(.text(.bundleID, "com.example.victim")) }),
        ReceiptFault(
            "creation-date-twice", .rejected(.attributeDuplicate),
            "The second creation date lies inside the validity of another certificate.",
            .attributes { $0.append(.date(.creationDate, UTCDate(2020, 1, 1))) }),
        ReceiptFault(
            "product-id-twice", .rejected(.attributeDuplicate), "A purchase of two products at once.",
            .attributes { $0.editFirstPurchase { $0.append(.text(.productID, "com.example.forge.lifetime")) } }),
        ReceiptFault(
            "attribute-type-two-to-the-32-plus-2", .rejected(.attributeTypeOutOfRange),
            "Cut to 32 bits this is attribute 2, the bundle ID.",
            .attributes { $0.append(.text(4_294_967_298, "com.example.victim")) }),
        ReceiptFault(
            "attribute-type-negative", .rejected(.attributeTypeOutOfRange),
            "2 - 2^32 is attribute 2 as well, once it is cut to 32 bits.",
            .attributes { $0.append(.text(-4_294_967_294, "com.example.victim")) }),
        ReceiptFault(
            "purchase-as-sequence", .rejected(.derUnexpectedTag),
            "A purchase is a SET like the payload; this one is a SEQUENCE.",
            .attributes { $0.editValue(of: .inAppPurchase) { $0[0] = DERNodeTag.sequence.rawValue } }),
    ]
}

/// Signed values that cannot be true.
extension FaultForge {
    static let values: [ReceiptFault] = [
        ReceiptFault(
            "bundle-id-with-nul", .rejected(.textContainsNUL),
            "A C string ends at the NUL, a Swift string does not: two apps for one receipt.",
            .contents { $0.bundleID = "com.example.victim\0.forge" }),
        ReceiptFault(
            "product-id-with-nul", .rejected(.textContainsNUL), "The same trick with a product.",
            .contents { $0.purchases[0].productID = "com.example.lifetime\0monthly" }),
        ReceiptFault(
            "bundle-id-with-invalid-utf8", .rejected(.textInvalidUTF8),
            "`C3 28` is no character; repairing it would invent an unsigned bundle ID.",
            .attributes { $0.replace(with: AttributeTemplate(.bundleID, DERNode(.utf8String, [0x61, 0xC3, 0x28]))) }),
        ReceiptFault(
            "bundle-id-with-overlong-utf8", .rejected(.textInvalidUTF8),
            "`C0 AE` is a dot in two bytes (RFC 3629 §3 forbids it), which a comparison of bytes does not find.",
            .attributes { $0.replace(with: AttributeTemplate(.bundleID, DERNode(.utf8String, [0x61, 0xC0, 0xAE]))) }),
        ReceiptFault(
            "creation-date-on-february-30", .rejected(.dateInvalid),
            "Calendar software that rolls over makes it March.",
            .attributes { $0.replace(with: .creationDate("2024-02-30T12:00:00Z")) }),
        ReceiptFault(
            "creation-date-at-hour-25", .rejected(.dateInvalid), "An hour no day has.",
            .attributes { $0.replace(with: .creationDate("2024-03-01T25:00:00Z")) }),
        ReceiptFault(
            "creation-date-without-zone", .rejected(.dateInvalid),
            "Without `Z` the date means whatever the server's time zone is.",
            .attributes { $0.replace(with: .creationDate("2024-03-01T12:00:00")) }),
        ReceiptFault(
            "expires-date-on-february-30", .rejected(.dateInvalid),
            "A subscription that ends on a day that never comes.",
            .attributes { $0.editFirstPurchase { $0.replace(with: .ia5(.expiresDate, "2024-02-30T12:00:00Z")) } }),
        ReceiptFault(
            "creation-date-in-future", .rejected(.creationDateInFuture),
            "Certificates are judged at a date the receipt claims about itself; it must not lie ahead.",
            .contents { $0.creationDate = UTCDate(2035, 12, 31) }),
        ReceiptFault(
            "receipt-type-unknown", .rejected(.receiptTypeUnknown), "A receipt type that belongs to no environment.",
            .contents { $0.receiptType = "Staging" }),
        ReceiptFault(
            "production-receipt", .rejected(.environmentNotAllowed),
            "The forged root may sign for Sandbox only; this receipt is for Production.",
            .contents { $0.receiptType = "Production" }),
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
