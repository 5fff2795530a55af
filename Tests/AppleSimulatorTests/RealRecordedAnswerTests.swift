// SPDX-License-Identifier: Apache-2.0

import RealCorpus
import Testing

@testable import AppleSimulator

/// Accounts made from Apple's own answers.
@Suite(.enabled(if: RealCorpus.answers != nil, Comment(rawValue: RealCorpus.answersMissing)))
struct RealRecordedAnswerTests {
    @Test(arguments: try RealCorpus.genuineAnswers())
    func `verifyReceipt answers with every member of Apple's answer`(_ answer: RealCorpus.Answer) throws {
        let (apple, ours) = (try AppleAnswer(answer.json), try RecordedStore(answer.json).answer())
        #expect(Set(ours.members.keys) == Set(apple.members.keys))
        for (name, text) in apple.comparable { #expect(ours.comparable[name] == text, "\(name)") }
    }

    @Test(arguments: try RealCorpus.genuineAnswers())
    func `the Server API has the transactions of Apple's answer`(_ answer: RealCorpus.Answer) throws {
        let (apple, recorded) = (try AppleAnswer(answer.json), try RecordedStore(answer.json))
        let elements = apple.elements
        for id in elements.keys {
            let history = try recorded.call("v2/history/\(id)")
            #expect(history.hasMore == false && Set(history.transactionIDs) == Set(elements.keys))
            #expect(history.transactionIDs.count == elements.count, "each transaction comes once")
            #expect(try recorded.call("v1/history/\(id)").transactionIDs == history.transactionIDs)
            let claims = try recorded.call("v1/transactions/\(id)").claims(of: "signedTransactionInfo")
            try Self.expectAgreement(of: claims, with: elements[id] ?? [:])
        }
    }

    @Test(arguments: try RealCorpus.genuineAnswers())
    func `the Server API has the renewals of Apple's answer`(_ answer: RealCorpus.Answer) throws {
        let (apple, recorded) = (try AppleAnswer(answer.json), try RecordedStore(answer.json))
        let elements = apple.elements
        let periods = elements.values.filter { $0["expires_date"] != nil }
        let statuses = try recorded.call("v1/subscriptions/\(elements.keys.first ?? "")").statuses
        #expect(
            statuses.compactMap(\.originalTransactionID).sorted()
                == Set(periods.compactMap { $0["original_transaction_id"] }).sorted())
        for renewal in apple.allRenewals {
            let status = try #require(statuses.first { $0.originalTransactionID == renewal["original_transaction_id"] })
            #expect(AgreementTests.fields(ofRenewal: status.renewal) == renewal)
            #expect(status.transaction["originalTransactionId"] as? String == renewal["original_transaction_id"])
        }
    }

    @Test(arguments: try RealCorpus.genuineAnswers())
    func `the Server API has the app of Apple's answer`(_ answer: RealCorpus.Answer) throws {
        let (apple, recorded) = (try AppleAnswer(answer.json), try RecordedStore(answer.json))
        let reply = try recorded.call("v1/transactions/appTransactions/\(apple.elements.keys.first ?? "")")
        guard apple.receipt["bid"] == nil else {
            #expect(reply.errorCode == 4_040_019, "iOS 6 had no app receipts")
            return
        }
        let claims = reply.claims(of: "signedAppTransactionInfo")
        #expect(claims["bundleId"] as? String == apple.receipt["bundle_id"] as? String)
        #expect(
            claims["originalApplicationVersion"] as? String == apple.receipt["original_application_version"] as? String)
        let bought = try #require(claims["originalPurchaseDate"] as? Int64)
        #expect(String(bought) == apple.receipt["original_purchase_date_ms"] as? String)
    }

    private static func expectAgreement(of claims: [String: Any], with element: [String: String]) throws {
        var fields = AgreementTests.fields(ofClaims: claims)
        // Claims about subscriptions have a group, old answers have none.
        if element["subscription_group_identifier"] == nil { fields["subscription_group_identifier"] = nil }
        #expect(fields == AppleAnswer.fieldsOfClaims(element))
    }
}
