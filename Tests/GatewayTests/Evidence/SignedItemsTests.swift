// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Gateway

/// Requests with several signed items: the ones that belong together, and the ones that do not.
struct SignedItemsTests {
    private typealias Samples = SignedSamples

    @Test func `transactions, a renewal info and an app transaction give one answer`() async throws {
        let answer = try await Self.answer(
            VerificationRequest(
                [Samples.transaction()], renewalInfos: [Samples.renewalInfo()],
                appTransaction: Samples.appTransaction()))
        #expect(answer.verdict == .genuine && answer.rejectedItems.isEmpty)
        #expect(answer.environment == .sandbox && answer.receipt == nil)
        #expect(answer.transactions.map(\.transactionID) == ["2000000900000002"])
        #expect(answer.subscriptions.map(\.originalTransactionID) == [Samples.original])
        #expect(answer.subscriptions.map(\.state) == [.active])
        #expect(answer.subscriptions.first?.renewal?.willRenew == true)
        #expect(answer.appTransaction?.bundleID == Samples.app)
        #expect(answer.provenance == Provenance(source: .local, cache: .miss, verifiedAt: Samples.time(10)))
    }

    @Test(arguments: [false, true])
    func `of several states of one transaction the newest counts, in any order`(isReversed: Bool) async throws {
        let states = [
            Samples.transaction(),
            Samples.transaction {
                $0.signedDate = Samples.time(100); $0.revocationDate = Samples.time(90)
            },
            Samples.transaction { $0.signedDate = Samples.time(50) },
        ]
        let answer = try await Self.answer(VerificationRequest(isReversed ? states.reversed() : states), at: 200)
        #expect(answer.verdict == .genuine && answer.transactions.count == 1)
        #expect(answer.transactions.first?.cancellationDate == Samples.time(90))
        #expect(answer.subscriptions.map(\.state) == [.revoked])
    }

    @Test(arguments: [false, true])
    func `of several plans for one subscription the newest counts, in any order`(isReversed: Bool) async throws {
        let plans = [
            Samples.renewalInfo(),
            Samples.renewalInfo {
                $0.signedDate = Samples.time(100); $0.autoRenewStatus = 0
            },
            Samples.renewalInfo { $0.signedDate = Samples.time(50) },
        ]
        let answer = try await Self.answer(
            VerificationRequest([Samples.transaction()], renewalInfos: isReversed ? plans.reversed() : plans), at: 200)
        #expect(answer.subscriptions.map { $0.renewal?.willRenew } == [false])
        #expect(answer.subscriptions.first?.renewal?.signedFields?.value.signedDate == Samples.time(100))
    }

    // MARK: - Items that do not belong together

    struct Misfit: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let request: VerificationRequest
        let item: RejectedItem

        init(_ name: String, _ request: VerificationRequest, _ list: RejectedItem.List, _ index: Int?, _ rule: Rule) {
            testDescription = name
            self.request = request
            item = RejectedItem(list: list, index: index, rule: rule)
        }
    }

    private static let genuine = Samples.transaction()
    private static let misfits = [
        Misfit(
            "another app", VerificationRequest([genuine, Samples.transaction { $0.bundleID = "com.example.other" }]),
            .transactions, 1, .itemsOfDifferentApps),
        Misfit(
            "another environment",
            VerificationRequest([genuine, genuine, Samples.transaction { $0.environment = "Production" }]),
            .transactions, 2, .itemsOfDifferentEnvironments),
        Misfit(
            "a plan for another subscription",
            VerificationRequest(
                [genuine],
                renewalInfos: [
                    Samples.renewalInfo(), Samples.renewalInfo { $0.originalTransactionID = "2000000900000077" },
                ]),
            .renewalInfos, 1, .renewalInfoUnrelated),
        Misfit(
            "a plan of another environment",
            VerificationRequest([genuine], renewalInfos: [Samples.renewalInfo { $0.environment = "Production" }]),
            .renewalInfos, 0, .itemsOfDifferentEnvironments),
        Misfit(
            "the installation of another app",
            VerificationRequest(
                [genuine], appTransaction: Samples.appTransaction { $0.bundleID = "com.example.other" }),
            .appTransaction, nil, .itemsOfDifferentApps),
        Misfit(
            "the installation of another environment",
            VerificationRequest([genuine], appTransaction: Samples.appTransaction { $0.receiptType = "Production" }),
            .appTransaction, nil, .itemsOfDifferentEnvironments),
        Misfit(
            "an app transaction among the transactions", VerificationRequest([genuine, Samples.appTransaction()]),
            .transactions, 1, .payloadOfOtherKind),
        Misfit(
            "a renewal info among the transactions", VerificationRequest([Samples.renewalInfo()]),
            .transactions, 0, .payloadOfOtherKind),
        Misfit(
            "a notification among the transactions", VerificationRequest([Samples.notification]),
            .transactions, 0, .payloadOfOtherKind),
        Misfit(
            "a transaction among the renewal infos", VerificationRequest([genuine], renewalInfos: [genuine]),
            .renewalInfos, 0, .payloadOfOtherKind),
        Misfit(
            "a transaction as the app transaction", VerificationRequest([genuine], appTransaction: genuine),
            .appTransaction, nil, .payloadOfOtherKind),
        Misfit(
            "a text that is no JWS", VerificationRequest([genuine, Array("x".utf8)]),
            .transactions, 1, .jwsNotCompact),
    ]

    @Test(arguments: misfits)
    func `an item that does not belong to the others is named with its rule`(misfit: Misfit) async throws {
        let answer = try await Self.answer(misfit.request)
        #expect(answer.verdict == .rejected(.rule(misfit.item.rule)))
        #expect(answer.rejectedItems == [misfit.item])
        #expect(answer.transactions.isEmpty && answer.subscriptions.isEmpty && answer.appTransaction == nil)
        #expect(answer.environment == nil)
    }

    @Test(
        arguments: [
            ([nil], nil), ([nil, "Sandbox"], nil), (["Sandbox", nil], nil), ([nil, "Production"], nil),
            (["Production", "Production"], .production),
        ] as [([String?], Environment?)])
    func `a transaction without an environment goes with any, and none speaks for it`(
        names: [String?], environment: Environment?
    ) async throws {
        let answer = try await Self.answer(VerificationRequest(Self.transactions(in: names)))
        #expect(answer.verdict == .genuine && answer.environment == environment)
        #expect(answer.transactions.count == names.count)
    }

    @Test func `an item without an environment does not join two others`() async throws {
        let answer = try await Self.answer(VerificationRequest(Self.transactions(in: [nil, "Sandbox", "Production"])))
        #expect(
            answer.rejectedItems == [
                RejectedItem(list: .transactions, index: 2, rule: .itemsOfDifferentEnvironments)
            ])
    }

    private static func transactions(in environments: [String?]) -> [[UInt8]] {
        environments.enumerated().map { number, name in
            Samples.transaction { contents in
                contents.environment = name
                contents.transactionID = "\(number)"
            }
        }
    }

    // MARK: - A part of the items

    private static let mixed = [Array("one.two".utf8), genuine, Array("three".utf8)]

    @Test func `the first bad item ends the work`() async throws {
        let answer = try await Self.answer(VerificationRequest(Self.mixed))
        #expect(answer.verdict == .rejected(.rule(.jwsNotCompact)))
        #expect(answer.rejectedItems.map(\.index) == [0] && answer.transactions.isEmpty)
    }

    @Test(arguments: [Mode.auto, .local, .apple])
    func `a part is answered from the signatures, in every mode, and stays rejected`(mode: Mode) async throws {
        let answer = try await Self.answer(VerificationRequest(Self.mixed, partial: true, mode: mode))
        #expect(answer.verdict == .rejected(.rule(.jwsNotCompact)))
        #expect(answer.rejectedItems.map(\.index) == [0, 2])
        #expect(answer.transactions.map(\.transactionID) == ["2000000900000002"])
        #expect(answer.subscriptions.map(\.state) == [.active] && answer.environment == .sandbox)
        #expect(answer.provenance.source == .local && !answer.provenance.isDegraded)
    }

    @Test func `an app transaction does not speak for the environment of a transaction`() async throws {
        let app = Samples.appTransaction { $0.receiptType = "Production" }
        let answer = try await Self.answer(
            VerificationRequest(Self.transactions(in: [nil]), appTransaction: app))
        #expect(answer.verdict == .genuine && answer.environment == nil && answer.appTransaction != nil)
    }

    @Test func `the fourth bad item ends the work, and nothing of the others is shown`() async throws {
        let junk = Array("junk".utf8)
        let three = try await Self.answer(VerificationRequest([Self.genuine, junk, junk, junk], partial: true))
        #expect(three.rejectedItems.map(\.index) == [1, 2, 3] && three.transactions.count == 1)
        let many = try await Self.answer(
            VerificationRequest([Self.genuine] + [[UInt8]](repeating: junk, count: 9), partial: true))
        #expect(many.rejectedItems.map(\.index) == [1, 2, 3, 4])
        #expect(many.transactions.isEmpty && many.subscriptions.isEmpty && many.environment == nil)
    }

    @Test func `of two states signed at once, the revoked one counts`() async throws {
        let active = Samples.transaction { _ in }
        let revoked = Samples.transaction { $0.revocationDate = $0.purchaseDate }
        for items in [[active, revoked], [revoked, active]] {
            let answer = try await Self.answer(VerificationRequest(items))
            #expect(answer.subscriptions.map(\.state) == [.revoked])
        }
    }

    @Test func `a part without any genuine item has no contents`() async throws {
        let answer = try await Self.answer(VerificationRequest([[], []], partial: true))
        #expect(answer.rejectedItems.count == 2 && answer.transactions.isEmpty && answer.environment == nil)
    }

    @Test func `a part of good items alone is genuine`() async throws {
        let answer = try await Self.answer(VerificationRequest([Self.genuine], partial: true))
        #expect(answer.verdict == .genuine && answer.rejectedItems.isEmpty)
    }

    @Test func `without Apple's API, mode apple is undecided about signed transactions`() async throws {
        let answer = try await Self.answer(VerificationRequest([Self.genuine], mode: .apple))
        #expect(answer.verdict == .undecided(.upstreamNotConfigured) && answer.transactions.isEmpty)
    }

    // MARK: - One JWS

    @Test func `a single JWS is a transaction or an app transaction`() async throws {
        let transaction = try await Self.answer(VerificationRequest(evidence: .jws(Self.genuine)))
        #expect(transaction.verdict == .genuine && transaction.transactions.count == 1)
        let app = try await Self.answer(VerificationRequest(evidence: .jws(Samples.appTransaction())))
        #expect(app.verdict == .genuine && app.transactions.isEmpty && app.appTransaction?.bundleID == Samples.app)
        for other in [Samples.renewalInfo(), Samples.notification] {
            let answer = try await Self.answer(VerificationRequest(evidence: .jws(other)))
            #expect(answer.verdict == .rejected(.rule(.payloadOfOtherKind)) && answer.rejectedItems.isEmpty)
        }
    }

    @Test func `a request's items are counted together`() {
        let item: [UInt8] = [1, 2]
        let all = VerificationRequest([item, item], renewalInfos: [item], appTransaction: item)
        #expect(all.subject.itemCount == 4 && all.subject.byteCount == 8)
        #expect(VerificationRequest([item]).subject.itemCount == 1 && Evidence.jws(item).itemCount == 1)
    }

    // MARK: - Permissions

    @Test func `the app of the items must be the client's`() async throws {
        for partial in [false, true] {
            let items = partial ? Self.mixed : [Self.genuine]
            var request = VerificationRequest(items, partial: partial)
                .withClient { $0.permittedApps = .only(["com.example.other"]) }
            await #expect(throws: GatewayError.appNotPermitted(Samples.app)) { try await Self.answer(request) }
            request = request.withClient { $0.permittedApps = .only([Samples.app]) }
            #expect(try await Self.answer(request).transactions.count == 1)
        }
    }

    @Test func `the app of the items must be the expected one`() async throws {
        let request = VerificationRequest([Self.genuine]).with { $0.expectations.bundleID = "com.example.other" }
        let answer = try await Self.answer(request)
        #expect(answer.verdict == .rejected(.rule(.bundleIDMismatch)) && answer.transactions.isEmpty)
    }

    // MARK: - Steps

    private static func answer(_ request: VerificationRequest, at seconds: Int64 = 10) async throws -> Answer {
        try await VerificationService(verifier: CurrentVerifier(Samples.verifier)).verify(
            request, at: Samples.time(seconds))
    }
}
