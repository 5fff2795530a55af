// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// Tokens, and the answer to those that Apple rejects.
struct BearerTokenTests {
    private static let start = Samples.start.secondsSince1970

    private static func claims(
        iss: String = Samples.apiKey.issuerID, aud: String = "appstoreconnect-v1", bid: String? = TestStore.app,
        times: String = "\"iat\":\(start - 60),\"exp\":\(start + 240)"
    ) -> String {
        let app = bid.map { ",\"bid\":\"\($0)\"" } ?? ""
        return "{\"iss\":\"\(iss)\",\"aud\":\"\(aud)\",\(times)\(app)}"
    }

    private static func header(alg: String = "ES256", kid: String = Samples.apiKey.keyID) -> String {
        "{\"alg\":\"\(alg)\",\"kid\":\"\(kid)\",\"typ\":\"JWT\"}"
    }

    private static func token(_ header: String = header(), _ claims: String = claims()) -> String {
        Samples.apiKey.token(header: header, claims: claims)
    }

    private func status(_ token: String, _ yaml: String = "", at endpoint: Endpoint = .production) throws -> Int {
        let store = try TestStore(yaml, knowing: Samples.receipt(), at: endpoint)
        return try store.call("v1/transactions/1000", token: token, at: endpoint).status
    }

    @Test(arguments: [
        token(), token(header(), claims(times: "\"exp\":\(start + 3600)")),
        token(header(), claims(times: "\"iat\":\(start),\"exp\":\(start + 3600)")),
    ])
    func `a valid token is accepted`(token: String) throws {
        #expect(try status(token) == 200)
    }

    @Test(arguments: [
        token(header(alg: "none")), token(header(kid: "ABCDEFGHJK")), token("{\"alg\":\"ES256\"}"),
        token(header(), claims(iss: "69a6de70-0000-47e3-e053-5b8c7c11a4d1")), token(header(), claims(aud: "apple")),
        token(header(), claims(bid: nil)), token(header(), claims(times: "\"iat\":\(start - 60)")),
        token(header(), claims(times: "\"iat\":\(start - 300),\"exp\":\(start)")),
        token(header(), claims(times: "\"iat\":\(start + 1),\"exp\":\(start + 240)")),
        token(header(), claims(times: "\"iat\":\(start - 1),\"exp\":\(start + 3600)")),
        token(header(), claims(times: "\"exp\":\(start + 3601)")),
        token(header(), claims(times: "\"iat\":\"now\",\"exp\":\(start + 240)")),
        ForgedAPIKey(seed: 99).token(header: header(), claims: claims()), token() + "A", String(token().dropLast(4)),
        token().replacing(".", with: ""), "", token(header(), claims(bid: String(repeating: "a", count: 5000))),
    ])
    func `a wrong token is not`(token: String) throws {
        #expect(try status(token) == 401)
    }

    @Test func `a rejected call is answered with plain text`() throws {
        let store = try TestStore()
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/inApps/v1/transactions/1000")
        let reply = try store.call(head)
        #expect(reply.status == 401 && reply.text.hasPrefix("Unauthenticated\n") && reply.outcome == "http_401")
        #expect(reply.headers["Content-Type"] == "text/plain;charset=UTF-8")
    }

    @Test func `a key may be for some apps only`() throws {
        let clock = ManualClock()
        let store = try SimulatedStore(
            pki: Samples.pki, transactionPKI: Samples.transactionPKI,
            keys: [AcceptedKey(Samples.apiKey, bundleIDs: ["com.example.other"])], scenario: .healthy,
            limits: SimulatorLimits(), now: { clock.now })
        let statuses = try ["com.example.other", TestStore.app].map { app in
            var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/inApps/v1/transactions/1")
            let token = Samples.apiKey.token(bundleID: app, issuedAt: Samples.start)
            head.headers.add(name: "authorization", value: "Bearer \(token)")
            return store.response(to: try #require(APIRequest(head, body: [])), at: .sandbox).outcome
        }
        #expect(statuses == ["error_4040010", "http_401"])
    }

    @Test func `production refuses apps that were never released, and the sandbox does not`() throws {
        let yaml = "unreleased_apps: [\(TestStore.app)]"
        #expect(try status(Self.token(), yaml) == 401)
        #expect(try status(Self.token(), yaml, at: .sandbox) == 200)
    }

    @Test(arguments: [(-120.0, 401), (0, 200), (120, 200), (300, 401)])
    func `tokens are checked by the servers' clock, and answers dated by it`(skew: Double, status: Int) throws {
        let store = try TestStore("clock_skew_seconds: \(skew)", knowing: Samples.receipt())
        let reply = try store.call("v1/transactions/1000", token: Self.token())
        #expect(reply.status == status)
        let date = HTTPDate.text(store.clock.now.advanced(by: .seconds(skew)))
        #expect(reply.headers["Date"] == date)
    }

    @Test(arguments: [
        (784_111_777_000, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (1_782_907_200_000, "Wed, 01 Jul 2026 12:00:00 GMT"),
    ])
    func `a date is in the form of HTTP`(milliseconds: Int64, text: String) {
        #expect(HTTPDate.text(Timestamp(millisecondsSince1970: milliseconds)) == text)
    }
}
