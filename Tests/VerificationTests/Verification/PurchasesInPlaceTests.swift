// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealCorpus
import ReceiptForge
import Receipts
import Testing

@testable import API
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport

/// The purchases of a receipt are evaluated and written from its bytes, other transactions as values. Both forms of one list
/// give the same answer, byte for byte.
@Suite struct PurchasesInPlaceTests {
    /// The bytes of the answer, with its states, of one list of transactions.
    private static func answer(_ transactions: TransactionList, of receipt: VerifiedReceipt, at now: Timestamp)
        -> [UInt8]
    {
        let evidence = VerifiedEvidence(.appReceipt(receipt))
        let rules = SubscriptionRules(knownAt: receipt.creationDate, licenceEnd: receipt.expirationDate)
        let entitlements = Entitlements(in: transactions, at: now, rules: rules)
            .revokingCopies(knownAt: rules.knownAt)
        let answer = Answer(
            verdict: .genuine, subject: .signed(evidence), entitlements: entitlements,
            provenance: Provenance(source: .local, cache: .miss, verifiedAt: now), freshUntil: now)
        var options = VerificationOptions()
        let whole = VerdictEndpoint().replies(to: options, with: answer, at: now).first.body.bytes
        options.excludesOldTransactions = true
        return whole + VerdictEndpoint().replies(to: options, with: answer, at: now).first.body.bytes
    }

    private static func expectSameAnswer(_ receipt: VerifiedReceipt) {
        let inPlace = SignedItem.appReceipt(receipt).transactions
        let values = TransactionList(inPlace.values)
        let dates = receipt.purchases.prefix(4).flatMap { [$0.purchaseDate, $0.expiresDate, $0.cancellationDate] }
        for now in [receipt.creationDate, .latest] + dates.compactMap(\.self) {
            #expect(answer(inPlace, of: receipt, at: now) == answer(values, of: receipt, at: now), "\(receipt) \(now)")
        }
    }

    @Test func `receipts of the corpus`() throws {
        for entry in Corpus(seed: 1, genuineReceipts: 100).prefix(100) {
            guard case .der(let bytes) = entry.evidence else { throw CancellationError() }
            Self.expectSameAnswer(try Forged.verifier.verify(bytes, at: .now()))
        }
    }

    @Test(arguments: 0..<100) func `receipts with chains, products and copies in any order`(seed: UInt64) throws {
        var contents = Forged.forge.contents, random = SplitMix64(seed: seed, purpose: "purchases in place")
        func number(_ bound: UInt64) -> UInt64 { random.next() % bound }
        let start = contents.creationDate
        contents.purchases = (0..<Int(1 + number(12))).map { index in
            let begin = start.advanced(bySeconds: 100 * (Int64(number(8)) - 8))
            var purchase = PurchaseContents(
                productID: ["monthly", "yearly", "com.example.subscription.premium"][Int(number(3))],
                transactionID: "\(2_000_000_000_000_000 + index)", purchaseDate: begin)
            let chain = number(4)
            if chain > 0 { purchase.originalTransactionID = "\(1_999_999_999_999_999 + Int(chain))" }
            if number(4) > 0 { purchase.expiresDate = begin.advanced(bySeconds: 100 * Int64(1 + number(3))) }
            if number(4) == 0 { purchase.cancellationDate = begin.advanced(bySeconds: 50) }
            purchase.webOrderLineItemID = Int64(number(4))
            purchase.isTrialPeriod = number(3) == 0
            if number(4) == 0 { (purchase.productType, purchase.expiresDate) = (.nonConsumable, nil) }
            return purchase
        }
        Self.expectSameAnswer(try Forged.verifier.verify(Forged.pki.sign(contents), at: .now()))
    }

    @Test(.enabled(if: RealCorpus.receipts != nil, "Set RECEIPT_CORPUS to a folder of real receipts."))
    func `receipts that Apple signed`() throws {
        struct Row: Decodable {
            let file: String
        }
        let folder = try #require(RealCorpus.receipts), rows: [Row] = try RealCorpus.index(of: folder)
        let verifier = ReceiptVerifier()
        let receipts = try rows.compactMap { row in
            let text = try String(contentsOf: folder.appending(path: row.file), encoding: .utf8)
            return try? verifier.verify(Base64.decode(text), at: .now())
        }
        #expect(!receipts.isEmpty)
        for receipt in receipts { Self.expectSameAnswer(receipt) }
    }
}
