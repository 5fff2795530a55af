// SPDX-License-Identifier: Apache-2.0

import Gateway
import HTTPTypes
import JSON
import NIOHTTP1
import Testing
import TestSupport

@testable import API
@testable import AppStore
@testable import HTTPServer
@testable import ServerTestSupport

/// Problems of the proxy are errors of Apple's for Apple's libraries.
@Suite("The problems of the proxy", .timeLimit(.patient))
struct AppleProxyProblemTests {
    @Test(arguments: [
        (HTTPMethod.GET, "v1/transactions/abc", 400, 4_000_006), (.GET, "v2/history/1-2", 400, 4_000_006),
        (.PUT, "v1/subscriptions/extend/abc", 400, 4_000_008),
        (.PUT, "v1/transactions/a/appAccountToken", 400, 4_000_008),
        (.GET, "v1/notifications/test/no%20token", 400, 4_000_020), (.GET, "v2/history/1?sort=%20", 400, 4_000_000),
        (.GET, "v2/history/1?sort=", 400, 4_000_021), (.GET, "v2/history/1?revoked=", 400, 4_000_030),
        (.GET, "v1/subscriptions/1?status=", 400, 4_000_031), (.GET, "v2/history/1?revision=", 400, 4_000_005),
        (.GET, "v2/history/1?startDate=1&startDate=2", 400, 4_000_015),
        (.GET, "v1/subscriptions/extend/mass/p/1", 400, 4_000_011), (.GET, "v2/history/1?colour=red", 400, 4_000_000),
        (.GET, "v1/messaging/default/p/a%2Fb", 400, 4_000_164), (.GET, "v3/history/1", 404, 4_040_000),
        (.POST, "v2/history/1", 405, 4_050_000), (.PUT, "v1/transactions/1/appAccountToken", 400, 4_000_000),
    ])
    func `a call that is not sent has Apple's code`(
        method: HTTPMethod, target: String, status: Int, code: Int64
    ) async throws {
        let site = try ProxySite()
        let reply = try await site.ask(method, target)
        try Self.expect(reply, status, code)
        #expect(site.calls.isEmpty)
    }

    @Test(
        arguments: [
            (.unauthorized(ServerAPIKeyFixture.key), 502, 5_000_000),
            (.unanswered(.upstreamBudget, retryAfter: .seconds(72)), 429, 4_290_000),
            (.unanswered(.upstreamTimeout), 504, 5_000_001), (.unanswered(.upstreamServerError), 503, 5_000_001),
            // An invitation to repeat a change that Apple may have carried out would be wrong.
            (.unanswered(.upstreamTimeout, mayHaveTakenEffect: true), 504, 5_000_000),
        ] as [(ServerAPIResult, Int, Int64)])
    func `a call without an answer has the code by which Apple invites to a retry, or not`(
        result: ServerAPIResult, status: Int, code: Int64
    ) async throws {
        let site = try ProxySite(answering: result)
        try Self.expect(try await site.ask(ProxyCall.changes[0]), status, code)
    }

    @Test(arguments: ServerAPIParameter.allCases)
    func `every parameter has a code of Apple's for a bad request`(parameter: ServerAPIParameter) throws {
        let fault = ServerAPICallFault.invalidQueryValue(parameter)
        let reply = Reply(asApple: fault.problem, requestID: "r-1")
        let code = try #require(try JSONValue(parsing: reply.body.bytes)["errorCode"]?.number?.integer)
        #expect(code / 10_000 == 400)
    }

    @Test(arguments: DegradedReason.allCases)
    func `every reason has a status with a label`(reason: DegradedReason) {
        for mayHaveTakenEffect in [false, true] {
            let problem = Problem.unanswered(reason, retryAfter: nil, mayHaveTakenEffect: mayHaveTakenEffect)
            #expect(CodeLabel(problem.status).rawValue != "other")
        }
    }

    /// The body is read as Apple's Python library reads it, and has all members of a problem.
    private static func expect(_ reply: Reply, _ status: Int, _ code: Int64) throws {
        #expect(reply.status.code == status && reply.fields[.contentType] == "application/json")
        let json = try JSONValue(parsing: reply.body.bytes)
        #expect(json["errorCode"]?.number?.integer == code, "\(reply.text)")
        #expect(json["errorMessage"]?.string == json["detail"]?.string && json["detail"] != nil)
        #expect(json["status"]?.number?.integer == Int64(status) && json["code"] != nil && json["request_id"] != nil)
    }
}
