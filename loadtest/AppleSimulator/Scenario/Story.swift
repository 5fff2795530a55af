// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// Apple's knowledge of a purchase beyond the receipt.
///
/// A story that needs an ended subscription begins when the receipt's last period ends; until then the subscription is
/// as in the receipt.
enum Story: Hashable, Sendable {
    /// Nothing new: ended subscriptions were cancelled by their customers.
    case asInReceipt
    /// There are newer periods, and the newest ends after now.
    case renewed
    /// A period runs now, and will not be renewed.
    case willNotRenew
    /// The last period ended a day before the scenario began. Apple retries the payment, and the customer keeps access.
    case inGracePeriod
    /// The last period ended twenty days before the scenario began; Apple still retries the payment.
    case inBillingRetry
    /// Ended, for reason 1 (cancelled), 2 (billing), 3 (price increase), 4 (product withdrawn) or 5 (other).
    case expired(intent: Int)
    /// Apple refunded the last period.
    case refunded(PurchaseContents.CancellationReason)
    /// The customer upgraded an hour before the scenario began.
    case upgraded(to: String?)
    /// The customer cancelled, and bought another product of the group after the receipt's last period. The last period
    /// of the new product ended a day before the scenario began; Apple retries the payment, and the customer keeps
    /// access. Each product has a renewal, both of the same original transaction. Requires a period that ended more
    /// than a day before the scenario began.
    case switched(to: String?)
    case familyShared
    /// A period runs now, and the customer has not yet agreed to the next period's price.
    case priceIncrease
    /// The last period was bought with this offer code.
    case offerCode(String)
    /// The app was bought in volume: the latest receipt's type says so, and it has an expiration date.
    case volumePurchase
    /// The answer has the form of answers to iOS 6 style receipts.
    case ios6Style
    /// The customer deleted the account: status 21010, and error 4040001 of the Server API.
    case accountDeleted
}

struct Stories: Hashable, Sendable {
    struct Rule: Hashable, Sendable {
        /// The end of the product: of items, and of the newest period of subscriptions. Nil if transactions decide.
        let productIDSuffix: String?
        let originalTransactionIDs: Set<String>
        let story: Story

        func applies(toOriginalTransactionID original: String, productID: String) -> Bool {
            productIDSuffix.map(productID.hasSuffix) ?? originalTransactionIDs.contains(original)
        }
    }

    /// The story of purchases without a rule.
    var fallback = Story.asInReceipt
    /// The rules; the first that applies decides.
    var rules: [Rule] = []

    func story(ofOriginalTransactionID original: String, productID: String) -> Story {
        rules.first { $0.applies(toOriginalTransactionID: original, productID: productID) }?.story ?? fallback
    }
}

extension Stories {
    init(_ value: YAMLValue) throws(ScenarioError) {
        let fields = try YAMLFields(value, known: ["default", "rules"])
        if let value = fields["default"] { fallback = try Story(value) }
        rules = try (fields["rules"]?.list() ?? []).map { value throws(ScenarioError) in try Rule(value) }
    }
}

extension Stories.Rule {
    fileprivate init(_ value: YAMLValue) throws(ScenarioError) {
        let conditions = ["product_id_suffix", "original_transaction_ids"]
        let fields = try YAMLFields(value, known: conditions + ["story"])
        story = try Story(fields.required("story"))
        guard fields.present(of: conditions).count < 2 else {
            throw ScenarioError(line: fields.line, fault: .contradiction(conditions[0], conditions[1]))
        }
        guard !fields.present(of: conditions).isEmpty else {
            throw ScenarioError(line: fields.line, fault: .missing(conditions.joined(separator: " or ")))
        }
        productIDSuffix = try fields["product_id_suffix"]?.text()
        originalTransactionIDs = try fields.texts("original_transaction_ids")
    }
}

extension Story {
    /// Reads `renewed`, or with a value `{expired: 2}`, `{refunded: 1}`, `{upgraded: com.example.gold}`, `{switched:
    /// com.example.gold}`, `{offer_code: SUMMER}`.
    fileprivate init(_ value: YAMLValue) throws(ScenarioError) {
        let choice = try YAMLChoice(value, known: Self.plain.keys.sorted() + ["offer_code"])
        if choice.value == nil, let story = Self.plain[choice.name] {
            self = story
            return
        }
        let value = try choice.required()
        switch choice.name {
        case "expired": self = .expired(intent: try value.integer(in: 1...5))
        case "refunded": self = .refunded(try value.integer(in: 0...1) == 1 ? .issueInApp : .other)
        case "upgraded": self = .upgraded(to: try value.text())
        case "switched": self = .switched(to: try value.text())
        case "offer_code": self = .offerCode(try value.text())
        default: throw ScenarioError(line: choice.line, fault: .wrongValue(of: choice.name, needed: "no value"))
        }
    }

    private static let plain: [String: Story] = [
        "as_in_receipt": .asInReceipt, "renewed": .renewed, "will_not_renew": .willNotRenew,
        "in_grace_period": .inGracePeriod, "in_billing_retry": .inBillingRetry, "expired": .expired(intent: 1),
        "refunded": .refunded(.other), "upgraded": .upgraded(to: nil), "switched": .switched(to: nil),
        "family_shared": .familyShared, "price_increase": .priceIncrease, "vpp": .volumePurchase,
        "ios6_style": .ios6Style, "account_deleted": .accountDeleted,
    ]
}
