// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension PurchaseContents {
    var attribute: ReceiptAttribute {
        ReceiptAttribute(.inAppPurchase, AttributeSet(attributes: attributes).element)
    }

    var attributes: [ReceiptAttribute] {
        identity + dates + flags + padding
    }

    private var identity: [ReceiptAttribute] {
        [
            .integer(.quantity, quantity),
            .text(.productID, productID),
            .text(.transactionID, transactionID),
            .text(.originalTransactionID, originalTransactionID),
            .integer(.inAppAdamID, 0),
            .integer(.webOrderLineItemID, webOrderLineItemID),
        ]
    }

    private var dates: [ReceiptAttribute] {
        [
            .date(.purchaseDate, purchaseDate),
            .date(.originalTransactionPurchaseDate, originalPurchaseDate),
            .date(.expiresDate, expiresDate),
            .date(.cancellationDate, cancellationDate),
        ]
    }

    private var flags: [ReceiptAttribute] {
        [
            productType.map { .integer(.productType, $0.rawValue) },
            isTrialPeriod.map { .flag(.isTrialPeriod, $0) },
            isInIntroOfferPeriod.map { .flag(.isInIntroOfferPeriod, $0) },
            cancellationReason.map { .integer(.cancellationReason, $0.rawValue) },
            promotionalOfferID.map { .text(.promotionalOfferID, $0) },
        ].compactMap { $0 }
    }

    /// The undocumented attributes of every genuine purchase: six empty strings and an integer.
    private var padding: [ReceiptAttribute] {
        let emptyTexts: [AttributeType] = [1709, 1714, 1715, 1716, 1717, 1718]
        return emptyTexts.map { .text($0, "") } + [.integer(1722, attribute1722)]
    }
}
