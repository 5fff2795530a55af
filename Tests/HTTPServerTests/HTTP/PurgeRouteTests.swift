// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOHTTP1
import Resilience
import Testing
import TestSupport

@testable import API
@testable import Clients
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport

@Suite("DELETE /v1/cache/transactions/{id}", .timeLimit(.patient))
struct PurgeRouteTests {
    private var gateway: RunningGateway { .current }

    @Test(
        .gateway,
        arguments: [
            ("DELETE /v1/cache/transactions/2000000123456789", 200), ("DELETE /v1/cache/transactions/0", 200),
            ("DELETE /v1/cache/transactions/12345678901234567890", 200),
            ("DELETE /v1/cache/transactions/704aB12345678901234567890123456z", 200),
            ("DELETE /v1/cache/transactions/704aB12345678901234567890123456zz", 400),
            ("DELETE /v1/cache/transactions/12-a", 400), ("DELETE /v1/cache/transactions/abc", 400),
            ("DELETE /v1/cache/transactions/%C3%A9", 400),
            ("DELETE /v1/cache/transactions/%D9%A1", 400), ("DELETE /v1/cache/transactions/*", 400),
            ("DELETE /v1/cache/transactions/", 404), ("DELETE /v1/cache/transactions", 404),
            ("DELETE /v1/cache/transactions/1/2", 404), ("GET /v1/cache/transactions/1", 405),
            ("POST /v1/cache/transactions/1", 405), ("OPTIONS /v1/cache/transactions/1", 204),
        ])
    func `an ID consists of letters and digits, with a digit`(line: String, status: Int) async throws {
        let answer = try await gateway.ask(line)
        #expect(answer?.status == status, "\(answer?.body ?? "")")
        if status == 200 { #expect(answer?.body == #"{"purged":"\#(line.split(separator: "/").last ?? "")"}"#) }
        if status == 405 { #expect(answer?.headers["allow"] == "DELETE, OPTIONS") }
        // The log must not contain the transaction.
        #expect(gateway.log.containing("2000000123456789").isEmpty)
    }

    @Test(arguments: [false, true]) func `a purge needs a permission`(isPermitted: Bool) async throws {
        let client = Client(name: "shop", apps: .all, keys: [], may: isPermitted ? [.purge] : [])
        let route = Route.purge(nil, charging: try .forTests())
        let context = try RequestContext.forTests(
            [:], .DELETE, "/v1/cache/transactions/1", in: RouteTable([route]), client: client)
        if isPermitted {
            let step = try route.handler(context, ReservedBody(nil, nil))
            #expect(try await step.value().status == .ok)
        } else {
            #expect(throws: Problem.rightMissing(.purge)) { try route.handler(context, ReservedBody(nil, nil)) }
        }
    }

    @Test func `a purge is charged, also one that is wrong`() async throws {
        let rate = RatePolicy(name: "rate", quota: 2, window: .seconds(3600))
        let client = Client(
            name: "shop", apps: .all, keys: [],
            limits: ClientLimits(policies: [ClientPolicy(subject: .client, rate: rate)]), may: [.purge])
        let route = Route.purge(nil, charging: try .forTests())
        for (id, isRefused) in [("1", false), ("wrong", true), ("1", true)] {
            let context = try RequestContext.forTests(
                [:], .DELETE, "/v1/cache/transactions/\(id)", in: RouteTable([route]), client: client)
            let reply = try? await route.handler(context, ReservedBody(nil, nil)).value()
            #expect((reply == nil) == isRefused, "\(id)")
        }
    }

    @Test func `an unreachable store gives 503 with Retry-After`() {
        let problem = Problem(StoreUnreachable())
        #expect(problem.status == .serviceUnavailable && problem.code == .storeUnreachable)
        #expect(problem.headerFields[.retryAfter] == "1")
    }
}
