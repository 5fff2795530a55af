// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import Resilience
import Testing
import TestSupport

@testable import API
@testable import Clients
@testable import HTTPServer
@testable import ServerTestSupport

@Suite("POST /v1/erasures", .timeLimit(.patient))
struct ErasureRouteTests {
    private static func send(to route: Route, as name: String = "shop") async throws -> Reply {
        let client = Client(name: name, apps: .all, keys: [], may: [.erase])
        let context = try RequestContext.forTests(
            ["Content-Type": "application/json"], .POST, "/v1/erasures", in: RouteTable([route]), client: client)
        let body = ByteBuffer(string: #"{"bundle_id":"com.example.shop","original_transaction_ids":["1"]}"#)
        return try await route.handler(context, ReservedBody(body, nil)).value()
    }

    @Test func `a node erases one customer of each client at a time`() async throws {
        let store = PausingCustomerData()
        let erasure = Erasure([store], purge: ScriptedCustomerData(), indexes: [], states: nil) {
            (_, _) throws(StoreUnreachable) in []
        }
        let route = ErasureRoute(
            erasure, charging: try .forTests(), observe: { _ in },
            logger: Logger(label: "test")
        ).route
        async let first = Self.send(to: route)
        await store.untilErasing()
        let problem = await #expect(throws: Problem.self) { try await Self.send(to: route) }
        #expect(problem?.status == .serviceUnavailable && problem?.code == .overloaded)
        #expect(problem?.headerFields[.retryAfter] == "10")
        // Another client has a place of its own.
        async let other = Self.send(to: route, as: "other")
        store.resume()
        #expect(try await first.status == .ok)
        #expect(try await other.status == .ok)
        let next = try await Self.send(to: route)
        #expect(next.status == .ok)
    }
}

/// A store whose erasures wait until they may go on.
private final class PausingCustomerData: CustomerDataStore {
    private let begun = AsyncStream<Void>.makeStream()
    private let resumed = AsyncStream<Void>.makeStream()

    func untilErasing() async { for await _ in begun.stream { return } }

    /// Lets this and all later erasures go on.
    func resume() { resumed.continuation.finish() }

    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        begun.continuation.yield()
        for await _ in resumed.stream {}
        return [:]
    }
}
