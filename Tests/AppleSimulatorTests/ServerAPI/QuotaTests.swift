// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// Apple's hourly limits.
struct QuotaTests {
    @Test(arguments: [
        (APIOperation.transactionHistory, 180_000, 18_000), (.setAppAccountToken, 72_000, 7200),
        (.refundHistory, 36_000, 3600), (.testNotification, 3600, 360),
    ])
    func `the sandbox has a tenth of the limits`(operation: APIOperation, production: Int, sandbox: Int) {
        #expect(operation.requestsPerHour(at: .production) == production)
        #expect(operation.requestsPerHour(at: .sandbox) == sandbox)
    }

    @Test func `one call over the limit is refused until the oldest is an hour old`() throws {
        // 18 history calls of 18,000.
        let store = try TestStore("server_api_limits: {share: 0.001}", knowing: Samples.receipt(), at: .sandbox)
        for _ in 0..<9 { #expect(try store.call("v2/history/1000", at: .sandbox).status == 200) }
        store.clock.advance(bySeconds: 100)
        for _ in 0..<9 { #expect(try store.call("v2/history/1000", at: .sandbox).status == 200) }
        let refused = try store.call("v2/history/1000", at: .sandbox)
        #expect(refused.status == 429 && refused.errorCode == 4_290_000)
        let retry = Samples.start.advanced(bySeconds: 3600).secondsSince1970 * 1000
        #expect(refused.headers["Retry-After"] == String(retry))
        #expect(try store.call("v1/transactions/1000", at: .sandbox).status == 200, "each operation has its limit")
        store.clock.advance(bySeconds: 3499)
        #expect(try store.call("v2/history/1000", at: .sandbox).status == 429)
        store.clock.advance(bySeconds: 1)
        for _ in 0..<9 { #expect(try store.call("v2/history/1000", at: .sandbox).status == 200) }
        #expect(try store.call("v2/history/1000", at: .sandbox).status == 429)
    }

    @Test func `without limits the calls are counted all the same`() throws {
        let store = try TestStore(knowing: Samples.receipt())
        for _ in 0..<5 { _ = try store.call("v2/history/1000") }
        store.clock.advance(bySeconds: 3600)
        for _ in 0..<3 { _ = try store.call("v2/history/1000") }
        _ = try store.call("v2/history/1000", token: "none")
        let stats = store.store.statsWithServerAPI.serverApi
        #expect(stats.calls == ["production": ["transaction_history": ["http_200": 8, "http_401": 1]]])
        let quota = try #require(stats.quotas.first)
        #expect(quota.calls == 8 && quota.maximumPerHour == 5 && quota.refused == 0)
        #expect(quota.bundleId == TestStore.app && quota.environment == "production")
        store.store.resetStats()
        #expect(store.store.statsWithServerAPI == Stats())
    }

    @Test func `the hour slides`() {
        var hour = SlidingHour()
        let start: Int64 = 1_782_907_200
        for second in 0..<10_000 {
            _ = hour.count(limit: nil, at: Timestamp(millisecondsSince1970: (start + Int64(second)) * 1000))
        }
        #expect(hour.calls == 10_000 && hour.maximum == 3600 && hour.refused == 0)
    }

    @Test func `apps beyond the limit of counted quotas are served and not counted`() {
        var quotas = HourlyQuotas(maximumQuotas: 1)
        let now = Samples.start.timestamp
        for app in ["a", "b"] {
            let name = HourlyQuotas.Name(
                app: AppInStore(bundleID: app, endpoint: .sandbox), operation: .testNotification)
            #expect(quotas.count(name, share: 1, at: now) == nil)
        }
        #expect(quotas.counts.map(\.bundleId) == ["a"])
    }
}
