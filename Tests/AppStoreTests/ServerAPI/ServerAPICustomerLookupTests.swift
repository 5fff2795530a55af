// SPDX-License-Identifier: Apache-2.0

import Gateway
import NIOHTTP1
import ReceiptForge
import Receipts
import Resilience
import Synchronization
import Testing

@testable import AppStore

struct ServerAPICustomerLookupTests {
    private typealias Samples = ServerAPISamples
    private typealias Answer = LocalServer.Answer

    /// A host that knows the sample customer, who has one subscription.
    private static func host(_ environment: Environment) -> LocalServer.Script {
        let transaction = Samples.transaction { $0.environment = environment.rawValue }
        let renewalInfo = Samples.renewalInfo { $0.environment = environment.rawValue }
        let name = environment.rawValue
        return { request in
            request.head.uri.contains("/subscriptions/")
                ? .statuses(transaction, renewalInfo, environment: name) : .page([transaction], environment: name)
        }
    }

    // MARK: - Purchases

    @Test func `a subscriber has the history and the statuses`() async throws {
        try await ServerAPIBench.run(production: Self.host(.production)) { bench in
            let answer = try #require(await bench.lookUp().answer)
            #expect(answer.environment == .production && answer.bundleID == Samples.app && answer.revision == "r1")
            #expect(answer.transactions.map(\.transactionID) == [Samples.transactionID])
            #expect(answer.renewals.map(\.originalTransactionID) == [Samples.original])
            #expect(answer.latestReceipt == nil && answer.body.isEmpty)
            #expect(
                bench.production.requests.map(\.head.uri) == [
                    "/inApps/v2/history/\(Samples.transactionID)", "/inApps/v1/subscriptions/\(Samples.transactionID)",
                ])
            #expect(bench.sandbox.requests.isEmpty)
        }
    }

    @Test func `a customer without subscriptions costs one call`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in .page([Samples.item("7"), Samples.item("8")]) }) { bench in
            let answer = try #require(await bench.lookUp("8", in: .sandbox).answer)
            #expect(answer.transactions.map(\.transactionID) == ["7", "8"] && answer.renewals.isEmpty)
            #expect(bench.sandbox.requests.count == 1 && bench.limiter.charges.count == 1)
        }
    }

    @Test func `a newer state in the statuses replaces the one in the history`() async throws {
        let refunded = Samples.transaction { contents in
            contents.signedDate = TransactionContents.signedByDefault.advanced(by: .seconds(1))
            contents.revocationDate = TransactionContents.signedByDefault
        }
        try await ServerAPIBench.run(
            sandbox: { request in
                request.head.uri.contains("/subscriptions/") ? .statuses(refunded) : .page([Samples.transaction()])
            }
        ) { bench in
            let answer = try #require(await bench.lookUp(in: .sandbox).answer)
            #expect(answer.transactions.count == 1 && answer.transactions[0].cancellationDate != nil)
        }
    }

    @Test func `a status is not older than the history that was read before it`() async throws {
        let later = TransactionContents.signedByDefault.advanced(by: .seconds(1))
        let period = Samples.transaction { $0.signedDate = later }
        // What is signed beside the status is from before the history.
        try await ServerAPIBench.run(
            sandbox: { request in
                request.head.uri.contains("/subscriptions/") ? .statuses(status: "5") : .page([period])
            }
        ) { bench in
            let answer = try #require(await bench.lookUp(in: .sandbox).answer)
            #expect(answer.renewals.map(\.status) == [ReportedStatus(.revoked, at: later)])
        }
    }

    // MARK: - Unfinished consumables

    private static func coins(_ ids: String...) -> [String] {
        ids.map { id in Samples.item(id) { $0.type = "Consumable" } }
    }

    private static func isFirstVersion(_ request: LocalServer.Request) -> Bool {
        request.head.uri.contains("/v1/history/")
    }

    @Test func `version 1 of the history lists the unfinished consumables, page by page`() async throws {
        let script: LocalServer.Script = { request in
            guard Self.isFirstVersion(request) else { return .page(Self.coins("1", "2", "3") + [Samples.item("4")]) }
            return request.head.uri.contains("revision=a")
                ? .page(Self.coins("3"), revision: "b") : .page(Self.coins("1"), revision: "a", hasMore: true)
        }
        try await ServerAPIBench.run(sandbox: script) { bench in
            let answer = try #require(await bench.lookUp("4", in: .sandbox, listsUnfinished: true).answer)
            #expect(answer.unfinishedConsumables == .known(["1", "3"]) && answer.transactions.count == 4)
            #expect(
                bench.sandbox.requests.map(\.head.uri).dropFirst() == [
                    "/inApps/v1/history/4?productType=CONSUMABLE",
                    "/inApps/v1/history/4?productType=CONSUMABLE&revision=a",
                ])
            // Not needed by every request.
            let other = try #require(await bench.lookUp("4", in: .sandbox).answer)
            #expect(other.unfinishedConsumables == .notRequested && bench.sandbox.requests.count == 4)
        }
    }

    @Test func `without consumables there is no such call`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in .page([Samples.item("7")]) }) { bench in
            let answer = try #require(await bench.lookUp("7", in: .sandbox, listsUnfinished: true).answer)
            #expect(answer.unfinishedConsumables == .known([]) && bench.sandbox.requests.count == 1)
        }
    }

    @Test(arguments: [(4_000_000, 400), (4_040_010, 404), (0, 410)] as [(Int, Int)])
    func `if Apple ends version 1, the rest is answered`(code: Int, status: Int) async throws {
        let script: LocalServer.Script = { request in
            guard Self.isFirstVersion(request) else { return .page(Self.coins("1")) }
            return code == 0 ? Answer(status: .init(statusCode: status), body: "Gone") : .error(code)
        }
        try await ServerAPIBench.run(sandbox: script) { bench in
            let answer = try #require(await bench.lookUp("1", in: .sandbox, listsUnfinished: true).answer)
            #expect(answer.unfinishedConsumables == .unavailable && answer.transactions.count == 1)
            #expect(!answer.isPartial)
        }
    }

    @Test(arguments: [503, 429, 500]) func `a failure of version 1 is its own`(status: Int) async throws {
        let script: LocalServer.Script = { request in
            guard Self.isFirstVersion(request) else { return .page(Self.coins("1")) }
            return Answer(status: .init(statusCode: status), headers: ["Retry-After": "60"], body: "")
        }
        try await ServerAPIBench.run(sandbox: script) { bench in
            for _ in 0..<20 {
                let answer = try #require(await bench.lookUp("1", in: .sandbox, listsUnfinished: true).answer)
                // It may come soon.
                #expect(answer.unfinishedConsumables == .unavailable && answer.isPartial)
            }
        }
    }

    // MARK: - Pages

    @Test func `each page is a call of the budget, from position to position`() async throws {
        let script = LocalServer.inOrder(
            .page([Samples.item("1")], revision: "a", hasMore: true),
            .page([Samples.item("2")], revision: "b", hasMore: true), .page([Samples.item("3")], revision: "c"))
        try await ServerAPIBench.run(sandbox: script) { bench in
            let answer = try #require(await bench.lookUp("3", in: .sandbox, hasEvidence: false).answer)
            #expect(answer.transactions.map(\.transactionID) == ["1", "2", "3"] && answer.revision == "c")
            let queries = bench.sandbox.requests.map { String($0.head.uri.drop { $0 != "?" }) }
            #expect(queries == ["", "?revision=a", "?revision=b"])
            #expect(
                bench.limiter.charges.map { $0.map(\.bucket.policy.name) }
                    == Array(repeating: ["transaction_history", "transaction_history_lookup"], count: 3))
        }
    }

    @Test func `an interrupted history continues where it ended`() async throws {
        let isDown = Atomic(true)
        let script: LocalServer.Script = { request in
            let uri = request.head.uri
            if !uri.contains("revision") { return .page([Samples.item("1")], revision: "a", hasMore: true) }
            if uri.contains("revision=a") { return .page([Samples.item("2")], revision: "b", hasMore: true) }
            return isDown.load(ordering: .relaxed) ? .error(4_040_002) : .page([Samples.item("3")], revision: "c")
        }
        try await ServerAPIBench.run(sandbox: script) { bench in
            // The second attempt gets nowhere.
            for _ in 0..<2 { #expect(await bench.lookUp("3", in: .sandbox).line == "upstream_unavailable") }
            isDown.store(false, ordering: .relaxed)
            let answer = try #require(await bench.lookUp("3", in: .sandbox).answer)
            #expect(answer.transactions.map(\.transactionID) == ["1", "2", "3"] && answer.revision == "c")
            // Once complete, it is the cache's.
            _ = await bench.lookUp("3", in: .sandbox)
            let queries = bench.sandbox.requests.map { String($0.head.uri.drop { $0 != "?" }) }
            #expect(queries.filter { $0 == "" }.count == 2 && queries.filter { $0 == "?revision=a" }.count == 2)
        }
    }

    @Test func `an interrupted history begins anew under other roots`() async throws {
        let isDown = Atomic(true)
        let script: LocalServer.Script = { request in
            if !request.head.uri.contains("revision") {
                return .page([Samples.item("1")], revision: "a", hasMore: true)
            }
            return isDown.load(ordering: .relaxed) ? .error(4_040_002) : .page([Samples.item("3")], revision: "b")
        }
        let other = Samples.verifier.trusting(Samples.verifier.trustStore)
        try await ServerAPIBench.run(sandbox: script) { bench in
            #expect(await bench.lookUp("3", in: .sandbox).line == "upstream_unavailable")
            isDown.store(false, ordering: .relaxed)
            let answer = try #require(await bench.lookUp("3", in: .sandbox, verifier: other).answer)
            #expect(answer.transactions.map(\.transactionID) == ["1", "3"])
            let queries = bench.sandbox.requests.map { String($0.head.uri.drop { $0 != "?" }) }
            #expect(queries.count(where: { $0 == "" }) == 2)
        }
    }

    @Test func `Apple's answer is verified under the roots of its request`() async throws {
        try await ServerAPIBench.run(sandbox: LocalServer.inOrder(.page([Samples.item("1")], revision: "a"))) { bench in
            let stranger = Samples.verifier.trusting(.apple)
            #expect(await bench.lookUp("1", in: .sandbox, verifier: stranger).line == "upstream_contradiction")
        }
    }

    @Test func `a known history continues from its position`() async throws {
        let change = Samples.item("1", signedAfter: 30) { $0.revocationDate = TransactionContents.signedByDefault }
        let script = LocalServer.inOrder(
            .page([Samples.item("1"), Samples.item("2")], revision: "a"), .page([change], revision: "b"),
            .page([], revision: "b"))
        try await ServerAPIBench.run(sandbox: script) { bench in
            var known = try #require(await bench.lookUp("2", in: .sandbox).answer)
            for _ in 0..<2 { known = try #require(await bench.lookUp("2", in: .sandbox, known: known).answer) }
            #expect(known.transactions.map(\.transactionID) == ["1", "2"] && known.revision == "b")
            #expect(known.transactions[0].cancellationDate != nil)
            let queries = bench.sandbox.requests.map { String($0.head.uri.drop { $0 != "?" }) }
            #expect(queries == ["", "?revision=a", "?revision=b"])
        }
    }

    @Test func `a history whose position Apple refuses begins anew`() async throws {
        let script: LocalServer.Script = { request in
            request.head.uri.contains("revision=old") ? .error(4_000_005) : .page([Samples.item("1")], revision: "new")
        }
        try await ServerAPIBench.run(sandbox: script) { bench in
            var known = try #require(await bench.lookUp("1", in: .sandbox).answer)
            known.revision = "old"
            known.transactions.append(Transaction(productID: "p", transactionID: "gone"))
            let answer = try #require(await bench.lookUp("1", in: .sandbox, known: known).answer)
            #expect(answer.transactions.map(\.transactionID) == ["1"] && answer.revision == "new")
        }
    }

    @Test func `what is known of another environment is not used`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in .page([Samples.item("1")]) }) { bench in
            let known = UpstreamAnswer(
                environment: .production, bundleID: Samples.app, transactions: [], renewals: [], latestReceipt: nil,
                body: [], revision: "of production")
            #expect(await bench.lookUp("1", in: .sandbox, known: known).answer != nil)
            #expect(bench.sandbox.requests.map(\.head.uri) == ["/inApps/v2/history/1"])
        }
    }

    @Test func `a history that promises more without a new position is not returned`() async throws {
        try await ServerAPIBench.run(
            sandbox: { _ in .page([Samples.item("1")], revision: "a", hasMore: true) }
        ) { bench in
            #expect(await bench.lookUp("1", in: .sandbox).line == "upstream_unusable_answer")
            #expect(bench.sandbox.requests.count == 2)
        }
    }

    @Test func `a history has a limit of pages`() async throws {
        let page = Atomic(0)
        let script: LocalServer.Script = { _ in
            let revision = page.add(1, ordering: .relaxed).newValue
            return .page([], revision: "\(revision)", hasMore: true, environment: "Production")
        }
        try await ServerAPIBench.run(production: script) { bench in
            #expect(await bench.lookUp("1", in: .production).line == "upstream_unusable_answer")
            #expect(bench.production.requests.count == ServerAPICustomerLookup.Limits.pages)
        }
    }

    // MARK: - Environments

    @Test(arguments: [
        Answer.unauthorized, .error(4_040_001), .error(4_040_003), .error(4_040_005), .error(4_040_010),
        .error(4_040_019),
    ])
    func `without a known environment the sandbox is asked after these answers`(
        _ first: LocalServer.Answer
    ) async throws {
        try await ServerAPIBench.run(production: { _ in first }, sandbox: Self.host(.sandbox)) { bench in
            #expect(await bench.lookUp().answer?.environment == .sandbox)
            #expect(bench.production.requests.count == 1 && bench.client.pausedKeys.isEmpty)
        }
    }

    @Test(arguments: [
        (Answer.error(4_000_006), "transaction_id_invalid", 1), (.error(4_000_000), "upstream_request_refused", 1),
        (.error(4_040_002), "upstream_unavailable", 2), (.error(4_040_004), "upstream_unavailable", 2),
        (.error(4_040_006), "upstream_unavailable", 2), (.error(5_000_001), "upstream_server_error", 2),
        (.error(4_030_004), "upstream_request_refused", 1), (.error(4_290_000), "upstream_paused", 1),
        (Answer(status: .badGateway), "upstream_server_error", 2),
    ])
    func `after any other answer it is not`(
        _ answer: LocalServer.Answer, result: String, calls: Int
    ) async throws {
        try await ServerAPIBench.run(production: { _ in answer }, sandbox: Self.host(.sandbox)) { bench in
            #expect(await bench.lookUp().line == result)
            #expect(bench.production.requests.count == calls && bench.sandbox.requests.isEmpty)
        }
    }

    @Test(arguments: UpstreamEnvironment.allCases)
    func `a known environment's host is asked alone`(_ environment: UpstreamEnvironment) async throws {
        try await ServerAPIBench.run(
            production: { _ in .error(4_040_010) }, sandbox: { _ in .error(4_040_010) }
        ) { bench in
            #expect(await bench.lookUp(in: environment).line == "transaction_not_found")
            #expect(bench.production.requests.count == (environment == .production ? 1 : 0))
            #expect(bench.sandbox.requests.count == (environment == .sandbox ? 1 : 0))
        }
    }

    @Test func `an account that Apple does not find is none`() async throws {
        try await ServerAPIBench.run(production: { _ in .error(4_040_001) }, sandbox: { _ in .error(4_040_010) }) {
            bench in
            #expect(await bench.lookUp().line == "account_not_found")
        }
    }

    // MARK: - Keys

    @Test(arguments: [nil, UpstreamEnvironment.production, .sandbox])
    func `401 from every host that may be asked pauses the key`(_ environment: UpstreamEnvironment?) async throws {
        try await ServerAPIBench.run(production: { _ in .unauthorized }, sandbox: { _ in .unauthorized }) { bench in
            for _ in 0..<2 { #expect(await bench.lookUp(in: environment).line == "server_api_key_rejected") }
            let calls = bench.production.requests.count + bench.sandbox.requests.count
            #expect(calls == (environment == nil ? 2 : 1))
            #expect(
                bench.client.pausedKeys.count == calls
                    && Set(bench.client.pausedKeys.map(\.keyID)) == [Samples.key.keyID])
            #expect(bench.logs.lines.filter { $0.hasPrefix("error") }.count == calls)
        }
    }

    @Test func `401 from the sandbox alone pauses nothing`() async throws {
        try await ServerAPIBench.run(production: { _ in .error(4_040_010) }, sandbox: { _ in .unauthorized }) { bench in
            #expect(await bench.lookUp().line == "server_api_key_rejected")
            #expect(bench.client.pausedKeys.isEmpty)
        }
    }

    @Test func `while the key is paused at production, no ID is unknown`() async throws {
        try await ServerAPIBench.run(production: { _ in .unauthorized }, sandbox: { _ in .error(4_040_010) }) { bench in
            #expect(await bench.lookUp(in: .production).line == "server_api_key_rejected")
            #expect(await bench.lookUp().line == "server_api_key_rejected")
            #expect(bench.sandbox.requests.count == 1)
        }
    }

    @Test func `a history is kept if its statuses fail`() async throws {
        let isDown = Atomic(true)
        let script: LocalServer.Script = { request in
            if request.head.uri.contains("revision") { return .page([], revision: "a") }
            guard request.head.uri.contains("/subscriptions/") else {
                return .page([Samples.transaction()], revision: "a")
            }
            return isDown.load(ordering: .relaxed) ? .error(4_040_002) : .statuses()
        }
        try await ServerAPIBench.run(sandbox: script) { bench in
            #expect(await bench.lookUp(in: .sandbox).line == "upstream_unavailable")
            isDown.store(false, ordering: .relaxed)
            #expect(await bench.lookUp(in: .sandbox).answer?.transactions.count == 1)
            #expect(bench.sandbox.requests.contains { $0.head.uri.contains("revision=a") })
        }
    }

    @Test func `401 from production alone means an app that is not released`() async throws {
        try await ServerAPIBench.run(production: { _ in .unauthorized }, sandbox: { _ in .error(4_040_010) }) { bench in
            #expect(await bench.lookUp().line == "transaction_not_found")
            #expect(bench.client.pausedKeys.isEmpty)
        }
    }

    // MARK: - Doubts

    @Test func `an answer about others is a contradiction`() async throws {
        try await ServerAPIBench.run(sandbox: { _ in .page([Samples.item("7")]) }) { bench in
            #expect(await bench.lookUp("8", in: .sandbox).line == "upstream_contradiction")
            #expect(bench.events.lines.contains("contradicted sandbox other_transaction"))
        }
    }

    @Test(arguments: [("2000000090000002", true), ("2000000090000003", false)])
    func `an answer about a copy of the evidence's purchase is about its customer`(item: String, isTied: Bool)
        async throws
    {
        var purchase = Transaction(productID: "com.example.forge.monthly", transactionID: "8")
        (purchase.webOrderLineItemID, purchase.productType) = (item, .autoRenewableSubscription)
        let ties = PurchaseTies([purchase])
        try await ServerAPIBench.run(sandbox: Self.host(.sandbox)) { bench in
            let found = await bench.lookUp("8", in: .sandbox, ties: ties)
            #expect((found.answer != nil) == isTied)
            #expect(bench.events.lines.contains("contradicted sandbox other_transaction") != isTied)
        }
    }

    @Test func `an empty history is genuine for an app transaction ID`() async throws {
        let script: LocalServer.Script = { request in
            request.head.uri.contains("appTransactions") ? .appTransactionInfo() : .page([])
        }
        try await ServerAPIBench.run(sandbox: script) { bench in
            let answer = try #require(await bench.lookUp(Samples.appTransactionID, in: .sandbox).answer)
            #expect(answer.transactions.isEmpty && answer.environment == .sandbox)
            #expect(await bench.lookUp("8", in: .sandbox).line == "upstream_contradiction")
        }
    }

    @Test func `an empty history without an app transaction is no customer's`() async throws {
        let script: LocalServer.Script = { request in
            request.head.uri.contains("appTransactions") ? .error(4_040_019) : .page([])
        }
        try await ServerAPIBench.run(sandbox: script) { bench in
            #expect(await bench.lookUp("8", in: .sandbox).line == "transaction_not_found")
        }
    }

    @Test func `a history without its statuses is no answer`() async throws {
        for (status, result) in [
            (Answer.error(4_040_010), "upstream_unavailable"), (.unauthorized, "server_api_key_rejected"),
        ] {
            try await ServerAPIBench.run(
                sandbox: { $0.head.uri.contains("/subscriptions/") ? status : .page([Samples.transaction()]) }
            ) { bench in
                #expect(await bench.lookUp(in: .sandbox).line == result)
                #expect(bench.client.pausedKeys.isEmpty)
            }
        }
    }

    @Test(arguments: ["", "abc", "1/2", "1%2F2"])
    func `an ID of another form is not asked about`(_ id: String) async throws {
        try await ServerAPIBench.run { bench in
            #expect(await bench.lookUp(id).line == "transaction_id_invalid")
            #expect(bench.production.requests.isEmpty)
        }
    }

    @Test func `a previous original names its chain`() async throws {
        let migrated = Samples.item("7") { $0.previousOriginalTransactionID = "6" }
        try await ServerAPIBench.run(sandbox: { _ in .page([migrated]) }) { bench in
            #expect(await bench.lookUp("6", in: .sandbox).answer?.transactions.map(\.transactionID) == ["7"])
        }
    }
}
