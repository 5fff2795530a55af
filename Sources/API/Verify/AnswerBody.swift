// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
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
    /// - Parameters:
    ///   - latestReceipt: in base64; nil if it is not requested.
    ///   - excludesOldTransactions: true if `transactions` has only the latest of each subscription.
    ///   - includesUnknown: true to add what has no meaning here.
    func replies(
        latestReceipt: String? = nil, excludesOldTransactions: Bool = false, includesUnknown: Bool = false
    ) -> (first: Reply, repeated: Reply) {
        let transactionBytes = (transactions.count + entitlements.evaluated.count) * 640
        var json = JSONWriter(reservingCapacity: 1536 + transactionBytes + (latestReceipt?.utf8.count ?? 0))
        json.continueObject()
        let repetition = json.contents(
            of: self, listing: excludesOldTransactions ? entitlements.latestTransactions : nil)
        json.member("latest_receipt", latestReceipt)
        if includesUnknown { json.unknown(in: subject?.evidence?.items ?? []) }
        json.endObject()
        func reply(_ provenance: Provenance) -> Reply {
            Reply(body: ReplyBody(start: start(provenance), json.bytes, repeating: repetition))
        }
        return (reply(provenance), reply(provenance.repeated))
    }

    /// The first members of the JSON, which begin its object.
    private func start(_ provenance: Provenance) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 320)
        json.beginObject()
        json.verdict(of: self)
        json.key("provenance")
        json.provenance(provenance)
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func verdict(of answer: Answer) {
        member("verdict", answer.verdict.name)
        member("reason", answer.verdict.reason)
        if case .rejected(let rejection) = answer.verdict { member("explanation", rejection.explanation) }
        member("environment", answer.environment?.rawValue)
    }

    /// - Parameter listed: the elements of `transactions`; nil for all.
    /// - Returns: the transactions of a receipt, if they are written once.
    fileprivate mutating func contents(of answer: Answer, listing listed: TransactionList?) -> ReplyBody.Repetition? {
        if !answer.rejectedItems.isEmpty { rejectedItems(answer.rejectedItems) }
        var transactions: Range<Int>?
        var repetition: ReplyBody.Repetition?
        if let receipt = answer.receipt {
            key("receipt")
            transactions = self.receipt(receipt, answer)
        } else {
            member("bundle_id", answer.subject?.bundleID)
        }
        if let appTransaction = answer.appTransaction {
            key("app_transaction")
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
        key("subscriptions")
        array { json in
            for subscription in answer.entitlements.evaluated {
                json.subscription(subscription, answer.entitlements)
            }
        }
        return repetition
    }

    fileprivate mutating func provenance(_ provenance: Provenance) {
        object { json in
            json.member("source", provenance.source.rawValue)
            json.member("cache", provenance.cache.rawValue)
            json.member("verified_at", provenance.verifiedAt)
            json.member("degraded", provenance.isDegraded)
            json.key("degraded_reasons")
            json.array { json in
                for reason in provenance.degradedReasons { json.string(reason.rawValue) }
            }
            guard let code = provenance.upstreamStatus else { return }
            json.member("apple_status", code)
            json.member("apple_status_explanation", VerifyReceiptStatus(code: code).explanation)
        }
    }

    /// - Returns: the range of the transactions.
    private mutating func receipt(_ receipt: VerifiedReceipt, _ answer: Answer) -> Range<Int> {
        var transactions = 0..<0
        object { json in
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
        object { json in
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
        key("rejected_items")
        array { json in
            for item in items {
                json.object { json in
                    json.member("field", item.list.rawValue)
                    json.member("index", item.index)
                    json.member("reason", item.rule.rawValue)
                    json.member("explanation", item.rule.explanation)
                }
            }
        }
    }

    private mutating func subscription(_ subscription: EvaluatedSubscription, _ entitlements: Entitlements) {
        object { json in
            json.member("state", subscription.state.rawValue)
            json.member("access_until", subscription.accessUntil)
            json.member("change", subscription.change?.rawValue)
            var transaction = entitlements.transaction(of: subscription)
            // Receipts made in Xcode have no original transaction ID.
            transaction.originalTransactionID = entitlements.originalTransactionID(of: subscription)
            json.members(of: &transaction)
            json.member("is_eligible_for_intro_offer", subscription.isEligibleForIntroOffer)
            json.member("paid_service_days", subscription.paidServiceDays)
            if var renewal = entitlements.renewal(of: subscription) {
                json.key("renewal")
                json.object { json in
                    json.member("product_id", renewal.productID)
                    json.members(of: &renewal)
                }
            }
        }
    }
}
