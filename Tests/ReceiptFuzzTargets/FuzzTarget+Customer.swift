// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import AppStore
    @testable internal import Gateway
    @testable internal import Customers
    internal import ReceiptForge
    internal import Receipts

    extension FuzzTarget {
        /// Checks a customer's history, of which each line is a payload that Apple's forged authority signs.
        static func checkHistory(_ input: [UInt8]) throws {
            let items = input.split(separator: UInt8(ascii: "\n")).prefix(16).map { GenuineJWS.pki.jws(Array($0)) }
            let list = items.map { "\"" + String(decoding: $0, as: UTF8.self) + "\"" }.joined(separator: ",")
            let verifier = ServerAPIAnswerVerifier(
                verifier: GenuineJWS.verifier, bundleID: "com.example.forge", environment: .sandbox, now: GenuineJWS.now
            )
            let body = #"{"signedTransactions":[\#(list)],"revision":"r","hasMore":false}"#
            guard
                let page = try? verifier.answer(
                    httpStatus: 200, body: Array(body.utf8), to: ServerAPICall(.transactionHistory, ["1"]))
            else { return }
            try expect(page.transactions.count + page.unreadable.count == items.count, "an item is lost")
            var history = CustomerHistory()
            _ = history.add(page)
            var answer = UpstreamAnswer(
                environment: .sandbox, bundleID: "com.example.forge", transactions: history.transactions, renewals: [],
                latestReceipt: nil, body: [])
            answer.leaveOut(history.unreadable, at: GenuineJWS.now)
            try expect(answer.lacksItems == !page.unreadable.isEmpty, "what is left out is not marked")
            let revoked = Set(page.unreadable.filter(\.isRevoked).compactMap(\.transactionID))
            for transaction in answer.transactions where revoked.contains(transaction.transactionID) {
                try expect(transaction.cancellationDate != nil, "an unreadable refund leaves an older copy")
            }
            try checkStates(answer.transactions, [])
        }

        /// Checks a notification: a payload with marks for JWS inside it, which Apple's forged authority signs.
        static func checkNotification(_ input: [UInt8]) throws {
            let apps = NotificationApps(
                isConfigured: { _ in true }, appAppleID: { _ in nil }, isSharedSecret: { _, _ in false })
            let jws = GenuineJWS.pki.jws(ServerAPIForge.body(input))
            let verifier = NotificationVerifier(CurrentVerifier(GenuineJWS.verifier), apps: apps)
            guard let (_, signed) = try? verifier.verify(signedPayload: jws, at: GenuineJWS.now) else { return }
            let rules = EventRules()
            for update in signed.updates {
                try expect(update.chain.environment == signed.environment, "a state of another environment")
                var record = ChainRecord(update.chain)
                func merge() -> MergeOutcome {
                    record.merge(update, rules, at: GenuineJWS.now) { SignedStateOrder($0, tieBreaker: 0) }
                }
                _ = merge()
                let again = merge()
                try expect(!again.changed && again.events.isEmpty, "a notification counts twice")
                try checkStates(record.state.transactions, record.state.renewals)
            }
        }

        /// Checks that a state grants access exactly until the time that it names.
        private static func checkStates(_ transactions: [Transaction], _ renewals: [Renewal]) throws {
            let dates = transactions.flatMap { [$0.purchaseDate, $0.expiresDate, $0.cancellationDate] }.compactMap(
                \.self)
            for now in [.earliest, GenuineJWS.now, .latest] + dates.prefix(8) {
                for rules in [SubscriptionRules(), SubscriptionRules(knownAt: GenuineJWS.now)] {
                    let found = Entitlements(
                        in: TransactionList(transactions), renewals: renewals, at: now, rules: rules
                    ).subscriptions
                    for subscription in found {
                        let grants = subscription.state == .active || subscription.state == .inGracePeriod
                        let isAhead = subscription.accessUntil.map { now < $0 } ?? false
                        try expect(grants == isAhead, "\(subscription.state) until another time")
                    }
                }
            }
        }
    }
#endif
