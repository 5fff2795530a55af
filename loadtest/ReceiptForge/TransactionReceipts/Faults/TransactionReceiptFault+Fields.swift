// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Correctly signed purchase information that breaks a rule of its fields.
extension TransactionReceiptForge {
    static let fields: [TransactionReceiptFault] = forms + required + malformed

    private static let forms: [TransactionReceiptFault] = [
        .rejected("purchase-info-no-property-list", .purchaseInfoMalformed).purchaseInfo { $0 = Array("purchase".utf8) }
            .because("Signed, and no property list."),
        .rejected("purchase-info-nested", .purchaseInfoMalformed).purchaseInfo { $0 = Array("{ \"bid\" = {}; }".utf8) }
            .because("A dictionary inside the dictionary."),
        .rejected("purchase-info-with-bytes-after-its-end", .purchaseInfoMalformed)
            .purchaseInfo { $0.append(UInt8(ascii: "x")) }
            .because("Bytes after the closing brace."),
        .rejected("field-twice", .purchaseInfoFieldDuplicate)
            .fields { $0.append("product-id", "com.example.forge.lifetime") }
            .because("Two product IDs: parsers disagree which one counts."),
        .rejected("unknown-field-twice", .purchaseInfoFieldDuplicate)
            .fields { fields in
                fields.append("later", "1")
                fields.append("later", "2")
            }
            .because("Duplicates are rejected among unknown fields, too."),
        .rejected("name-with-escape", .purchaseInfoMalformed).fields { $0.append(#"bi\U0064"#, "com.example.victim") }
            .because("Another spelling of a name, which would hide a duplicate."),
        .rejected("unknown-escape", .purchaseInfoMalformed).fields { $0.replace("bvrs", with: #"\x41"#) }
            .because("An escape that Apple does not write."),
        .rejected("half-a-surrogate-pair", .purchaseInfoMalformed).fields { $0.replace("bvrs", with: #"\Ud83d"#) }
            .because("A code unit of UTF-16 that is no character by itself."),
        .rejected("escaped-nul", .purchaseInfoMalformed).fields { $0.replace("bvrs", with: #"1\U0000"#) }
            .because("C code ends the text there."),
        .rejected("raw-line-break", .purchaseInfoMalformed).fields { $0.replace("bvrs", with: "1\n0") }
            .because("Control characters are escaped."),
        .rejected("text-with-nul", .textContainsNUL).fields { $0.replace("bvrs", with: "1\0") }
            .because("C code ends the text there."),
        .rejected("text-not-utf8", .textInvalidUTF8).purchaseInfo { $0 = $0.replacing(Array("1.0".utf8), with: [0xFF]) }
            .because("A byte that begins no character."),
        .rejected("too-many-fields", .tooManyAttributes)
            .fields { fields in for number in 0..<64 { fields.append("field-\(number)", "") } }
            .because("More fields than any receipt has."),
    ]

    private static let required: [TransactionReceiptFault] = [
        ("bundle-id", "bid"), ("product", "product-id"), ("transaction", "transaction-id"),
        ("purchase-date", "purchase-date-ms"),
    ].flatMap { name, field in
        [
            .rejected(name + "-missing", .purchaseInfoFieldMissing).fields { $0.remove(field) }
                .because("Without it the purchase is of no use."),
            .rejected(name + "-empty", .purchaseInfoFieldMissing).fields { $0.replace(field, with: "") }
                .because("An empty text means absent."),
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
            .rejected(name, .purchaseInfoFieldMalformed).fields { $0.replace(field, with: value) }
                .because("Milliseconds and counts are decimal digits.")
        } + [
            .rejected("trial-neither-true-nor-false", .purchaseInfoFieldMalformed)
                .fields { $0.append("is-trial-period", "yes") }
                .because("A flag is `true` or `false`."),
            .rejected("purchase-in-the-future", .purchaseDateInFuture)
                .contents { $0.purchaseDate = UTCDate(2036, 1, 1) }
                .because("Apple renews a day ahead, never years."),
        ]
}
