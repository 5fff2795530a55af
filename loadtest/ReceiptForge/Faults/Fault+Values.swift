// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Signed values that cannot be true.
extension Fault {
    static let values: [Fault] = [
        Fault(
            "bundle-id-with-nul", .rejected(.textContainsNUL),
            "A C string ends at the NUL, a Swift string does not: two apps for one receipt.",
            .contents { $0.bundleID = "com.example.victim\0.forge" }),
        Fault(
            "product-id-with-nul", .rejected(.textContainsNUL),
            "The same trick with a product.",
            .contents { $0.purchases[0].productID = "com.example.lifetime\0monthly" }),
        Fault(
            "bundle-id-with-invalid-utf8", .rejected(.textInvalidUTF8),
            "`C3 28` is no character; repairing it would invent an unsigned bundle ID.",
            .attributes { $0.replace(with: AttributeTemplate(.bundleID, DERNode(.utf8String, [0x61, 0xC3, 0x28]))) }),
        Fault(
            "bundle-id-with-overlong-utf8", .rejected(.textInvalidUTF8),
            "`C0 AE` is a dot in two bytes (RFC 3629 §3 forbids it), which a comparison of bytes does not find.",
            .attributes { $0.replace(with: AttributeTemplate(.bundleID, DERNode(.utf8String, [0x61, 0xC0, 0xAE]))) }),
        Fault(
            "creation-date-on-february-30", .rejected(.dateInvalid),
            "Calendar software that rolls over makes it March.",
            .attributes { $0.replace(with: .creationDate("2024-02-30T12:00:00Z")) }),
        Fault(
            "creation-date-at-hour-25", .rejected(.dateInvalid),
            "An hour no day has.",
            .attributes { $0.replace(with: .creationDate("2024-03-01T25:00:00Z")) }),
        Fault(
            "creation-date-without-zone", .rejected(.dateInvalid),
            "Without `Z` the date means whatever the server's time zone is.",
            .attributes { $0.replace(with: .creationDate("2024-03-01T12:00:00")) }),
        Fault(
            "expires-date-on-february-30", .rejected(.dateInvalid),
            "A subscription that ends on a day that never comes.",
            .attributes { $0.editFirstPurchase { $0.replace(with: .ia5(.expiresDate, "2024-02-30T12:00:00Z")) } }),
        Fault(
            "creation-date-in-future", .rejected(.creationDateInFuture),
            "Certificates are judged at a date the receipt claims about itself; it must not lie ahead.",
            .contents { $0.creationDate = UTCDate(2035, 12, 31) }),
        Fault(
            "receipt-type-unknown", .rejected(.receiptTypeUnknown),
            "A receipt type that belongs to no environment.",
            .contents { $0.receiptType = "Staging" }),
        Fault(
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
