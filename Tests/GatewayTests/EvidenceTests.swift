// SPDX-License-Identifier: Apache-2.0

import Cryptography
import ReceiptForge
import Receipts
import Testing

@testable import Gateway

@Suite("Evidence and subjects")
struct EvidenceTests {
    private static func item(ofApp bundleID: String = Samples.app, _ transactionID: String = "1") throws -> SignedItem {
        let receipt = Samples.receipt(with: [Period(transactionID, 0..<100)]) { $0.bundleID = bundleID }
        return .appReceipt(try Samples.verified(receipt))
    }

    @Test func `the identity of several items depends on their signed contents, not on their order`() throws {
        let first = try Self.item(), second = try Self.item(ofApp: Samples.app, "2")
        var forwards = VerifiedEvidence(first), backwards = VerifiedEvidence(second)
        try forwards.add(second)
        try backwards.add(first)
        #expect(forwards.identity == backwards.identity)
        #expect(forwards.identity != VerifiedEvidence(first).identity)
        #expect(forwards.transactions.map(\.transactionID) == ["1", "2"])
        #expect(forwards.bundleID == Samples.app && forwards.environment == .sandbox)
        #expect(forwards.signingTime == Samples.created)
    }

    @Test func `items of two apps cannot be combined`() throws {
        var evidence = VerifiedEvidence(try Self.item())
        let other = try Self.item(ofApp: "com.example.other")
        #expect(throws: ReceiptError(.itemsOfDifferentApps)) { try evidence.add(other) }
        #expect(evidence.items.count == 1)
    }

    @Test func `a lookup never has the cache key of evidence, nor has another app, secret or option`() throws {
        let evidence = VerificationSubject.signed(VerifiedEvidence(try Self.item()))
        let identity = try #require(evidence.evidence?.identity.description)
        let lookup = VerificationSubject.lookup(bundleID: Samples.app, transactionID: identity)
        let other = VerificationSubject.signed(VerifiedEvidence(try Self.item(ofApp: "com.example.other")))
        let keys = [
            CacheKey(UpstreamRequest(subject: evidence), at: .verifyReceipt, with: nil),
            CacheKey(UpstreamRequest(subject: evidence), at: .verifyReceipt, with: Secret("s")),
            CacheKey(UpstreamRequest(subject: evidence, excludesOldTransactions: true), at: .verifyReceipt, with: nil),
            CacheKey(UpstreamRequest(subject: lookup), at: .verifyReceipt, with: nil),
            CacheKey(UpstreamRequest(subject: other), at: .verifyReceipt, with: nil),
        ]
        #expect(Set(keys).count == keys.count)
        #expect(keys[0] == CacheKey(UpstreamRequest(subject: evidence), at: .verifyReceipt, with: nil))
    }

    @Test(arguments: [Mode.auto, .local, .apple]) func `without Apple a lookup stays undecided`(mode: Mode) {
        let evaluated = EvaluatedRequest(
            .lookup(bundleID: Samples.app, transactionID: "1"),
            for: VerificationRequest(.transactionID("1"), mode: mode), at: Samples.created,
            by: .ofTests, rules: .ofTests)
        #expect(evaluated.mayHaveChanged && !evaluated.isFullyPaid)
        let answer = evaluated.withoutUpstream(.upstreamNotConfigured)
        #expect(answer.verdict == .undecided(.upstreamNotConfigured) && answer.subject == nil)
    }

    @Test func `evidence without an app is for clients that may use all apps`() throws {
        try RequestClient().permittedApps.require(nil)
        #expect(throws: GatewayError.self) { try PermittedApps.only([Samples.app]).require(nil) }
    }
}
