// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// Customers that no verifyReceipt call named.
struct CustomerTests {
    private func base64(_ receipt: ReceiptContents, by pki: ForgedPKI = Samples.pki) -> String {
        ForgedEvidence.der(pki.sign(receipt)).base64
    }

    private func jws(_ edit: (inout TransactionContents) -> Void = { _ in }) -> String {
        var contents = TransactionContents()
        contents.bundleID = TestStore.app
        contents.environment = "Production"
        contents.signedDate = Samples.start.advanced(byDays: -1).timestamp
        contents.purchaseDate = Samples.start.advanced(byDays: -2).timestamp
        contents.expiresDate = Samples.start.advanced(byDays: 28).timestamp
        edit(&contents)
        return String(decoding: Samples.transactionPKI.jws(contents), as: UTF8.self)
    }

    private func register(_ store: TestStore, receipts: [String] = [], signed: [String] = []) throws -> Int {
        let body = try JSONSerialization.data(
            withJSONObject: ["receipts": receipts, "signed_transactions": signed], options: .sortedKeys)
        let evidence = try AccountEvidence(Array(body), limits: store.store.limits)
        return try evidence.register(in: store.store, store.store.controlContext(at: .production)).count
    }

    @Test func `a receipt makes its customer known`() throws {
        let store = try TestStore()
        #expect(try register(store, receipts: [base64(Samples.receipt())]) == 1)
        #expect(try store.call("v2/history/1000").transactionIDs == ["1000", "1001", "2000"])
    }

    @Test func `a signed transaction makes its customer known`() throws {
        let store = try TestStore()
        #expect(try register(store, signed: [jws { $0.appAccountToken = WriteTests.uuid }]) == 1)
        for id in ["2000000900000002", "2000000900000001", "700000000000000001"] {
            #expect(try store.call("v2/history/\(id)").transactionIDs == ["2000000900000002"])
        }
        let claims = try store.call("v1/transactions/2000000900000002").claims(of: "signedTransactionInfo")
        #expect(claims["appAccountToken"] as? String == WriteTests.uuid)
        #expect(claims["appTransactionId"] as? String == "700000000000000001")
    }

    @Test func `a signed app transaction makes a customer without purchases known`() throws {
        let store = try TestStore()
        var contents = AppTransactionContents()
        (contents.bundleID, contents.receiptType, contents.appAppleID) = (TestStore.app, "Production", 77)
        contents.receiptCreationDate = Samples.start.timestamp
        let text = String(decoding: Samples.transactionPKI.jws(contents), as: UTF8.self)
        #expect(try register(store, signed: [text]) == 1)
        let reply = try store.call("v2/history/700000000000000001")
        #expect(reply.status == 200 && reply.signed.isEmpty && reply.json["appAppleId"] as? Int == 77)
    }

    @Test func `signed transactions and receipts of one chain are one customer`() throws {
        let store = try TestStore()
        let renewal = jws {
            ($0.transactionID, $0.originalTransactionID, $0.appTransactionID) = ("1002", "1000", nil)
        }
        for _ in 0..<2 {
            #expect(try register(store, receipts: [base64(Samples.receipt())], signed: [renewal]) == 2)
            #expect(try store.call("v2/history/1001").transactionIDs.count == 4)
        }
        let latest = try store.know(Samples.receipt()).latest.compactMap { $0["transaction_id"] }
        #expect(Set(latest) == ["1000", "1001", "1002", "2000"] && store.store.customers.count == 1)
    }

    @Test func `an older receipt is answered with what a newer one showed`() throws {
        let store = try TestStore()
        let older = Samples.receipt()
        var newer = older
        newer.creationDate = older.creationDate.advanced(byDays: 1)
        newer.purchases.removeAll { $0.transactionID == "2000" }
        newer.purchases[0].transactionID = "1009"
        try store.know(newer)
        let latest = try store.know(older).latest.compactMap { $0["transaction_id"] }
        #expect(Set(latest) == ["1000", "1001", "1009"], "the consumable was finished in between")
        #expect(try store.call("v2/history/1000").transactionIDs.count == 4)
        #expect(try store.call("v1/history/1000").transactionIDs.count == 3)
    }

    @Test func `evidence that is not genuine is named`() throws {
        let store = try TestStore()
        let forged = base64(Samples.receipt(), by: Samples.stranger)
        #expect(throws: ControlError.notGenuine("receipts[1]")) {
            try register(store, receipts: [base64(Samples.receipt()), forged])
        }
        #expect(throws: ControlError.notGenuine("signed_transactions[0]")) {
            try register(store, signed: [jws() + "A"])
        }
        #expect(throws: ControlError.unknownName("receipt")) {
            try AccountEvidence(Array("{\"receipt\":[]}".utf8), limits: SimulatorLimits())
        }
    }

    @Test func `evidence and accounts are limited`() throws {
        var limits = SimulatorLimits()
        (limits.maximumEvidence, limits.maximumAccounts) = (2, 1)
        let store = try TestStore(limits: limits)
        #expect(throws: ControlError.tooMuchEvidence(maximum: 2)) {
            try register(store, receipts: ["", "", ""])
        }
        #expect(throws: ControlError.tooManyAccounts) {
            try register(store, receipts: [base64(Samples.receipt()), base64(Samples.collector(items: 1))])
        }
        #expect(try store.know(Samples.collector(items: 1)).status == 0, "verifyReceipt needs no account")
    }
}

/// Customers whose transaction IDs follow from their numbers.
struct PopulationTests {
    @Test func `each customer is found by the IDs of the formula`() throws {
        let store = try TestStore()
        try store.store.customers.add(Population.sample(count: 20))
        for number in 0..<20 {
            let id = AppleSimulator.transactionID(ofCustomer: number)
            #expect(id == String(2_000_001_000_000_000 + number * 1_000_000))
            let history = try store.call("v2/history/\(id)")
            let periods = history.transactions.filter { $0["expiresDate"] != nil }
            #expect(periods.count == 1 + number % 6)
            #expect(periods.allSatisfy { $0["originalTransactionId"] as? String == id })
            let app = try store.call("v1/transactions/appTransactions/\(id)").claims(of: "signedAppTransactionInfo")
            let appTransactionID = try #require(app["appTransactionId"] as? String)
            #expect(appTransactionID == "70" + id)
            #expect(try store.call("v2/history/\(appTransactionID)").transactionIDs == history.transactionIDs)
            let status = try store.call("v1/subscriptions/\(id)").statuses.first?.status
            #expect(status == (number % 5 == 4 ? 2 : 1))
        }
        #expect(store.store.customers.count == 20)
    }

    @Test(arguments: [
        ("2000000999999999", Endpoint.production), ("2000001000000077", .production),
        ("2000001020000000", .production), ("2000001000000000", .sandbox),
    ])
    func `other IDs are unknown`(id: String, endpoint: Endpoint) throws {
        let store = try TestStore()
        try store.store.customers.add(Population.sample(count: 20))
        #expect(try store.call("v2/history/\(id)", at: endpoint).errorCode == 4_040_010)
    }

    @Test func `stories are about populations, too`() throws {
        let store = try TestStore("stories: {default: renewed}")
        try store.store.customers.add(Population.sample(count: 2))
        let reply = try store.call("v2/history/2000001000000000")
        let newest = try #require(reply.transactionIDs.first { $0.hasSuffix("10000") })
        #expect(try store.call("v1/transactions/\(newest)").status == 200)
    }

    @Test(arguments: [
        ("{}", "'environment' is missing."), ("[]", "The body must be an object of JSON."),
        (body(count: "0"), "'count' takes a whole number from 1 to 10000000."),
        (body(environment: "test"), "'environment' takes production or sandbox."),
        (body(first: "0"), "'first_transaction_id' takes a whole number from 1 to 50000000000000000."),
        (body(first: "1,\"more\":1"), "'more' is unknown here."),
    ])
    func `a wrong request is explained`(body: String, text: String) {
        let error = #expect(throws: ControlError.self) {
            try Population(Array(body.utf8), limits: SimulatorLimits(), createdAt: Samples.start)
        }
        #expect(error?.description == text)
    }

    @Test func `populations may not overlap, and are limited`() throws {
        var limits = SimulatorLimits()
        limits.maximumPopulations = 2
        let registry = CustomerRegistry(limits: limits)
        try registry.add(Population.sample(count: 10))
        try registry.add(Population.sample(count: 10))
        #expect(throws: ControlError.overlapping) { try registry.add(Population.sample(count: 11)) }
        try registry.add(Population.sample(count: 11, at: .sandbox))
        let third = Population(
            app: AppInStore(bundleID: "c", endpoint: .sandbox), count: 1, firstTransactionID: 1,
            createdAt: Samples.start)
        #expect(throws: ControlError.tooManyPopulations(maximum: 2)) { try registry.add(third) }
    }

    @Test func `the control endpoints answer`() async throws {
        try await withApple { apple in
            let wire = Wire(apple.sandboxURL)
            let added = try await wire.ask("PUT", "/customers", Self.body(environment: "Production"))
            #expect(added.status == 200 && added.body.contains("\"stride\":1000000"))
            let receipt = ForgedEvidence.der(Samples.pki.sign(Samples.receipt())).base64
            let registered = try await wire.ask("PUT", "/accounts", "{\"receipts\":[\"\(receipt)\"]}")
            #expect(registered.status == 200 && registered.body == "{\"registered\":1}")
            let refused = try await wire.ask("PUT", "/accounts", "{\"receipts\":[\"AAAA\"]}")
            #expect(refused.status == 422 && refused.body.hasPrefix("receipts[0] is not genuine"))
            try apple.addCustomers(3, ofApp: "com.example.new", at: .sandbox)
            let token = Samples.apiKey.token(bundleID: TestStore.app, issuedAt: Samples.start)
            let exchange = try await wire.exchange(
                "GET /inApps/v1/transactions/1000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                    + "Authorization: Bearer \(token)\r\n\r\n")
            #expect(exchange.status == 404 && exchange.body.contains("4040010"), "the receipt is of production")
            #expect(exchange.values(of: "Date") == ["Wed, 01 Jul 2026 12:00:00 GMT"])
            #expect(apple.stats.serverApi.calls["sandbox"]?["transaction_info"] == ["error_4040010": 1])
        }
    }

    private static func body(
        count: String = "5", environment: String = "sandbox", first: String = "2000000000000000"
    ) -> String {
        "{\"bundle_id\":\"com.example.shop\",\"count\":\(count),\"environment\":\"\(environment)\","
            + "\"first_transaction_id\":\(first)}"
    }
}
