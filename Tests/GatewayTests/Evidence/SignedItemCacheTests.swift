// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Gateway

/// A verifier that trusts no root of the tests shows which items were not verified again.
struct SignedItemCacheTests {
    private typealias Samples = SignedSamples

    private let cache = SignedItemCache(maximumBytes: 1 << 20)
    private let transaction = Samples.transaction()

    @Test func `the same bytes are not verified again`() async throws {
        let request = VerificationRequest(
            [transaction], renewalInfos: [Samples.renewalInfo()], appTransaction: Samples.appTransaction())
        #expect(try await verdict(request, trusting: false) == .rejected(.rule(.anchorUntrusted)))
        #expect(try await verdict(request) == .genuine)
        #expect(try await verdict(request, trusting: false) == .genuine)
    }

    @Test func `a JWS alone is not verified again either`() async throws {
        let request = VerificationRequest(evidence: .jws(transaction))
        #expect(try await verdict(request) == .genuine)
        #expect(try await verdict(request, trusting: false) == .genuine)
        let plan = VerificationRequest(evidence: .jws(Samples.renewalInfo()))
        _ = try await verdict(VerificationRequest([transaction], renewalInfos: [Samples.renewalInfo()]))
        #expect(try await verdict(plan) == .rejected(.rule(.payloadOfOtherKind)))
    }

    @Test func `another signature over the same text is verified like any other`() async throws {
        let other = Samples.resigned(transaction, SignatureTwin.twin)
        try #require(other != transaction && other.count == transaction.count)
        let first = try await answer(VerificationRequest([transaction]))
        #expect(try await verdict(VerificationRequest([other]), trusting: false) == .rejected(.rule(.anchorUntrusted)))
        let second = try await answer(VerificationRequest([other]))
        #expect(second.verdict == .genuine)
        // For all else they are the same transaction.
        #expect(first.subject?.identity == second.subject?.identity && first.subject != nil)
        let broken = Samples.resigned(transaction) { $0.dropLast() + [$0[63] ^ 1] }
        #expect(try await verdict(VerificationRequest([broken])) == .rejected(.rule(.signatureInvalid)))
    }

    @Test func `a known item is still of its own kind`() async throws {
        let app = Samples.appTransaction()
        #expect(try await verdict(VerificationRequest([transaction], appTransaction: app)) == .genuine)
        for request in [VerificationRequest([app]), VerificationRequest([transaction], renewalInfos: [transaction])] {
            #expect(try await verdict(request) == .rejected(.rule(.payloadOfOtherKind)))
        }
    }

    @Test func `what breaks a rule is not kept`() async throws {
        let texts = [
            Array("x".utf8), Samples.transaction { $0.environment = "Staging" }, Array(transaction.dropLast()),
        ]
        for text in texts {
            let verdict = try await verdict(VerificationRequest([text]))
            #expect(verdict != .genuine)
            #expect(cache.item(of: text) == nil)
        }
        #expect(try await verdict(VerificationRequest([transaction])) == .genuine)
        #expect(cache.item(of: transaction) != nil)
    }

    @Test func `a cache of size 0 keeps nothing`() async throws {
        let none = SignedItemCache(maximumBytes: 0)
        #expect(try await answer(VerificationRequest([transaction]), none).verdict == .genuine)
        #expect(none.item(of: transaction) == nil)
    }

    @Test func `the items stay within the size, the last ones stay`() async throws {
        let small = SignedItemCache(maximumBytes: 64 << 10)
        let items = (0..<200).map { number in Samples.transaction { $0.transactionID = "\(number)" } }
        _ = try await answer(VerificationRequest(items), small)
        let kept = items.map { small.item(of: $0) }
        let bytes = kept.compactMap { $0?.byteCount }.reduce(0, +)
        #expect(bytes > 0 && bytes <= 64 << 10)
        #expect(kept.last.map { $0 != nil } == true)
    }

    private func verdict(_ request: VerificationRequest, trusting: Bool = true) async throws -> Verdict {
        try await answer(request, trusting: trusting).verdict
    }

    private func answer(
        _ request: VerificationRequest, _ other: SignedItemCache? = nil, trusting: Bool = true
    ) async throws -> Answer {
        let verifier = trusting ? Samples.verifier : ReceiptVerifier()
        return try await VerificationService(verifier: CurrentVerifier(verifier, items: other ?? cache))
            .verify(request, at: Samples.time(10))
    }
}

extension SignedItemCache {
    fileprivate func item(of jws: [UInt8]) -> SignedItem? {
        Self.tag(of: jws.span).flatMap { item(of: $0) }
    }
}
