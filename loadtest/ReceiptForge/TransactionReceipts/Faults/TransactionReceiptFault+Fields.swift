// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Correctly signed purchase information that breaks a rule of its fields.
extension TransactionReceiptForge {
    static let fields: [TransactionReceiptFault] = forms + required + malformed

    private static let forms: [TransactionReceiptFault] = [
        TransactionReceiptFault(
            "purchase-info-no-property-list", .rejected(.purchaseInfoMalformed), "Signed, and no property list.",
            .purchaseInfo { $0 = Array("purchase".utf8) }),
        TransactionReceiptFault(
            "purchase-info-nested", .rejected(.purchaseInfoMalformed), "A dictionary inside the dictionary.",
            .purchaseInfo { $0 = Array("{ \"bid\" = {}; }".utf8) }),
        TransactionReceiptFault(
            "purchase-info-with-bytes-after-its-end", .rejected(.purchaseInfoMalformed),
            "Bytes after the closing brace.", .purchaseInfo { $0.append(UInt8(ascii: "x")) }),
        TransactionReceiptFault(
            "field-twice", .rejected(.purchaseInfoFieldDuplicate),
            "Two product IDs: parsers disagree which one counts.",
            .fields { $0.append("product-id", "com.example.forge.lifetime") }),
        TransactionReceiptFault(
            "unknown-field-twice", .rejected(.purchaseInfoFieldDuplicate),
            "Duplicates are rejected among unknown fields, too.",
            .fields { fields in
                fields.append("later", "1")
                fields.append("later", "2")
            }),
        TransactionReceiptFault(
            "name-with-escape", .rejected(.purchaseInfoMalformed),
            "Another spelling of a name, which would hide a duplicate.",
            .fields { $0.append(#"bi\U0064"#, "com.example.victim") }),
        TransactionReceiptFault(
            "unknown-escape", .rejected(.purchaseInfoMalformed), "An escape that Apple does not write.",
            .fields { $0.replace("bvrs", with: #"\x41"#) }),
        TransactionReceiptFault(
            "half-a-surrogate-pair", .rejected(.purchaseInfoMalformed),
            "A code unit of UTF-16 that is no character by itself.", .fields { $0.replace("bvrs", with: #"\Ud83d"#) }),
        TransactionReceiptFault(
            "escaped-nul", .rejected(.purchaseInfoMalformed), "C code ends the text there.",
            .fields { $0.replace("bvrs", with: #"1\U0000"#) }),
        TransactionReceiptFault(
            "raw-line-break", .rejected(.purchaseInfoMalformed), "Control characters are escaped.",
            .fields { $0.replace("bvrs", with: "1\n0") }),
        TransactionReceiptFault(
            "text-with-nul", .rejected(.textContainsNUL), "C code ends the text there.",
            .fields { $0.replace("bvrs", with: "1\0") }),
        TransactionReceiptFault(
            "text-not-utf8", .rejected(.textInvalidUTF8), "A byte that begins no character.",
            .purchaseInfo { $0 = $0.replacing(Array("1.0".utf8), with: [0xFF]) }),
        TransactionReceiptFault(
            "too-many-fields", .rejected(.tooManyAttributes), "More fields than any receipt has.",
            .fields { fields in for number in 0..<64 { fields.append("field-\(number)", "") } }),
    ]

    private static let required: [TransactionReceiptFault] = [
        ("bundle-id", "bid"), ("product", "product-id"), ("transaction", "transaction-id"),
        ("purchase-date", "purchase-date-ms"),
    ].flatMap { name, field in
        [
            TransactionReceiptFault(
                name + "-missing", .rejected(.purchaseInfoFieldMissing), "Without it the purchase is of no use.",
                .fields { $0.remove(field) }),
            TransactionReceiptFault(
                name + "-empty", .rejected(.purchaseInfoFieldMissing), "An empty text means absent.",
                .fields { $0.replace(field, with: "") }),
        ]
    }

    private static let malformed: [TransactionReceiptFault] =
        [
            ("purchase-date-not-a-number", "purchase-date-ms", "2024-02-29"),
            ("purchase-date-negative", "purchase-date-ms", "-1"),
            ("purchase-date-with-fraction", "purchase-date-ms", "1709209815000.5"),
            ("purchase-date-in-year-10000", "purchase-date-ms", "253402300800000"),
            ("purchase-date-beyond-64-bits", "purchase-date-ms", "9223372036854775808"),
            ("original-purchase-date-not-a-number", "original-purchase-date-ms", "now"),
            ("expires-date-not-a-number", "expires-date", "2024-03-30 12:30:15 Etc/GMT"),
            ("quantity-not-a-number", "quantity", "one"),
        ].map { name, field, value in
            TransactionReceiptFault(
                name, .rejected(.purchaseInfoFieldMalformed), "Milliseconds and counts are decimal digits.",
                .fields { $0.replace(field, with: value) })
        } + [
            TransactionReceiptFault(
                "trial-neither-true-nor-false", .rejected(.purchaseInfoFieldMalformed), "A flag is `true` or `false`.",
                .fields { $0.append("is-trial-period", "yes") }),
            TransactionReceiptFault(
                "purchase-in-the-future", .rejected(.purchaseDateInFuture), "Apple renews a day ahead, never years.",
                .contents { $0.purchaseDate = UTCDate(2036, 1, 1) }),
        ]
}
