// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// `Payload ::= SET OF ReceiptAttribute`: the content Apple signs, and also the value of each purchase.
struct AttributeSet: Sendable {
    /// The order of the attributes.
    enum Order: Sendable {
        /// By their encodings, shortest first, as DER requires and genuine receipts do.
        case sorted
        /// As listed, as Xcode does.
        case asWritten
    }

    var attributes: [ReceiptAttribute]
    var order = Order.sorted

    var element: DERElement {
        let elements = attributes.map(\.element)
        return switch order {
        case .sorted: .set(of: elements)
        case .asWritten: .set(asWritten: elements)
        }
    }

    mutating func remove(_ type: AttributeType) {
        attributes.removeAll { $0.type == type }
    }

    /// Replaces every attribute of the same type.
    mutating func replace(with replacement: ReceiptAttribute) {
        attributes = attributes.map { $0.type == replacement.type ? replacement : $0 }
    }
}
