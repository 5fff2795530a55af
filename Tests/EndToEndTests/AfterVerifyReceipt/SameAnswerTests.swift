// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealCorpus
import ReceiptForge
import Testing
import TestSupport

/// After the end of `verifyReceipt` clients get the same answers, made from the App Store Server API.
///
/// docs/migrating-from-verifyreceipt.md has the remaining differences.
@Suite(.serialized, .timeLimit(.patient)) struct SameAnswerTests {
    // MARK: - Stories

    /// The stories of a subscription, in the order of a customer's life.
    static let stories = [
        "as_in_receipt", "family_shared", "{offer_code: SUMMER}", "renewed", "price_increase", "upgraded",
        "{upgraded: com.example.gold}", "will_not_renew", "in_grace_period", "in_billing_retry", "{expired: 1}",
        "{expired: 2}", "{expired: 3}", "{expired: 4}", "{expired: 5}", "switched", "{switched: com.example.gold}",
        "refunded", "{refunded: 1}", "vpp",
    ]

    @Test func `app receipts have the same answer in every story`() async throws {
        try await SameAnswerStage.run { stage in
            for story in Self.stories {
                stage.apple.play(try Scenario(yaml: "stories: {default: \(story)}"))
                let permitted = Self.remaining + Self.remainingAfterSwitch(in: story)
                for receipt in StoryReceipt.appReceipts {
                    try await stage.forget(receipt.chains)
                    try await Self.expectSameAnswer(to: receipt, story, stage, permitting: permitted)
                }
            }
        }
    }

    @Test func `transaction receipts have the same answer in every story`() async throws {
        try await SameAnswerStage.run { stage in
            for story in Self.stories {
                stage.apple.play(try Scenario(yaml: "stories: {default: \(story)}"))
                let permitted = Self.remaining + Self.remainingInIOS6Form + Self.remainingInGracePeriod(of: story)
                for receipt in StoryReceipt.transactionReceipts {
                    try await stage.forget(receipt.chains)
                    try await Self.expectSameAnswer(to: receipt, story, stage, permitting: permitted)
                }
            }
        }
    }

    @Test func `a finished consumable leaves both answers`() async throws {
        try await SameAnswerStage.run { stage in
            let receipt = try #require(StoryReceipt.appReceipts.last), id = StoryReceipt.consumable.transactionID
            for isFinished in [false, true] {
                if isFinished { try await stage.finish(id) }
                try await stage.forget(receipt.chains)
                try await Self.expectSameAnswer(
                    to: receipt, "finished: \(isFinished)", stage, permitting: Self.remaining)
                let answer = try await stage.verifyReceipt(receipt.text).after.json
                let listed = try #require(answer["latest_receipt_info"] as? [[String: Any]])
                #expect(listed.contains { $0["transaction_id"] as? String == id } == !isFinished)
            }
        }
    }

    @Test func `a receipt without subscriptions, a deleted account and a wrong password have the same status`()
        async throws
    {
        try await SameAnswerStage.run { stage in
            let items = StoryReceipt.items, running = StoryReceipt.appReceipts[0]
            for story in ["as_in_receipt", "refunded"] {
                stage.apple.play(try Scenario(yaml: "stories: {default: \(story)}"))
                try await stage.forget(items.chains)
                let answers = try await stage.verifyReceipt(items.text)
                #expect(answers.areApples && answers.after.headers["gateway-rebuilt"] == nil)
                #expect(try answers.differences().without(Self.remaining + Self.remainingWithoutLists).isEmpty)
                let isRefunded = String(decoding: answers.after.body, as: UTF8.self).contains("cancellation_date_ms")
                #expect(isRefunded == (story == "refunded"))
            }
            stage.apple.play(try Scenario(yaml: "stories: {default: account_deleted}"))
            try await stage.forget(running.chains)
            let deleted = try await stage.verifyReceipt(running.text)
            #expect(try deleted.before.json["status"] as? Int == 21010 && deleted.differences().isEmpty)
            stage.apple.play(try Scenario(yaml: "shared_secret: right"))
            try await stage.forget(running.chains)
            // Only `verifyReceipt` has a password.
            let wrong = try await stage.verifyReceipt(running.text, password: "wrong")
            #expect(try wrong.before.json["status"] as? Int == 21004 && wrong.after.json["status"] as? Int == 0)
        }
    }

    /// Compares the answers of both interfaces in all forms.
    private static func expectSameAnswer(
        to receipt: StoryReceipt, _ story: String, _ stage: SameAnswerStage, permitting permitted: [PermittedDifference]
    ) async throws {
        for excludesOld in [false, true] {
            let answers = try await stage.verifyReceipt(receipt.text, excludesOld: excludesOld)
            let differences = try answers.differences().without(permitted)
            #expect(answers.areApples && differences.isEmpty, "\(story), \(receipt), \(excludesOld): \(differences)")
            #expect(answers.before.headers["gateway-rebuilt"] == nil)
            let rebuilt = try answers.after.json["latest_receipt"] == nil ? nil : "latest_receipt"
            #expect(answers.after.headers["gateway-rebuilt"] == rebuilt, "\(story), \(receipt)")
            // An answer with status 21006 has none.
            if let latest = try answers.after.json["latest_receipt"] as? String { #expect(latest == receipt.text) }
        }
        let differences = try await stage.verify(receipt.text).differences().filter { !$0.isOfSignedData }
        #expect(differences.without(permitted).isEmpty, "\(story), \(receipt): \(differences)")
    }

    // MARK: - Recorded answers

    @Test(.enabled(if: RealCorpus.answers != nil, Comment(rawValue: RealCorpus.answersMissing)))
    func `recorded answers are given again`() async throws {
        let recorded = try RealCorpus.genuineAnswers()
        #expect(!recorded.isEmpty)
        try await SameAnswerStage.run { stage in
            for answer in recorded {
                let apples = try #require(try JSONSerialization.jsonObject(with: answer.json) as? [String: Any])
                // Some recorded answers have transactions in common: the later one replaces the account.
                let receipt = try #require(
                    try stage.apple.addAccounts(recordedAnswers: [Array(answer.json)]).first)
                try await stage.forget(Self.transactionIDs(in: apples))
                let permitted = Self.remaining + Self.remainingInRecorded + Self.edited(in: answer.description)
                for excludesOld in [false, true] {
                    let answers = try await stage.verifyReceipt(receipt, excludesOld: excludesOld)
                    let rebuilt = Self.asRecorded(try answers.after.json, whenRecorded: apples)
                    #expect(answers.after.headers["gateway-source"] == "app_store_server_api", "\(answer)")
                    if !excludesOld {
                        let differences = AnswerDifference.all(between: apples, and: rebuilt).without(permitted)
                        #expect(differences.isEmpty, "\(answer) as recorded: \(differences)")
                    }
                    // The gateway rejects an answer that lists one transaction twice.
                    guard answers.before.headers["gateway-source"] == "apple" else {
                        #expect(answers.before.headers["gateway-degraded"] == "upstream_contradiction", "\(answer)")
                        #expect(Self.listsTransactionTwice(apples), "\(answer)")
                        continue
                    }
                    let differences = AnswerDifference.all(
                        between: try answers.before.json, and: rebuilt
                    ).without(permitted)
                    #expect(differences.isEmpty, "\(answer), \(excludesOld): \(differences)")
                }
            }
        }
    }

    /// Returns an answer as it would be at the time of a recorded one: some were recorded while the period of a
    /// transaction receipt ran, which is over by now. They are older than members about the renewal.
    private static func asRecorded(_ answer: [String: Any], whenRecorded recorded: [String: Any]) -> [String: Any] {
        guard recorded["status"] as? Int == 0, answer["status"] as? Int == 21006 else { return answer }
        var answer = answer
        answer["status"] = 0
        answer["latest_receipt_info"] = answer.removeValue(forKey: "latest_expired_receipt_info")
        for name in renewalNames where recorded[name] == nil { answer[name] = nil }
        return answer
    }

    private static let renewalNames = [
        "auto_renew_product_id", "auto_renew_status", "expiration_intent", "is_in_billing_retry_period",
    ]

    private static func transactionIDs(in answer: [String: Any]) -> Set<String> {
        Set(
            transactions(in: answer).flatMap { [$0["transaction_id"], $0["original_transaction_id"]] }
                .compactMap { $0 as? String })
    }

    private static func listsTransactionTwice(_ answer: [String: Any]) -> Bool {
        let ids = (answer["latest_receipt_info"] as? [[String: Any]] ?? []).map { $0["transaction_id"] as? String }
        return Set(ids).count < ids.count
    }

    private static func transactions(in answer: [String: Any]) -> [[String: Any]] {
        let receipt = answer["receipt"] as? [String: Any] ?? [:]
        return [receipt] + (receipt["in_app"] as? [[String: Any]] ?? [])
            + (answer["latest_receipt_info"] as? [[String: Any]] ?? [])
    }
}

// MARK: - Remaining differences

extension SameAnswerTests {
    /// Differences of the interfaces: docs/migrating-from-verifyreceipt.md has them.
    private static let remaining = [
        PermittedDifference(
            of: ["receipt.request_date", "receipt.request_date_ms", "receipt.request_date_pst"],
            because: "It is the time of another request."),
        PermittedDifference([.changed, .removed], of: ["latest_receipt"], because: "Only Apple signs a new receipt."),
        PermittedDifference(
            of: ["provenance.source", "provenance.verified_at", "provenance.verified_at_ms"],
            because: "It names the interface."),
        PermittedDifference(
            [.removed], of: ["provenance.apple_status", "provenance.apple_status_explanation"],
            because: "Only verifyReceipt has a status."),
    ]

    /// A difference of answers without `latest_receipt_info`.
    private static let remainingWithoutLists = [
        PermittedDifference(
            [.added],
            of: Set(["date", "date_ms", "date_pst", "reason"].map { "receipt.in_app[].cancellation_\($0)" }),
            because: "A refund of another product than a subscription has no other place.")
    ]

    /// Differences of the form for transaction receipts, which has one period and no grace period.
    private static let remainingInIOS6Form = [
        PermittedDifference(
            [.removed], of: ["latest_receipt_info.item_id", "latest_expired_receipt_info.item_id"],
            because: "The number of another product is not in signed data."),
        PermittedDifference(
            [.added], of: ["transactions[]"], because: "Apple's answer has the last period alone."),
        PermittedDifference(
            of: ["subscriptions[].change", "subscriptions[].paid_service_days"],
            because: "So it does not show the periods before."),
    ]

    /// Differences of the story in which a customer bought another product after the end of the first.
    private static func remainingAfterSwitch(in story: String) -> [PermittedDifference] {
        guard story.contains("switched") else { return [] }
        return [
            PermittedDifference(
                [.removed], of: ["pending_renewal_info[]"],
                because: "The App Store Server API has one plan for each original transaction ID.")
        ]
    }

    /// Differences of stories with a grace period, for transaction receipts.
    private static func remainingInGracePeriod(of story: String) -> [PermittedDifference] {
        guard story == "in_grace_period" || story.contains("switched") else { return [] }
        return [
            PermittedDifference(
                [.changed, .added, .removed],
                of: [
                    "status", "latest_receipt_info", "latest_expired_receipt_info", "latest_receipt",
                    "subscriptions[].state", "subscriptions[].access_until", "subscriptions[].access_until_ms",
                    "provenance.apple_status", "provenance.apple_status_explanation",
                ],
                because: "Apple's answer has no grace period, and access lasts until its end.")
        ]
    }

    /// Differences of recorded answers, which are older than some members, from answers of today.
    private static let remainingInRecorded = [
        PermittedDifference(
            [.added],
            of: [
                "receipt.in_app[].in_app_ownership_type", "latest_receipt_info[].in_app_ownership_type",
                "latest_receipt_info[].is_in_intro_offer_period",
                "latest_receipt_info[].subscription_group_identifier", "pending_renewal_info", "pending_renewal_info[]",
            ],
            because: "Apple added the member later."),
        PermittedDifference(
            of: ["latest_receipt_info[].is_in_intro_offer_period"],
            because: "Claims do not express a trial at an introductory price."),
        PermittedDifference(
            [.changed, .added],
            of: ["latest_receipt_info", "latest_expired_receipt_info"].reduce(into: []) { paths, name in
                for field in ["bvrs", "version_external_identifier", "unique_identifier"] {
                    paths.insert("\(name).\(field)")
                }
            },
            because: "The app's version and the device come from the receipt that was sent."),
    ]

    /// Differences of published answers that were edited by hand, so that their members contradict each other.
    private static func edited(in name: String) -> [PermittedDifference] {
        let dates = [
            "cancellation_date", "cancellation_date_pst", "expires_date", "expires_date_ms", "expires_date_pst",
        ]
        guard ["r007", "r009", "r010"].contains(where: name.hasPrefix) else { return [] }
        return [
            PermittedDifference(
                [.added, .removed], of: ["latest_receipt_info[]"],
                because: "The lists of the answer have different transactions, or one twice."),
            PermittedDifference(
                of: Set(dates.flatMap { ["latest_receipt_info[].\($0)", "receipt.in_app[].\($0)"] }),
                because: "The forms of a date are different dates."),
        ]
    }
}

extension AnswerDifference {
    /// True for a member of a verdict that only signed transactions have: `verifyReceipt` has fewer members, and fewer
    /// still in the form for transaction receipts.
    fileprivate var isOfSignedData: Bool {
        let parents = ["transactions[].", "receipt.in_app[].", "subscriptions[]."]
        return before == nil && parents.contains(where: path.hasPrefix)
    }
}
