// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension AttributeSet {
    mutating func edit(_ type: AttributeType, _ change: (inout ReceiptAttribute) -> Void) {
        for index in attributes.indices where attributes[index].type == type {
            change(&attributes[index])
        }
    }

    /// Changes the value of every attribute of this type.
    mutating func editValue(of type: AttributeType, _ change: (inout [UInt8]) -> Void) {
        edit(type) { change(&$0.value) }
    }

    mutating func append(_ attribute: ReceiptAttribute) {
        attributes.append(attribute)
    }

    /// Replaces the first purchase by an edited one.
    mutating func editFirstPurchase(_ change: (inout AttributeSet) -> Void) {
        var purchase = AttributeSet(attributes: ReceiptContents.faultSample.purchases[0].attributes)
        change(&purchase)
        guard let index = attributes.firstIndex(where: { $0.type == .inAppPurchase }) else { return }
        attributes[index] = ReceiptAttribute(.inAppPurchase, purchase.element)
    }
}
