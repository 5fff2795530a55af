// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealServers
import Testing
import TestSupport

extension FleetTests {
    /// A node whose clock is suddenly wrong by an hour, stepped by Tests/WallClock.
    @Suite(.serialized, .timeLimit(.patient)) struct ClockTests {
        @Test(arguments: [3600, -3600])
        func `the clock of one node is stepped by an hour, and no limit is left open`(step: Int64) async throws {
            let redis = try await RealServer.redis()
            let clock = try MovedClock(in: ScratchFolder())
            var plan = Fleet.plan(redisURL: "redis://127.0.0.1:\(redis.port)")
            plan.settingsOfFirst = clock.settings
            try await withFleet(plan) { fleet in
                // The age of the simulator's answers follows its clock. The stepped node may misjudge it, but must not
                // announce that to the others.
                try await fleet.expectSurvival(
                    of: "clock stepped by \(step) s", excess: LimitExcess(), isNoticed: false, receiptsFrom: 0
                ) { _ in
                    try clock.move(to: step)
                    try await eventually("the node lives in another hour") {
                        let answer = try await fleet.nodes[0].running.verify(
                            Sample.receipt(1), key: fleet.key(of: Fleet.free))
                        let date = try #require(answer.headers["date"].flatMap(Self.date(of:)))
                        return abs(abs(date.timeIntervalSinceNow) - 3600) < 60
                    }
                }
            }
            redis.kill()
        }

        private static func date(of field: String) -> Date? {
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(identifier: "GMT")
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
            return format.date(from: field)
        }
    }
}
