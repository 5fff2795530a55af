// SPDX-License-Identifier: Apache-2.0

import LoopbackPorts
import NIOCore
import Receipts
import Testing
import TestSupport

@testable import AppleSimulator

/// One item over each limit.
struct LimitTests {
    private static let request = ReceiptRequest(
        [], verifier: ReceiptVerifier(), now: Timestamp(millisecondsSince1970: 0))

    private static func name(_ number: Int) -> Fingerprint {
        Fingerprint(of: Array(String(number).utf8).span)
    }

    @Test func `the cache drops what was not used recently`() {
        var cache = RecentCache<Fingerprint, ReceiptRequest>(maximumBytes: 20 * 1024)
        var wasAlwaysThere = true
        for number in 0..<100 {
            cache.insert(Self.request, Self.name(number), byteCount: 1024)
            wasAlwaysThere = wasAlwaysThere && cache.value(Self.name(0), byteCount: 1024) != nil
        }
        #expect(wasAlwaysThere && cache.count <= 20)
        #expect(cache.value(Self.name(1), byteCount: 1024) == nil)
    }

    @Test func `distinct receipts are counted up to the limit`() {
        let counter = StatsCounter(maximumDistinctReceipts: 2)
        for number in [1, 2, 3, 1] { counter.begin(at: .sandbox, Self.name(number), outcome: "status_0") }
        #expect(counter.stats == Stats(production: 0, sandbox: 4, distinctReceipts: 2))
    }

    @Test(.timeLimit(.patient))
    func `one connection over the limit is closed`() async throws {
        let store = try TestStore().store
        let connections = Connections(maximumConnections: 1)
        let responder = RequestResponder(store: store, endpoint: .production)
        let server = try await LoopbackServer.start(at: ReservedPort(), connections) { channel in
            try ListenerPair.setUp(channel, responder, nil)
        }
        let url = "http://127.0.0.1:\(server.port)/verifyReceipt"
        let (first, firstExchange) = try await Wire(url).open()
        // Each connection is admitted on an event loop of its own: the second could overtake the first.
        try await eventually("the first is open") { store.stats.details.openConnections > 0 }
        let (_, secondExchange) = try await Wire(url).open()
        #expect(try await secondExchange.get().text.isEmpty)
        try await first.writeAndFlush(
            ByteBuffer(string: "GET /stats HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
        #expect(try await firstExchange.get().status == 200)
        await server.stop()
        await connections.closeAll()
    }
}
