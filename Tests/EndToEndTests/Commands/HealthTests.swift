// SPDX-License-Identifier: Apache-2.0

import Foundation
import LoopbackPorts
import RealServers
import Testing
import TestSupport

/// The health check of a container.
@Suite(.timeLimit(.patient)) struct HealthTests {
    @Test func `a gateway is alive and ready, and only the address of its admin plane is needed`() async throws {
        // After the gateway has ended, no other process listens there.
        let admin = try ReservedPort()
        let gateway = try await RunningGateway(["GATEWAY_ADMIN_PORT": "\(admin.number)"])
        let settings = [
            "GATEWAY_ADMIN_PORT": "\(gateway.adminPort)", "GATEWAY_ADMIN_HOST": "0.0.0.0",
            // A gateway would not start with these.
            "GATEWAY_API_KEY_PEPPER_FILE": "/nowhere", "GATEWAY_REDIS_URL": "nonsense", "GATEWAY_HTTP_PRT": "1",
        ]
        let alive = try await Program.gateway.run(["health"], environment: settings)
        #expect(alive.status == 0 && alive.output == "alive\n", "\(alive)")
        let ready = try await Program.gateway.run(["health", "--ready"], environment: settings)
        #expect(ready.status == 0 && ready.output == "ready\n", "\(ready)")
        #expect(await gateway.stop() == 0)
        let gone = try await Program.gateway.run(["health"], environment: settings)
        #expect(
            gone.status == 1 && gone.output.contains("no process listens on 127.0.0.1:\(admin.number)"), "\(gone)")
    }

    @Test func `a gateway that is alive and not ready gives the reason`() async throws {
        let redis = try await RealServer.redis(["--requirepass", "right"])
        let gateway = try await RunningGateway([
            "GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)", "GATEWAY_CACHE_KEYS": Fleet.cacheKeys,
        ])
        let settings = ["GATEWAY_ADMIN_PORT": "\(gateway.adminPort)"]
        try await eventually("it knows that Redis refuses it") {
            let ready = try await Program.gateway.run(["health", "--ready"], environment: settings)
            return ready.status == 1 && ready.output.hasPrefix("not ready: HTTP 503: ")
                && ready.output.contains("Redis") && ready.output.split(separator: "\n").count == 1
        }
        #expect(try await Program.gateway.run(["health"], environment: settings).status == 0)
        #expect(await gateway.stop() == 0)
    }

    @Test func `a process that does not answer is not alive, and a wrong port is a wrong configuration`() async throws {
        let redis = try await RealServer.redis()
        redis.freeze()
        let frozen = try await Program.gateway.run(["health"], environment: ["GATEWAY_ADMIN_PORT": "\(redis.port)"])
        redis.thaw()
        #expect(frozen.status == 1 && frozen.output.contains("no answer from"), "\(frozen)")
        let wrong = try await Program.gateway.run(["health"], environment: ["GATEWAY_ADMIN_PORT": "many"])
        #expect(wrong.status == 78 && wrong.errors.contains("GATEWAY_ADMIN_PORT"), "\(wrong)")
    }
}
