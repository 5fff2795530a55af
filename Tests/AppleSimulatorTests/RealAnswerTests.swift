// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealCorpus
import Testing

@testable import AppleSimulator

/// A comparison of the simulator's answers with Apple's to the same receipts.
@Suite(.enabled(if: RealCorpus.answers != nil, Comment(rawValue: RealCorpus.answersMissing)))
struct RealAnswerTests {
    @Test(arguments: try RealCorpus.pairs())
    func `the simulator answers as Apple did`(_ pair: RealCorpus.Pair) throws {
        let apple = try AppleAnswer(pair.answer)
        let ours = try TestStore().answer(to: Self.body(of: pair), at: apple.status == 21007 ? .production : .sandbox)
        #expect(ours.status == apple.status && ours.environment == apple.environment)
        #expect(Set(ours.members.keys) == Set(apple.members.keys))
        #expect(Self.timeless(ours.receipt) == Self.timeless(apple.receipt))
    }

    @Test(arguments: try RealCorpus.pairs())
    func `the simulator lists what Apple listed`(_ pair: RealCorpus.Pair) throws {
        let apple = try AppleAnswer(pair.answer)
        let ours = try TestStore().answer(to: Self.body(of: pair), at: .sandbox)
        guard !apple.latest.isEmpty else { return }
        #expect(Self.known(ours.latest) == Self.known(apple.latest))
        #expect(ours.renewals.count == apple.renewals.count)
        for (our, their) in zip(ours.renewals, apple.renewals) {
            #expect(Set(their.keys).isSubset(of: Set(our.keys).union(Self.onlyApple)), "\(their.keys) \(our.keys)")
        }
    }

    private static func body(of pair: RealCorpus.Pair) -> String { #"{"receipt-data":"\#(pair.receiptData)"}"# }

    /// The fields of a sandbox subscription that still runs or has just ended.
    private static let onlyApple: Set<String> = ["expiration_intent", "is_in_billing_retry_period"]

    /// Returns `receipt` without the request's date, and without the ownership, which answers before 2021 do not have.
    private static func timeless(_ receipt: [String: Any]) -> NSDictionary {
        var receipt = receipt.filter { !$0.key.hasPrefix("request_date") }
        receipt["in_app"] = (receipt["in_app"] as? [[String: Any]])?.map { purchase in
            purchase.filter { $0.key != "in_app_ownership_type" }
        }
        return receipt as NSDictionary
    }

    /// Returns the elements by transaction, without the fields that no receipt has.
    private static func known(_ list: [[String: String]]) -> [String: [String: String]] {
        let unknown: Set = ["in_app_ownership_type", "subscription_group_identifier"]
        let elements = list.map { ($0["transaction_id"] ?? "", $0.filter { !unknown.contains($0.key) }) }
        return Dictionary(elements) { first, _ in first }
    }
}
