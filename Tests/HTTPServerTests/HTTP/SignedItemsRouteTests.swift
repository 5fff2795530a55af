// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Testing
import TestSupport

@testable import Clients
@testable import ServerTestSupport

/// Attacks over the route: evidence gets a verdict, a faulty request a problem.
@Suite("Attacks on POST /v1/verify", .timeLimit(.patient))
struct SignedItemsRouteTests {
    private typealias Samples = SignedSamples

    @Test func `every faulty JWS is answered 200 with the name of its rule`() async throws {
        try await Self.withGateway { gateway in
            let forge = JWSForge(pki: Samples.pki)
            for fault in JWSFault.allCases {
                let text = String(decoding: forge.evidence(with: fault), as: UTF8.self)
                let json = try await Self.answer(to: text, gateway)
                let (verdict, reason) = Self.expected(of: fault)
                #expect(json["verdict"] as? String == verdict, "\(fault)")
                #expect(json["reason"] as? String == reason, "\(fault)")
                #expect((json["explanation"] == nil) == (reason == nil), "\(fault)")
                #expect((json["transactions"] as? NSArray)?.count == 0 || verdict == "genuine", "\(fault)")
            }
            #expect(JWSFault.allCases.count > 100)
        }
    }

    /// Sends a JWS alone. A text that is not recognised as one by its beginning goes into a list.
    private static func answer(to jws: String, _ gateway: RunningGateway) async throws -> NSDictionary {
        let members: [String: Any] = jws.hasPrefix("eyJ") ? ["receipt": jws] : ["signed_transactions": [jws]]
        let answer = try await gateway.post("/v1/verify", body: Samples.body(members))
        #expect(answer?.status == 200, "\(answer?.body ?? "")")
        return try #require(answer?.body.jsonObject)
    }

    /// A genuine JWS of the other two kinds is no evidence by itself.
    private static func expected(of fault: JWSFault) -> (verdict: String, reason: String?) {
        let isEvidence = !fault.name.hasPrefix("renewal-info") && !fault.name.hasPrefix("notification")
        switch fault.expectedBelowOperatorsRoot {
        case .genuine where !isEvidence: return ("rejected", "payload_of_other_kind")
        case let expected: return (expected.verdict, expected.reason)
        }
    }

    @Test func `one bad of 200 is named`() async throws {
        try await Self.withGateway { gateway in
            var items = (0..<200).map { number in
                var contents = TransactionContents()
                contents.transactionID = "\(number)"
                return Samples.text(contents)
            }
            let all = try await gateway.post("/v1/verify", body: Samples.body(["signed_transactions": items]))
            #expect(all?.body.jsonObject?["verdict"] as? String == "genuine")
            items[137].removeLast(2)
            for partial in [false, true] {
                let body = try Samples.body(["signed_transactions": items, "partial": partial])
                let json = try #require(try await gateway.post("/v1/verify", body: body)?.body.jsonObject)
                #expect(json["verdict"] as? String == "rejected")
                let rejected = json["rejected_items"] as? [NSDictionary]
                #expect(rejected?.map { $0["index"] as? Int } == [137])
                #expect((json["transactions"] as? NSArray)?.count == (partial ? 199 : 0))
            }
        }
    }

    /// Some faults as a client sees them; `VerifyRequestBodyTests` has every fault.
    @Test(arguments: [
        (#"{"signed_transactions":[]}"#, "value_not_accepted", "signed_transactions"),
        (#"{"signed_renewal_infos":["x"]}"#, "missing_field", "receipt"),
        (#"{"signed_transactions":"x"}"#, "wrong_type", "signed_transactions"),
        (tooMany, "too_many_values", "signed_transactions"),
    ])
    func `a faulty request is a problem with its field`(body: String, fault: String, field: String) async throws {
        try await Self.withGateway { gateway in
            let answer = try await gateway.post("/v1/verify", body: body)
            #expect(answer?.status == 400 && answer?.headers["content-type"] == "application/problem+json")
            let problem = answer?.body.jsonObject
            #expect(problem?["code"] as? String == "invalid_body")
            #expect(problem?["fault"] as? String == fault && problem?["field"] as? String == field)
        }
    }

    private static let tooMany =
        #"{"signed_transactions":[\#(Array(repeating: #""x""#, count: 201).joined(separator: ","))]}"#

    @Test func `a client gets no verdict about another client's app`() async throws {
        let key = APIKey.random()
        try await RunningGateway.withClient(key, "apps: [com.example.a]", trusting: [Samples.pki.root.pem]) { gateway in
            let body = try Samples.body(["signed_transactions": [Samples.text(TransactionContents())]])
            for _ in 1...2 { #expect(try await gateway.post("/v1/verify", as: key, body: body)?.status == 403) }
        }
    }

    // MARK: - Steps

    /// Runs a gateway whose operator trusts the forge's root for what Apple's roots sign.
    private static func withGateway(_ body: (RunningGateway) async throws -> Void) async throws {
        try await RunningGateway.with(trusting: [Samples.pki.root.pem]) { try await body($0) }
    }
}
