// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import ArgumentParser
import Foundation
import NIOCore
import ReceiptForge
import Receipts
import Testing

@testable import LoadTest

/// The requests of a run: forms, shares and order.
struct TrafficTests {
    // MARK: - Mixes

    @Test func `a mix names shares that make a whole`() throws {
        let mix = try #require(
            RequestMix(argument: "repeat=0.9,fresh=0.05,malformed=0.02,forged=0.02,near-expiry=0.01"))
        #expect(mix[.repeated] == 0.9 && mix[.nearExpiry] == 0.01 && mix.byName.count == 5)
        #expect(RequestMix(argument: "forged=0.25")?[.repeated] == 0.75)
        #expect(RequestMix(argument: "fresh=1")?.byName == ["fresh": 1])
        let refused = [
            "", "repeat", "repeat=2", "repeat=0.5", "new=1", "fresh=-1,repeat=2", "fresh=1,fresh=0", "fresh=nan",
        ]
        for text in refused { #expect(RequestMix(argument: text) == nil, "\(text)") }
    }

    @Test func `kinds come in their shares`() throws {
        let mix = try #require(RequestMix(argument: "repeat=0.5,fresh=0.3,forged=0.2"))
        var generator = SplitMix64(seed: 1), counts: [RequestKind: Int] = [:]
        for _ in 0..<10_000 { counts[mix.kind(at: generator.fraction()), default: 0] += 1 }
        #expect(Set(counts.keys) == [.repeated, .fresh, .forged])
        for (kind, count) in counts { #expect(abs(Double(count) / 10_000 - mix[kind]) < 0.02) }
        #expect(mix.kind(at: 0.999_999_999_999) == .forged)
    }

    // MARK: - Keys

    @Test(arguments: [0.0, 0.5, 1, 1.5])
    func `keys come as often as Zipf's law says`(exponent: Double) {
        let popularity = KeyPopularity(keys: 50, exponent: exponent)
        var generator = SplitMix64(seed: 2), counts = [Int](repeating: 0, count: 50)
        for _ in 0..<200_000 { counts[popularity.key(at: generator.fraction())] += 1 }
        let weights = (1...50).map { pow(Double($0), -exponent) }, sum = weights.reduce(0, +)
        for (count, weight) in zip(counts, weights) {
            #expect(abs(Double(count) / 200_000 - weight / sum) < 0.005)
        }
    }

    @Test func `every number falls on a key`() {
        for exponent in [0.0, 1] {
            let popularity = KeyPopularity(keys: 3, exponent: exponent)
            #expect(popularity.key(at: 0) == 0 && popularity.key(at: 1.0.nextDown) == 2)
        }
    }

    // MARK: - Receipts

    private static let pki = TestBench.pki

    private static func form() throws -> RequestForm {
        RequestForm(
            target: try LoadTarget("http://h:1/v1/verify"), mode: .local,
            fields: [HeaderField(name: "content-type", value: "a/b")])
    }

    private static func pools() async throws -> ReceiptPools {
        let factory = ReceiptFactory(pki, seed: 3, form: try form(), bodyBytes: 8192)
        var pools = ReceiptPools(repeated: await factory.repeated(4) { _ in })
        pools.fresh = await factory.fresh(6) { _ in }
        pools.nearExpiry = await factory.nearExpiry(2, after: Date(timeIntervalSince1970: 1_780_000_000), seconds: 60) {
            _ in
        }
        return pools
    }

    /// The receipt that a whole request carries, in base64.
    private static func receipt(_ request: ByteBuffer) throws -> String {
        let body = try #require(String(buffer: request).split(separator: "\r\n\r\n").last)
        let rest = try #require(body.split(separator: #"{"receipt":""#).last)
        return String(try #require(rest.split(separator: "\"").first))
    }

    @Test func `a request is whole and about as large as it should be`() async throws {
        let request = try await Self.pools().repeated[0]
        let text = String(buffer: request.bytes)
        let parts = text.split(separator: "\r\n\r\n")
        #expect(parts.count == 2 && parts[1].hasSuffix(#"","mode":"local"}"#))
        #expect(parts[0].contains("Content-Length: \(parts[1].utf8.count)") && parts[0].contains("Host: h:1"))
        #expect(parts[0].contains("content-type: a/b") && !parts[0].contains("Content-Type"))
        #expect((7400...9000).contains(parts[1].utf8.count))
        let range = request.receipt
        #expect(request.bytes.getString(at: range.lowerBound, length: range.count) == (try Self.receipt(request.bytes)))
    }

    @Test(arguments: [(1, 5000...6500), (8192, 7400...9000), (40_000, 39_000...41_000)])
    func `the number of purchases follows the size`(bytes: Int, range: ClosedRange<Int>) async throws {
        let factory = ReceiptFactory(Self.pki, seed: 3, form: try Self.form(), bodyBytes: bytes)
        let body = try #require(
            String(buffer: await factory.repeated(1) { _ in }[0].bytes).split(separator: "\r\n\r\n").last)
        #expect(bytes == 1 ? factory.purchases == 0 : range.contains(body.utf8.count))
    }

    @Test(arguments: [
        ("repeat=1", "genuine"), ("fresh=1", "genuine"), ("near-expiry=1", "genuine"), ("forged=1", "forged"),
        ("malformed=1", "malformed"),
    ])
    func `each kind is what it says`(mix: String, expected: String) async throws {
        let pools = try await Self.pools()
        var traffic = ReceiptTraffic(
            pools, try #require(RequestMix(argument: mix)), KeyPopularity(keys: 4, exponent: 0), worker: 0, of: 1,
            seed: 1)
        var trusted = TrustStore(anchors: [])
        try trusted.add(pem: Self.pki.rootPEM, environments: [.sandbox])
        let verifier = ReceiptVerifier(trustStore: trusted)
        var seen: Set<String> = []
        for _ in 0..<6 {
            let text = try Self.receipt(traffic.next())
            seen.insert(text)
            #expect(Self.judge(text, verifier) == expected)
        }
        // What is forged or damaged is never the same again.
        let distinct = ["repeat=1": 1...4, "near-expiry=1": 2...2][mix] ?? 6...6
        #expect(distinct.contains(seen.count))
    }

    // MARK: - Customers

    /// The body of the next request.
    private static func body(_ traffic: inout ReceiptTraffic) throws -> [String: Any] {
        let body = try #require(String(buffer: traffic.next()).split(separator: "\r\n\r\n").last)
        return try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
    }

    private static func customerTraffic(_ mix: String, zipf: Double = 0) throws -> ReceiptTraffic {
        let target = try LoadTarget("http://h:1/v1/verify"), customers = SimulatedCustomers(5, at: UTCDate(2026, 1, 1))
        var pools = ReceiptPools(repeated: [])
        func form(_ content: RequestForm.Content) -> RequestForm {
            RequestForm(target: target, mode: .apple, fields: [], content: content)
        }
        var customerPools = CustomerPools(customers, .ofFleets, zipf: zipf, form)
        customerPools.addReceipts(of: customers, pki, form)
        pools.customers = customerPools
        return ReceiptTraffic(
            pools, try #require(RequestMix(argument: mix)), KeyPopularity(keys: 0, exponent: 0), worker: 0, of: 1,
            seed: 4)
    }

    @Test func `requests about customers have a signed transaction, a known ID, or an unknown ID`() throws {
        let customers = SimulatedCustomers(5, at: UTCDate(2026, 1, 1))
        let known = Set((0..<5).map(customers.transactionID))
        #expect(known.count == 5)
        var identified = try Self.customerTraffic("known-id=1"), signed = try Self.customerTraffic("signed=1")
        var unknown = try Self.customerTraffic("unknown-id=1"), unknownIDs: Set<String> = []
        for _ in 0..<20 {
            let body = try Self.body(&identified)
            #expect(known.contains(try #require(body["transaction_id"] as? String)))
            #expect(body["bundle_id"] as? String == SimulatedCustomers.bundleID && body["mode"] as? String == "apple")
            let items = try #require(try Self.body(&signed)["signed_transactions"] as? [String])
            let transactionID = try Self.transactionID(items[0])
            #expect(items.count == 1 && known.contains(transactionID))
            unknownIDs.insert(try #require(try Self.body(&unknown)["transaction_id"] as? String))
        }
        #expect(unknownIDs.count == 20 && unknownIDs.isDisjoint(with: known))
        #expect(unknownIDs.allSatisfy { $0.count == 16 && $0.hasPrefix("9") })
    }

    @Test func `customers' receipts come in both forms`() throws {
        var own = try Self.customerTraffic("customer-receipt=1"), apples = try Self.customerTraffic("verify-receipt=1")
        let first = String(buffer: own.next()), second = String(buffer: apples.next())
        #expect(first.hasPrefix("POST /v1/verify ") && second.hasPrefix("POST /verifyReceipt "))
        var trusted = TrustStore(anchors: [])
        try trusted.add(pem: Self.pki.rootPEM, environments: [.production])
        let verifier = ReceiptVerifier(trustStore: trusted)
        let body = try Self.body(&own), receipt = try #require(body["receipt"] as? String)
        #expect(body["mode"] as? String == "apple" && Self.judge(receipt, verifier) == "genuine")
        let form = try Self.body(&apples), same = try #require(form["receipt-data"] as? String)
        #expect(form.count == 1 && Self.judge(same, verifier) == "genuine")
    }

    /// The transaction ID in a JWS.
    private static func transactionID(_ jws: String) throws -> String {
        var payload = String(try #require(jws.split(separator: ".").dropFirst().first))
        payload = payload.replacing("-", with: "+").replacing("_", with: "/")
        payload += String(repeating: "=", count: (4 - payload.count % 4) % 4)
        let claims = try JSONSerialization.jsonObject(with: try #require(Data(base64Encoded: payload)))
        return try #require((claims as? [String: Any])?["transactionId"] as? String)
    }

    @Test func `popular customers are asked about more often`() throws {
        var traffic = try Self.customerTraffic("known-id=1", zipf: 3), counts: [String: Int] = [:]
        for _ in 0..<200 { counts[try #require(try Self.body(&traffic)["transaction_id"] as? String), default: 0] += 1 }
        let first = SimulatedCustomers(5, at: UTCDate(2026, 1, 1)).transactionID(0)
        #expect(try #require(counts[first]) > 120)
    }

    @Test func `of a mix without receipts none are made`() throws {
        #expect(RequestMix(argument: "signed=0.5,unknown-id=0.5")?.sendsRepeated == false)
        #expect(RequestMix(argument: "signed=0.5,forged=0.5")?.sendsRepeated == true)
        #expect(RequestMix(argument: "signed=1")?.sendsCustomers == true && !RequestMix.repeated.sendsCustomers)
    }

    @Test(arguments: [("signed=1", false), ("known-id=1", true), ("repeat=1", true)])
    func `signed transactions for a server elsewhere are those of a corpus`(mix: String, isEnough: Bool) throws {
        let command = try HTTPCommand.parse(["http://h", "--mix", mix])
        #expect(((try? command.traffic.checkAuthority()) != nil) == isEnough)
        let some = try HTTPCommand.parse(["http://h", "--mix", mix, "--corpus", "receipts"])
        try some.traffic.checkAuthority()
    }

    // MARK: - Verdicts

    private static func judge(_ text: String, _ verifier: ReceiptVerifier) -> String {
        guard let receipt = Data(base64Encoded: text) else { return "malformed" }
        do throws(ReceiptError) {
            _ = try verifier.verify(Array(receipt), at: Timestamp(millisecondsSince1970: 1_795_000_000_000))
            return "genuine"
        } catch {
            return error.rule == .signatureInvalid ? "forged" : "malformed"
        }
    }

    @Test func `a worker's sequence follows from the seed and its number`() async throws {
        let pools = try await Self.pools()
        let mix = try #require(RequestMix(argument: "repeat=0.5,fresh=0.2,malformed=0.1,forged=0.1,near-expiry=0.1"))
        func requests(_ worker: Int, _ seed: UInt64) -> [ByteBuffer] {
            var traffic = ReceiptTraffic(
                pools, mix, KeyPopularity(keys: 4, exponent: 1), worker: worker, of: 2, seed: seed)
            return (0..<50).map { _ in traffic.next() }
        }
        #expect(requests(0, 1) == requests(0, 1))
        #expect(requests(0, 1) != requests(1, 1))
        #expect(requests(0, 1) != requests(0, 2))
    }

    @Test func `workers do not send each other's fresh receipts, and begin again at the end`() async throws {
        let pools = try await Self.pools()
        let mix = try #require(RequestMix(argument: "fresh=1"))
        let sent = (0..<2).map { worker in
            var traffic = ReceiptTraffic(
                pools, mix, KeyPopularity(keys: 4, exponent: 0), worker: worker, of: 2, seed: 1)
            return (0..<4).map { _ in traffic.next() }
        }
        #expect(Set(sent[0]).count == 3 && Set(sent[1]).count == 3 && Set(sent[0]).isDisjoint(with: sent[1]))
        #expect(sent[0][3] == sent[0][0])
    }

    @Test func `the same seed makes the same receipts`() async throws {
        let (one, two) = (try await Self.pools(), try await Self.pools())
        #expect(
            one.repeated.map(\.bytes) == two.repeated.map(\.bytes) && one.fresh.map(\.bytes) == two.fresh.map(\.bytes))
        #expect(Set(one.repeated.map(\.bytes)).union(one.fresh.map(\.bytes)).count == 10)
    }
}
