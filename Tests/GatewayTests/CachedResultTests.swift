// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import Gateway

/// The memory of cached results, by which the caches are limited.
struct CachedResultTests {
    @Test func `the signed fields of transactions count`() {
        let size = MemoryLayout<SignedTransactionFields>.stride
        for signed in 0...3 { #expect(Self.extra { $0.sign(transactions: signed) } >= signed * size) }
        #expect(Self.extra { $0.sign(transactions: 3) } == 3 * Self.extra { $0.sign(transactions: 1) })
    }

    @Test func `the signed fields of plans count, with each of their offers`() {
        let signed = Self.extra { $0.sign(offers: nil) }
        #expect(signed >= MemoryLayout<SignedRenewalFields>.stride)
        let ids = (0..<100).map { "com.example.forge.winback.\($0)" }
        let texts = ids.reduce(0) { $0 + MemoryLayout<String>.stride + $1.utf8.count }
        #expect(Self.extra { $0.sign(offers: ids) } - signed >= texts)
    }

    @Test func `the Advanced Commerce objects of transactions and plans count`() {
        let object = [UInt8](repeating: 0x20, count: 1000)
        let signed = Self.extra { $0.sign(transactions: 3) } + Self.extra { $0.sign(offers: nil) }
        let extra = Self.extra { answer in
            answer.sign(transactions: 3)
            answer.sign(offers: nil)
            for index in answer.transactions.indices {
                var fields = SignedTransactionFields()
                fields.advancedCommerceInfo = object
                answer.transactions[index].signedFields = .value(fields)
            }
            var fields = SignedRenewalFields()
            fields.advancedCommerceInfo = object
            answer.renewals[0].signedFields = .value(fields)
        }
        #expect(extra - signed >= 4 * object.count)
    }

    @Test func `the position in a history counts`() {
        #expect(Self.extra { $0.revision = String(repeating: "r", count: 1000) } == 1000)
    }

    @Test func `the roots that were trusted count`() {
        let roots = (0..<100).map { OperatorsRoot(Fingerprint(of: [UInt8($0)].span), .sandbox) }
        func byteCount(_ roots: some Sequence<OperatorsRoot>) -> Int {
            let time = Timestamp(millisecondsSince1970: 1_790_000_000_000)
            return CachedResult(.accountNotFound, fetchedAt: time, freshUntil: time, roots: Set(roots)).byteCount
        }
        #expect(byteCount(roots) - byteCount([]) >= roots.count * MemoryLayout<OperatorsRoot>.stride)
    }

    /// Returns the bytes by which an edit enlarges an answer with three transactions and a plan.
    private static func extra(_ edit: (inout UpstreamAnswer) -> Void) -> Int {
        let transactions = (0..<3).map { Transaction(productID: "monthly", transactionID: "\($0)") }
        var answer = UpstreamAnswer(
            environment: .sandbox, bundleID: "com.example.forge", transactions: transactions,
            renewals: [Renewal(originalTransactionID: "0")], latestReceipt: nil, body: [])
        let before = byteCount(of: answer)
        edit(&answer)
        return byteCount(of: answer) - before
    }

    private static func byteCount(of answer: UpstreamAnswer) -> Int {
        let time = Timestamp(millisecondsSince1970: 1_790_000_000_000)
        return CachedResult(.answered(answer), fetchedAt: time, freshUntil: time).byteCount
    }
}

extension UpstreamAnswer {
    fileprivate mutating func sign(transactions count: Int) {
        for index in 0..<count { transactions[index].signedFields = .value(SignedTransactionFields()) }
    }

    fileprivate mutating func sign(offers: [String]?) {
        var fields = SignedRenewalFields()
        fields.eligibleWinBackOfferIDs = offers
        renewals[0].signedFields = .value(fields)
    }
}
