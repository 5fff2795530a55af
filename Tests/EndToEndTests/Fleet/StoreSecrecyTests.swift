// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import Testing
import TestSupport

@testable import LoadTest

extension FleetTests {
    /// The contents of the store, as an attacker would read them.
    @Suite(.serialized, .timeLimit(.patient)) struct StoreSecrecyTests {
        @Test func `no receipt, secret, app, transaction or client can be read in Redis`() async throws {
            // Without compression, so that the search finds plain text.
            let redis = try await RealServer.redis(["--rdbcompression", "no"])
            var plan = Fleet.Plan(redisURL: "redis://127.0.0.1:\(redis.port)")
            let policies = FleetLimits.one(1000, in: 3600, isLeased: false) + "    may: [purge]\n"
            plan.clients = [("a-client-of-mine", policies)]
            plan.scenario = "stories: {default: renewed}"
            // A busy machine must not look like a fault.
            plan.settings = [
                "GATEWAY_REDIS_DEADLINE": Patience.operationSetting,
                "GATEWAY_APPLE_SOFT_TIMEOUT": Patience.operationSetting,
                "GATEWAY_APPLE_DEADLINE": Patience.operationSetting,
            ]
            try await withFleet(plan) { fleet in
                for number in 0..<20 {
                    for node in fleet.nodes.indices {
                        let verdict = try await fleet.verify(Sample.receipt(number), at: node, as: "a-client-of-mine")
                        #expect(verdict.isApples, "\(verdict)")
                    }
                }
                let purge = try await fleet.nodes[0].running.purge(
                    Sample.transactionID(0), key: fleet.key(of: "a-client-of-mine"))
                #expect(purge.status == 200)
                let dump = try await Self.dump(of: redis)
                // There is data, and the search finds it.
                let kinds = ["rc:12:", "gw:{purges}:log", "rl:{"]
                for kind in kinds { #expect(dump.range(of: Data(kind.utf8)) != nil, "\(kind)") }
                let key = try #require(fleet.keys["a-client-of-mine"])
                for word in Self.secrets(key) { #expect(dump.range(of: Data(word.utf8)) == nil, "\(word)") }
                for piece in Self.pieces(of: Sample.receipt(0)) { #expect(dump.range(of: piece) == nil) }
            }
            redis.kill()
        }

        private static func secrets(_ key: String) -> [String] {
            let half = key.split(separator: ".").last.map(String.init) ?? key
            return [
                Sample.secret, Sample.bundleID, Sample.transactionID(0), Sample.transactionID(7), "a-client-of-mine",
                key,
                half,
                "monthly", "genuine", "active", "original_transaction_id",
            ]
        }

        /// Returns pieces such that any 47 consecutive bytes of the receipt contain one, raw or in base64.
        private static func pieces(of receipt: String) -> [Data] {
            let bytes = Data(base64Encoded: receipt) ?? Data()
            return pieces(of: bytes) + pieces(of: Data(receipt.utf8))
        }

        private static func pieces(of bytes: Data) -> [Data] {
            stride(from: 0, to: bytes.count - 24, by: 24).map { bytes.dropFirst($0).prefix(24) }
        }

        /// Returns all data in Redis.
        private static func dump(of redis: RealServer) async throws -> Data {
            let file = redis.folder.appending(path: "everything.rdb")
            let outcome = try await Program.named.run(["redis-cli", "-p", "\(redis.port)", "--rdb", file.path])
            try #require(outcome.status == 0, "\(outcome.errors)")
            return try Data(contentsOf: file)
        }
    }
}
