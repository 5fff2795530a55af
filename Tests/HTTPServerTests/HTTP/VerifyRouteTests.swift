// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import ServerTestSupport
@testable import Settings

/// `RawRequestTests` has the methods and the paths.
@Suite("POST /v1/verify", .timeLimit(.patient))
struct VerifyRouteTests {
    private var gateway: RunningGateway { .current }
    private static let body = #"{"receipt":"AQID"}"#

    @Test(
        .gateway { $0.http.hostNames = HostNames(["x", "x.example"]) },
        arguments: ["/", "http://x.example", "http://x.example?/v1/verify"])
    func `the root has a health check and nothing else`(target: String) async throws {
        let answer = try await gateway.post(target, body: Self.body)
        #expect(answer?.status == 405 && answer?.headers["allow"] == "GET, HEAD, OPTIONS")
    }

    @Test(
        .gateway,
        arguments: [
            ("application/json", 200), ("Application/JSON; charset=UTF-8", 200), ("application/json;x=y", 200),
            ("application/json; charset=\"utf-8\"", 200), ("application/json; charset=latin1", 415),
            ("text/json", 415), ("application/jsonx", 415), ("application/x-www-form-urlencoded", 415), ("", 415),
        ])
    func `only JSON in UTF-8 is read`(contentType: String, status: Int) async throws {
        let fields = contentType.isEmpty ? [] : ["Content-Type: \(contentType)"]
        let answer = try await gateway.ask("POST /v1/verify", fields, body: Self.body)
        #expect(answer?.status == status)
    }

    @Test(
        .gateway,
        arguments: [
            (#"{"receipt":"A"}"#, "base64_missing_padding", "receipt"),
            (#"{"receipt":"A!=="}"#, "base64_invalid_character", "receipt"),
            (#"{"receipt":"A\/-_"}"#, "base64_url_alphabet", "receipt"),
            (#"{"receipt":""}"#, "base64_empty", "receipt"),
            (#"{"receipt":"AQID","device_identifier":"zz"}"#, "base64_missing_padding", "device_identifier"),
            (#"{"receipt":"AQID","receipt":"AQID"}"#, "duplicate_field", "receipt"),
            (#"{"receipt":"AQID","extra":1}"#, "unknown_field", "extra"), ("{", "truncated", nil),
        ])
    func `a fault in the body is named with its field`(body: String, fault: String, field: String?) async throws {
        let answer = try await gateway.post("/v1/verify", body: body)
        #expect(answer?.status == 400)
        #expect(answer?.headers["content-type"] == "application/problem+json")
        #expect(answer?.body.contains(#""fault":"\#(fault)""#) == true, "\(answer?.body ?? "")")
        if let field { #expect(answer?.body.contains(#""field":"\#(field)""#) == true) }
    }

    @Test(.gateway) func `an escaped receipt and a UUID are read`() async throws {
        let body = #"{"receipt":"AQ\/D","device_identifier":"00112233-4455-6677-8899-aabbccddeeff"}"#
        let answer = try await gateway.post("/v1/verify", body: body)
        #expect(answer?.status == 200)
    }

    @Test func `keys give access to their apps only`() async throws {
        let key = APIKey.random()
        try await RunningGateway.withClient(key, "apps: [com.example.a]") { gateway in
            let right = ["Authorization: Bearer \(key.exposed)"]
            let own = #"{"receipt":"AQID","bundle_id":"com.example.a"}"#
            let answer = try await gateway.post("/v1/verify", right, body: own)
            #expect(answer?.status == 200)
            let foreign = #"{"receipt":"AQID","bundle_id":"com.example.b"}"#
            let refusal = try await gateway.post("/v1/verify", right, body: foreign)
            #expect(refusal?.status == 403)
        }
    }

    @Test func `every wrong key gets the same response, and no key is logged`() async throws {
        let key = APIKey.random()
        try await RunningGateway.withClient(key, "apps: '*'") { gateway in
            var bodies: Set<String> = []
            for field in ["X-Other: 1", "Authorization: Bearer \(key.exposed)x", "X-API-Key: rgk_0.secret"] {
                let answer = try await gateway.post("/v1/verify", [field, "X-Request-Id: same"], body: "no JSON")
                #expect(answer?.status == 401)
                #expect(answer?.headers["www-authenticate"]?.hasPrefix("Bearer") == true)
                bodies.insert(answer?.body ?? "")
            }
            #expect(bodies.count == 1)
            #expect(gateway.log.containing(key.secret.exposed).isEmpty)
            #expect(gateway.log.containing(#""problem":"unauthenticated""#).count == 3)
        }
    }

    @Test(.gateway) func `a request has one log line, without its query`() async throws {
        let answer = try await gateway.post("/v1/verify?token=secret", ["X-Request-Id: abc-1"], body: Self.body)
        #expect(answer?.headers["x-request-id"] == "abc-1")
        let lines = gateway.log.containing(#""request_id":"abc-1""#)
        #expect(lines.count == 1)
        for member in [#""route":"/v1/verify""#, #""status":200"#, #""verdict":"#, #""client":"loopback""#] {
            #expect(lines.first?.contains(member) == true)
        }
        #expect(gateway.log.containing("secret").isEmpty)
    }

    @Test(.gateway, arguments: ["", "bad id", "x\u{7F}", String(repeating: "x", count: 65)])
    func `an invalid request ID is replaced`(identifier: String) async throws {
        let answer = try await gateway.post("/v1/verify", ["X-Request-Id: \(identifier)"], body: Self.body)
        #expect(answer?.headers["x-request-id"] != identifier)
        #expect([nil, 32].contains(answer?.headers["x-request-id"]?.count))
    }
}
