// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Well-formed, well signed, and more than a verifier should chew on. Sizes lie clearly above any sensible limit.
extension Fault {
    static let limits: [Fault] = [
        Fault(
            "more-than-five-mebibytes", .rejected(.receiptTooLarge),
            "The largest genuine receipt on record has 5,004,203 octets; this one has more than 5 MiB.",
            .contents { $0.unknownAttributes = [ReceiptAttribute(9_999, value: [UInt8](repeating: 7, count: 5 << 20))] }
        ),
        Fault(
            "hundred-certificates", .rejected(.tooManyCertificates),
            "A genuine receipt has three; searching a hundred for an issuer again and again is work for the attacker.",
            .afterSigning { container in
                container.certificates += Array(repeating: container.certificates[1], count: 97)
            }),
        Fault(
            "ten-thousand-purchases", .rejected(.tooManyPurchases),
            "Four megabytes of purchases, one signature.",
            .attributes { $0.append(copies: 10_000, of: ReceiptContents.faultSample.purchases[0].attribute) }),
        Fault(
            "ten-thousand-attributes", .rejected(.tooManyAttributes),
            "Small attributes make many allocations out of few octets.",
            .attributes { $0.append(copies: 10_000, of: ReceiptAttribute(9_999, value: [])) }),
    ]
}

extension AttributeSet {
    /// Equal neighbours need no sorting, which would compare them octet by octet.
    fileprivate mutating func append(copies count: Int, of attribute: ReceiptAttribute) {
        order = .asWritten
        attributes += Array(repeating: attribute, count: count)
    }
}
