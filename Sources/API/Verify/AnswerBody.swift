// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import HTTPServer
internal import JSON
internal import Receipts

/// The JSON of an answer to `POST /v1/verify`.
///
/// Names are Apple's if Apple has one. Dates are RFC 3339 in UTC with a `_ms` twin in milliseconds, identifiers are
/// strings, flags are booleans. Values absent from a receipt are left out.
///
/// The contents are written once, and so is the list of transactions that stands in them twice. The provenance differs
/// when the answer is sent again.
extension Answer {
    /// Returns the answer as it is sent now, and as it is sent again.
    func replies(to options: VerificationOptions) -> (first: Reply, repeated: Reply) {
        let latestReceipt = options.wantsLatestReceipt ? latestReceipt : nil
        let transactionBytes = (transactions.count + subscriptions.count) * 640
        var json = JSONWriter(reservingCapacity: 1536 + transactionBytes + (latestReceipt?.utf8.count ?? 0))
        json.continueObject()
        let repetition = json.contents(
            of: self, listing: options.excludesOldTransactions ? entitlements.latestTransactions : nil)
        json.member("latest_receipt", latestReceipt)
        if options.includesUnknown { json.unknown(in: subject?.evidence?.items ?? []) }
        json.endObject()
        func reply(_ provenance: Provenance) -> Reply {
            Reply(body: ReplyBody(start: start(provenance), json.bytes, repeating: repetition))
        }
        return (reply(provenance), reply(provenance.repeated))
    }

    /// The latest receipt in base64: Apple's latest receipt, if Apple ever sent it for this receipt, else the receipt
    /// itself. Nil for other evidence, and unless the verdict is `genuine`.
    private var latestReceipt: String? {
        guard let sent = subject?.evidence?.receiptBytes else { return nil }
        let known = (upstreamBody ?? earlierUpstreamBody).flatMap {
            VerifyReceiptResponse.latestReceipt(ofKnown: $0.span)
        }
        return known ?? Base64.encode(sent)
    }

    private func start(_ provenance: Provenance) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 320)
        json.beginObject()
        json.member("verdict", verdict.name)
        json.member("reason", verdict.reason)
        json.member("explanation", verdict.explanation)
        json.member("environment", environment?.rawValue)
        json.provenance(provenance)
        return json.bytes
    }
}

extension JSONWriter {
    /// - Parameter listed: the elements of `transactions`; nil for all.
    /// - Returns: the transactions of a receipt, if they are written once.
    fileprivate mutating func contents(of answer: Answer, listing listed: TransactionList?) -> ReplyBody.Repetition? {
        if !answer.rejectedItems.isEmpty { rejectedItems(answer.rejectedItems) }
        var transactions: Range<Int>?
        var repetition: ReplyBody.Repetition?
        if let receipt = answer.receipt {
            transactions = self.receipt(receipt, answer)
        } else {
            member("bundle_id", answer.subject?.bundleID)
        }
        if let appTransaction = answer.appTransaction {
            self.appTransaction(appTransaction)
        }
        key("transactions")
        if let listed {
            self.transactions(listed)
        } else if let transactions {
            leaveOutValue()
            repetition = ReplyBody.Repetition(of: transactions, at: bytes.count)
        } else {
            self.transactions(answer.transactions)
        }
        array("subscriptions") { json in
            for subscription in answer.subscriptions { json.subscription(subscription) }
        }
        return repetition
    }

    fileprivate mutating func provenance(_ provenance: Provenance) {
        object("provenance") { json in
            json.member("source", provenance.source.rawValue)
            json.member("cache", provenance.cache.rawValue)
            json.member("verified_at", provenance.verifiedAt)
            json.member("degraded", provenance.isDegraded)
            json.strings("degraded_reasons", provenance.degradedReasons.map(\.rawValue))
            guard let code = provenance.upstreamStatus else { return }
            json.member("apple_status", code)
            json.member("apple_status_explanation", VerifyReceiptStatus(code: code).explanation)
        }
    }

    /// - Returns: the range of the transactions.
    private mutating func receipt(_ receipt: VerifiedReceipt, _ answer: Answer) -> Range<Int> {
        var transactions = 0..<0
        object("receipt") { json in
            json.member("receipt_type", receipt.receiptType)
            json.member("bundle_id", receipt.bundleID)
            json.member("application_version", receipt.applicationVersion)
            json.member("original_application_version", receipt.originalApplicationVersion)
            json.identifier("adam_id", receipt.adamID)
            json.identifier("app_item_id", receipt.adamID)
            json.identifier("download_id", receipt.downloadID)
            json.identifier("version_external_identifier", receipt.versionExternalIdentifier)
            json.member("receipt_creation_date", receipt.creationDate)
            json.member("original_purchase_date", receipt.originalPurchaseDate)
            json.member("expiration_date", receipt.expirationDate)
            json.member("is_expired", answer.isAppExpired)
            json.member("preorder_date", receipt.preorderDate)
            json.key("in_app")
            let start = json.bytes.count
            json.transactions(answer.transactions)
            transactions = start..<json.bytes.count
        }
        return transactions
    }

    private mutating func transactions(_ transactions: TransactionList) {
        array { json in
            for index in transactions.indices {
                var transaction = transactions[index]
                json.object { $0.members(of: &transaction) }
            }
        }
    }

    private mutating func appTransaction(_ appTransaction: VerifiedAppTransaction) {
        object("app_transaction") { json in
            json.member("bundle_id", appTransaction.bundleID)
            json.identifier("app_apple_id", appTransaction.appAppleID)
            json.member("application_version", appTransaction.applicationVersion)
            json.identifier("version_external_identifier", appTransaction.versionExternalIdentifier)
            json.member("receipt_creation_date", appTransaction.receiptCreationDate)
            json.member("original_purchase_date", appTransaction.originalPurchaseDate)
            json.member("original_application_version", appTransaction.originalApplicationVersion)
            json.member("preorder_date", appTransaction.preorderDate)
            json.member("app_transaction_id", appTransaction.appTransactionID)
            json.member("original_platform", appTransaction.originalPlatform)
        }
    }

    private mutating func rejectedItems(_ items: [RejectedItem]) {
        objects("rejected_items", of: items) { json, item in
            json.member("field", item.list.rawValue)
            json.member("index", item.index)
            json.member("reason", item.rule.rawValue)
            json.member("explanation", item.rule.explanation)
        }
    }

    private mutating func subscription(_ subscription: Subscription) {
        object { json in
            json.member("state", subscription.state.rawValue)
            json.member("access_until", subscription.accessUntil)
            json.member("change", subscription.change?.rawValue)
            var transaction = subscription.transaction
            // Receipts made in Xcode have no original transaction ID.
            transaction.originalTransactionID = subscription.originalTransactionID
            json.members(of: &transaction)
            json.member("is_eligible_for_intro_offer", subscription.isEligibleForIntroOffer)
            json.member("paid_service_days", subscription.paidServiceDays)
            if var renewal = subscription.renewal {
                json.object("renewal") { json in
                    json.member("product_id", renewal.productID)
                    json.members(of: &renewal)
                }
            }
        }
    }
}

/// `unknown` of an answer: what Apple signed in the evidence, and this version gives no meaning to.
extension JSONWriter {
    private enum Limits {
        /// The bytes after which no further claim or attribute begins.
        static let bytes = 64 << 10
    }

    mutating func unknown(in items: [SignedItem]) {
        let end = bytes.count + Limits.bytes
        object("unknown") { json in
            json.array("items") { json in
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
            json.object("claims") { json in
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
            json.array("in_app") { json in
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
        array("attributes") { json in
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
