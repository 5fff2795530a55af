// SPDX-License-Identifier: Apache-2.0

import Customers
import Foundation
import Gateway
import RealCorpus
import ReceiptForge
import Receipts
import Resilience
import Testing

@testable import ServerTestSupport

@Suite("The purchases of an answer that are bound to an account")
struct OwnershipClaimTests {
    private typealias Samples = SignedSamples

    /// Returns a UUID that ends with a digit; nil for none.
    private static func token(_ digit: String?) -> String? { digit.map { "7e3fb20b-4cdb-47cc-936d-99d65f60813\($0)" } }

    // MARK: - Chains

    @Test func `each chain is one claim, the newest first`() async throws {
        let claims = try await claims(
            of: (1...6).map { number in
                contents(number) { $0.originalTransactionID = "\(number % 3 + 1)" }
            })
        #expect(claims.map(\.chain.originalTransactionID) == ["1", "3", "2"])
        #expect(claims.allSatisfy { $0.chain.bundleID == "com.example.forge" && $0.chain.environment == .sandbox })
        #expect(claims.allSatisfy { $0.appAccountToken == nil && !$0.isFamilyShared })
    }

    @Test func `the production is another environment`() async throws {
        let claims = try await claims(of: [contents(1) { $0.environment = "Production" }])
        #expect(claims.map(\.chain.environment) == [.production])
    }

    @Test(
        arguments: [
            (["a", nil, nil], "a"), ([nil, "a", nil], "a"), (["a", "b", nil], "b"), ([nil, nil, nil], nil),
        ] as [([String?], String?)])
    func `the token is that of the newest transaction with one`(tokens: [String?], expected: String?) async throws {
        let items = tokens.enumerated().map { number, token in
            contents(number) { $0.appAccountToken = Self.token(token) }
        }
        for order in [items, items.reversed()] {
            let claims = try await claims(of: order)
            #expect(claims.map(\.appAccountToken) == [Self.token(expected)])
        }
    }

    @Test(
        arguments: [
            (["PURCHASED", "FAMILY_SHARED"], true), (["FAMILY_SHARED", nil], true),
            (["FAMILY_SHARED", "PURCHASED"], false),
            ([nil, nil], false),
        ] as [([String?], Bool)])
    func `a purchase is shared if its newest transaction is`(types: [String?], isShared: Bool) async throws {
        let claims = try await claims(
            of: types.enumerated().map { number, type in contents(number) { $0.inAppOwnershipType = type } })
        #expect(claims.map(\.isFamilyShared) == [isShared])
    }

    @Test func `of very many chains the newest are claimed`() async throws {
        let total = OwnershipClaim.Limits.claims + 1
        // One request has 200 items at most; an answer of Apple's may have more.
        let items = (1...total).map { number in contents(number) { $0.originalTransactionID = "\(number)" } }
        let claims = try await claims(of: items)
        #expect(claims.count == total - 1 && claims.first?.chain.originalTransactionID == "\(total)")
        #expect(!claims.contains { $0.chain.originalTransactionID == "1" })
    }

    @Test(arguments: ["a b", "é1"])
    func `an ID of another form than Apple's is no purchase`(id: String) async throws {
        let claims = try await claims(of: [contents(1) { $0.originalTransactionID = id }, contents(2) { _ in }])
        #expect(claims.map(\.chain.originalTransactionID) == [TransactionContents().originalTransactionID])
    }

    @Test func `an answer that is not genuine claims nothing`() async throws {
        var text = Samples.pki.jws(TransactionContents())
        text.removeLast(2)
        let answer = try await answer(Samples.service, [text])
        #expect(answer.verdict.name == "rejected" && answer.ownershipClaims.isEmpty)
    }

    // MARK: - Real transactions

    private static let folder = RealCorpus.folder(besideReceipts: "jws")

    private static func text(_ name: String) throws -> [UInt8] {
        let folder = try #require(folder)
        let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        return Array(text.trimmingCharacters(in: .whitespacesAndNewlines).utf8)
    }

    @Test(.enabled(if: folder != nil, "Set RECEIPT_CORPUS to a folder beside which ../jws holds signed transactions."))
    func `the periods of a real subscription are one claim`() async throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: try #require(Self.folder).path)
            .filter { $0.hasPrefix("apple_transaction_2025") }
        let service = VerificationService(verifier: CurrentVerifier(ReceiptVerifier()))
        let answer = try await answer(service, try names.map { try Self.text($0) })
        let chain = PurchaseChain(
            bundleID: "com.loki-project.loki-messenger", environment: .sandbox,
            originalTransactionID: "2000001024993299")
        #expect(names.count > 1 && answer.verdict == .genuine)
        #expect(answer.ownershipClaims == [OwnershipClaim(chain)])
    }

    @Test(.enabled(if: folder != nil, "Set RECEIPT_CORPUS to a folder beside which ../jws holds signed transactions."))
    func `a real transaction of 2021, which names no environment, claims nothing`() async throws {
        let name = "apple_transaction_2021-11-09_noenv_club_omnichess_ios_60d0a5.jws"
        let answer = try await answer(
            VerificationService(verifier: CurrentVerifier(ReceiptVerifier())), [try Self.text(name)])
        #expect(answer.verdict == .genuine && answer.transactions.count == 1 && answer.ownershipClaims.isEmpty)
    }

    // MARK: - Answers

    /// Returns a transaction of a minute from 0.
    private func contents(_ minute: Int, _ edit: (inout TransactionContents) -> Void) -> TransactionContents {
        var contents = TransactionContents()
        contents.transactionID = "30\(minute)"
        contents.purchaseDate = TransactionContents.signedByDefault.advanced(by: .seconds(60 * (minute - 1000)))
        edit(&contents)
        return contents
    }

    private func claims(of items: [TransactionContents]) async throws -> [OwnershipClaim] {
        let answer = try await answer(Samples.service, items.map { Samples.pki.jws($0) })
        #expect(answer.verdict == .genuine, "\(answer.verdict)")
        return answer.ownershipClaims
    }

    private func answer(_ service: VerificationService, _ items: [[UInt8]]) async throws -> Answer {
        let request = VerificationRequest(evidence: .signedTransactions(SignedTransactions(items)), mode: .local)
        return try await service.answer(request, at: Samples.now).value()
    }
}
