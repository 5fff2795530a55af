// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import ReceiptForge
import Testing
import TestSupport

@testable import LoadTest

extension FleetTests {
    /// Faults of Redis under load.
    @Suite(.serialized, .sharedStoreStage, .timeLimit(.patient)) struct StoreFaultTests {
        @Test(arguments: Array(StoreFault.all.enumerated()))
        func `every client gets an answer, no limit is left open, and the fleet recovers by itself`(
            number: Int, fault: StoreFault
        ) async throws {
            let stage = try #require(SharedStoreStage.current)
            try await stage.expectSurvival(of: fault, receiptsFrom: 100_000 * (number + 1))
        }
    }
}

extension FleetTests {
    /// A Redis that is not reachable at the start.
    @Suite(.serialized, .timeLimit(.patient)) struct StoreAbsenceTests {
        @Test func `gateways start without Redis, serve, and find it by themselves`() async throws {
            try await StoreStage.with(isThere: false) { stage in
                for node in stage.fleet.nodes {
                    let ready = try await node.running.get("/readyz", port: node.backend.adminPort)
                    #expect(ready.status == 200, "\(String(decoding: ready.body, as: UTF8.self))")
                }
                let absent = StoreFault(name: "absent at start", inject: { _ in })
                try await stage.expectSurvival(of: absent, receiptsFrom: 0, startsWhole: false)
            }
        }

        @Test func `a gateway that Redis refuses from the beginning is not ready, serves, and gives the reason`()
            async throws
        {
            let redis = try await RealServer.redis(["--requirepass", "right"])
            let folder = try ScratchFolder()
            let gateway = try await RunningGateway([
                "GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)", "GATEWAY_CACHE_KEYS": Fleet.cacheKeys,
                "GATEWAY_TRUST_ROOTS": try folder.write(Sample.pki.rootPEM, to: "root.pem") + "=Production",
            ])
            try await eventually("it knows that it is refused") {
                let answer = try await gateway.get("/readyz", port: gateway.adminPort)
                return try answer.status == 503 && answer.json["code"] as? String == "store_misconfigured"
            }
            let check = try await gateway.get("/", port: gateway.dataPort)
            #expect(try check.status == 503 && check.json["code"] as? String == "not_ready", "clients learn no reason")
            #expect(try APIDescription().faults(of: check, to: "GET", "/") == [])
            let answer = try await gateway.verify(Sample.receipt(0))
            #expect(try answer.status == 200 && answer.json["verdict"] as? String == "genuine")
            let status = await gateway.stop()
            #expect(status == 0)
            let line = gateway.transcript.lines.first { $0.contains("Redis is unavailable") }
            #expect(line?.contains(#""fault":"refused: NOAUTH Authentication required.""#) == true, "\(line ?? "")")
            redis.kill()
            withExtendedLifetime(folder) {}
        }
    }
}

extension StoreStage {
    /// Injects a fault of Redis under load, ends it, and checks the guarantees of the fleet.
    func expectSurvival(of fault: StoreFault, receiptsFrom first: Int, startsWhole: Bool = true) async throws {
        try await fleet.expectSurvival(
            of: fault.name, excess: fault.excess, isNoticed: fault.isNoticed, receiptsFrom: first,
            startsWhole: startsWhole
        ) { log in
            let failures = try await fleet.storeFailures()
            try await fault.inject(self)
            switch fault.end {
            case .injection: break
            case .notice:
                try await fleet.noticesStoreFault(since: failures)
                try await log.reachMore(StoreFault.answers)
            case .answers: try await log.reachMore(StoreFault.answers)
            // Redis forgets nodes by its own clock, which no test can set.
            case .time(let time): try await Task.sleep(for: time)
            }
            try await fault.repair(self)
        }
    }
}
