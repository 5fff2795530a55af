// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Well-formed, signed receipts beyond a verifier's limits, and large receipts that it must accept.
extension Fault {
    static let limits: [Fault] = [
        Fault(
            "five-megabytes", .genuine,
            "The largest genuine receipt on record has 5,004,203 bytes.",
            .contents { $0.unknownAttributes = [.filler(bytes: 5_000_000)] }),
        Fault(
            "ten-mebibytes", .rejected(.receiptTooLarge),
            "Twice the largest genuine receipt on record.",
            .contents { $0.unknownAttributes = [.filler(bytes: 10 << 20)] }),
        Fault(
            "hundred-certificates", .rejected(.tooManyCertificates),
            "A genuine receipt has three; searching a hundred for each issuer wastes time.",
            .afterSigning { container in
                container.certificates += Array(repeating: container.certificates[1], count: 97)
            }),
        Fault(
            "ten-thousand-purchases", .genuine,
            "Four megabytes of purchases, one signature.",
            .attributes { $0.append(.samplePurchases(10_000)) }),
        Fault(
            "twenty-one-thousand-purchases", .rejected(.tooManyPurchases),
            "More purchases than the largest receipt on record could hold twice over.",
            .attributes { $0.append(.samplePurchases(21_000)) }),
        Fault(
            "ten-thousand-attributes", .rejected(.tooManyAttributes),
            "Small attributes make many allocations out of few bytes.",
            .attributes {
                $0.append((10_000..<20_000).map { AttributeTemplate(AttributeNumber(rawValue: $0), value: []) })
            }),
    ]
}

extension AttributeSet {
    /// Appends unsorted: sorting would compare them byte by byte.
    fileprivate mutating func append(_ more: [AttributeTemplate]) {
        order = .asWritten
        attributes += more
    }
}

extension [AttributeTemplate] {
    fileprivate static func samplePurchases(_ count: Int) -> [AttributeTemplate] {
        Array(repeating: ReceiptContents.faultSample.purchases[0].attribute, count: count)
    }
}

extension AttributeTemplate {
    fileprivate static func filler(bytes: Int) -> AttributeTemplate {
        AttributeTemplate(9_999, value: [UInt8](repeating: 7, count: bytes))
    }
}
