// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Attributes that are missing, repeated, or numbered so that two readers disagree about them.
extension Fault {
    static let attributes: [Fault] = [
        Fault(
            "receipt-type-missing", .rejected(.attributeMissing),
            "Without attribute 0 the environment is unknown.",
            .attributes { $0.remove(.receiptType) }),
        Fault(
            "bundle-id-missing", .rejected(.attributeMissing),
            "Without attribute 2 the receipt fits every app.",
            .attributes { $0.remove(.bundleID) }),
        Fault(
            "bundle-id-empty", .rejected(.attributeMissing),
            "An empty string means absent.",
            .attributes { $0.replace(with: .text(.bundleID, "")) }),
        Fault(
            "creation-date-missing", .rejected(.attributeMissing),
            "Without attribute 12 there is no moment to judge the certificates at.",
            .attributes { $0.remove(.creationDate) }),
        Fault(
            "creation-date-empty", .rejected(.attributeMissing),
            "`16 00` where the creation date should be.",
            .attributes { $0.replace(with: .date(.creationDate, nil)) }),
        Fault(
            "bundle-id-twice", .rejected(.attributeDuplicate),
            "Does the first one count or the last one? Only attribute 17 may repeat.",
            .attributes { $0.append(.text(.bundleID, "com.example.victim")) }),
        Fault(
            "creation-date-twice", .rejected(.attributeDuplicate),
            "The second creation date lies inside the validity of another certificate.",
            .attributes { $0.append(.date(.creationDate, UTCDate(2020, 1, 1))) }),
        Fault(
            "product-id-twice", .rejected(.attributeDuplicate),
            "A purchase of two products at once.",
            .attributes { $0.editFirstPurchase { $0.append(.text(.productID, "com.example.forge.lifetime")) } }),
        Fault(
            "attribute-type-two-to-the-32-plus-2", .rejected(.attributeTypeOutOfRange),
            "Cut to 32 bits this is attribute 2, the bundle ID.",
            .attributes { $0.append(.text(4_294_967_298, "com.example.victim")) }),
        Fault(
            "attribute-type-negative", .rejected(.attributeTypeOutOfRange),
            "2 - 2^32 is attribute 2 as well, once it is cut to 32 bits.",
            .attributes { $0.append(.text(-4_294_967_294, "com.example.victim")) }),
        Fault(
            "purchase-as-sequence", .rejected(.derUnexpectedTag),
            "A purchase is a SET like the payload; this one is a SEQUENCE.",
            .attributes { $0.editValue(of: .inAppPurchase) { $0[0] = DERNodeTag.sequence.rawValue } }),
    ]
}
