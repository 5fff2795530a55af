// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Yams

extension Stories {
    init(_ node: Node) throws(ScenarioError) {
        let fields = try YAMLFields(node, of: "stories", known: ["default", "rules"])
        if let node = fields["default"] { fallback = try Story(node, of: "default") }
        rules = try (fields.list("rules") ?? []).map { node throws(ScenarioError) in try Rule(node) }
    }
}

extension Stories.Rule {
    fileprivate init(_ node: Node) throws(ScenarioError) {
        let conditions = ["product_id_suffix", "original_transaction_ids"]
        let fields = try YAMLFields(node, of: "rules", known: conditions + ["story"])
        story = try Story(fields.required("story"), of: "story")
        guard fields.present(of: conditions).count < 2 else {
            throw ScenarioError(line: fields.line, fault: .contradiction(conditions[0], conditions[1]))
        }
        if let suffix = try fields.text("product_id_suffix") {
            condition = .productIDSuffix(suffix)
        } else if let originals = try fields.list("original_transaction_ids") {
            let texts = try originals.map { node throws(ScenarioError) in try node.text(of: conditions[1]) }
            condition = .originalTransactionIDs(Set(texts))
        } else {
            throw ScenarioError(line: fields.line, fault: .missing(conditions.joined(separator: " or ")))
        }
    }
}

extension Story {
    /// Reads `renewed`, or with a value `{expired: 2}`, `{refunded: 1}`, `{upgraded: com.example.gold}`, `{switched:
    /// com.example.gold}`, `{offer_code: SUMMER}`.
    fileprivate init(_ node: Node, of name: String) throws(ScenarioError) {
        let choice = try YAMLChoice(node, of: name, known: Self.plain.keys.sorted() + ["offer_code"])
        if choice.value == nil, let story = Self.plain[choice.name] {
            self = story
            return
        }
        let value = try choice.required()
        switch choice.name {
        case "expired": self = .expired(intent: try value.integer(of: "expired", in: 1...5))
        case "refunded": self = .refunded(reason: try value.integer(of: "refunded", in: 0...1))
        case "upgraded": self = .upgraded(to: try value.text(of: "upgraded"))
        case "switched": self = .switched(to: try value.text(of: "switched"))
        case "offer_code": self = .offerCode(try value.text(of: "offer_code"))
        default: throw ScenarioError(line: choice.line, fault: .wrongValue(of: choice.name, needed: "no value"))
        }
    }

    private static let plain: [String: Story] = [
        "as_in_receipt": .asInReceipt, "renewed": .renewed, "will_not_renew": .willNotRenew,
        "in_grace_period": .inGracePeriod, "in_billing_retry": .inBillingRetry, "expired": .expired(intent: 1),
        "refunded": .refunded(reason: 0), "upgraded": .upgraded(to: nil), "switched": .switched(to: nil),
        "family_shared": .familyShared, "price_increase": .priceIncrease, "vpp": .volumePurchase,
        "ios6_style": .ios6Style,
    ]
}
