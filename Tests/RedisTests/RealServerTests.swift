// SPDX-License-Identifier: Apache-2.0

import LoopbackPorts
import RealServers
import Redis
import Testing

struct RealServerTests {
    @Test func `a Redis is started, killed, and started again`() async throws {
        let redis = try await RealServer.redis()
        #expect(LoopbackPort.accepts(redis.port))
        redis.kill()
        #expect(!LoopbackPort.accepts(redis.port))
        try await redis.start()
        #expect(LoopbackPort.accepts(redis.port))
    }

    @Test func `a script has the SHA-1 digest of its source`() {
        #expect(RedisScript("return 1").digest == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")
    }
}
