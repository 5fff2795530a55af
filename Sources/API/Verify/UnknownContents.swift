// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
internal import Receipts

/// `unknown` of an answer: what Apple signed in the evidence, and this version gives no meaning to.
extension JSONWriter {
    private enum Limits {
        /// The bytes after which no further claim or attribute begins.
        static let bytes = 64 << 10
    }

    mutating func unknown(in items: [SignedItem]) {
        let end = bytes.count + Limits.bytes
        key("unknown")
        object { json in
            json.key("items")
            json.array { json in
                for item in items where json.bytes.count < end { json.unknown(in: item, before: end) }
            }
            json.member("is_cut", json.bytes.count < end ? nil : true)
        }
    }

    private mutating func unknown(in item: SignedItem, before end: Int) {
        switch item {
        case .appReceipt(let receipt): unknown(in: receipt, before: end)
        case .transactionReceipt: break
        case .transaction(let transaction):
            let id = transaction.transactionID
            claims(transaction.otherClaims, "transaction", id: ("transaction_id", id), before: end)
        case .renewalInfo(let plan):
            let id = plan.originalTransactionID
            claims(plan.otherClaims, "renewal_info", id: ("original_transaction_id", id), before: end)
        case .appTransaction(let app):
            let id = app.appTransactionID, other = app.jws.claims(at: app.unreadClaims)
            claims(other, "app_transaction", id: ("app_transaction_id", id), before: end)
        }
    }

    private mutating func claims(
        _ claims: [JSONValue.Member], _ kind: String, id: (name: StaticString, value: String?), before end: Int
    ) {
        guard !claims.isEmpty else { return }
        object { json in
            json.member("kind", kind)
            json.member(id.name, id.value)
            json.key("claims")
            json.object { json in
                for claim in claims where json.bytes.count < end { json.member(claim) }
            }
        }
    }

    private mutating func unknown(in receipt: VerifiedReceipt, before end: Int) {
        let attributes = receipt.otherAttributes
        guard !attributes.isEmpty || receipt.purchases.contains(where: { !$0.otherAttributes.isEmpty }) else { return }
        object { json in
            json.member("kind", "app_receipt")
            json.attributes(attributes, before: end)
            json.key("in_app")
            json.array { json in
                for purchase in receipt.purchases where json.bytes.count < end {
                    let attributes = purchase.otherAttributes
                    guard !attributes.isEmpty else { continue }
                    json.object { json in
                        json.member("transaction_id", purchase.transactionID)
                        json.attributes(attributes, before: end)
                    }
                }
            }
        }
    }

    private mutating func attributes(_ attributes: [ReceiptAttribute], before end: Int) {
        key("attributes")
        array { json in
            for attribute in attributes where json.bytes.count < end {
                json.object { json in
                    json.member("type", attribute.type)
                    json.member("version", attribute.version)
                    json.member("value") { Base64.append(encoding: attribute.value, to: &$0) }
                }
            }
        }
    }
}

extension VerifiedTransaction {
    /// The claims whose value no member of an answer shows.
    fileprivate var otherClaims: [JSONValue.Member] {
        let read = Transaction(self)
        var names: Set<String> = []
        if type != nil, read.productType == nil { names.insert("type") }
        if inAppOwnershipType != nil, read.ownership == nil { names.insert("inAppOwnershipType") }
        return jws.claims(at: unreadClaims, orNamed: names)
    }
}

extension VerifiedRenewalInfo {
    /// The claims whose value no member of an answer shows.
    fileprivate var otherClaims: [JSONValue.Member] {
        let read = Renewal(self)
        var names: Set<String> = []
        if expirationIntent != nil, read.expirationIntent == nil { names.insert("expirationIntent") }
        if priceIncreaseStatus != nil, read.priceConsent == nil { names.insert("priceIncreaseStatus") }
        return jws.claims(at: unreadClaims, orNamed: names)
    }
}
