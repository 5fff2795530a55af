// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealServers
import ReceiptForge
import Testing
import TestSupport

/// The price of what another writer leaves in Redis is its length too.
@Suite(.serialized, .timeLimit(.patient)) struct StoredValueCostTests {
    /// Puts a text into each key in the way of the key's type.
    private static let overwriting = """
        for _, key in ipairs(redis.call('KEYS', '*')) do
            local kind = redis.call('TYPE', key).ok
            if kind == 'string' then redis.call('SET', key, ARGV[1], 'KEEPTTL')
            elseif kind == 'list' then redis.call('LPUSH', key, ARGV[1])
            elseif kind == 'set' then redis.call('SADD', key, ARGV[1])
            elseif kind == 'zset' then redis.call('ZADD', key, 1, ARGV[1])
            elseif kind == 'stream' then redis.call('XADD', key, '*', 'e', ARGV[1])
            elseif kind == 'hash' then
                for _, field in ipairs(redis.call('HKEYS', key)) do redis.call('HSET', key, field, ARGV[1]) end
            end
        end
        return redis.call('DBSIZE')
        """

    @Test(arguments: [CostlyText.marks, .separators])
    func `the cost of a stored value grows with its length only`(_ text: CostlyText) async throws {
        let redis = try await RealServer.redis(), folder = try ScratchFolder(), key = try await APIKey()
        defer { redis.kill() }
        let clients =
            "clients:\n  - name: shop\n    apps: [\(Sample.bundleID)]\n    may: [ownership, purge]\n    keys:\n"
        let settings = [
            "GATEWAY_CLIENTS_FILE": try folder.write(clients + key.lines, to: "clients.yaml"),
            "GATEWAY_TRUST_ROOTS": try folder.write(Sample.pki.rootPEM, to: "root.pem") + "=Production",
            "GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)", "GATEWAY_CACHE_KEYS": Fleet.cacheKeys,
            "GATEWAY_REDIS_DEADLINE": Patience.operationSetting, "GATEWAY_LOG_REQUESTS": "none",
        ].merging(APIKey.pepper) { $1 }
        let gateway = try await RunningGateway(settings)
        try await CostComparison.expectLinearCost(of: [text], upTo: 64 << 10) { text, bytes in
            try redis.ask("FLUSHDB")
            try await Self.use(gateway, key.text)
            let keys = try redis.ask("EVAL", Self.overwriting, "0", String(decoding: text.bytes(bytes), as: UTF8.self))
            try #require(Int(keys) ?? 0 > 3, "\(keys)")
            let before = try gateway.cpuSeconds()
            try await Self.use(gateway, key.text)
            return try gateway.cpuSeconds() - before
        }
        #expect(await gateway.stop() == 0)
    }

    /// Sends requests that read every kind of value. Their answers depend on the values; none ends the gateway.
    private static func use(_ gateway: RunningGateway, _ key: String) async throws {
        let receipt = Sample.receipt(), id = Sample.transactionID(0)
        for account in ["one", "two"] { _ = try await gateway.verify(receipt, ["account": account], key: key) }
        let body = ["receipt": receipt, "mode": "apple"]
        for name in ["a", "b"] {
            _ = try await gateway.post(
                body, key: key, fields: ["Prefer": "respond-async", "Idempotency-Key": "\"\(name)\""])
        }
        for path in ["/v1/events", "/v1/verifications/ver_1"] {
            _ = try await gateway.get(path, port: gateway.dataPort, key: key)
        }
        _ = try await gateway.purge(id, key: key)
    }
}
