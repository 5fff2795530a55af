// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TestSupport

@testable import Gateway
@testable import Resilience
@testable import ServerTestSupport

/// The budget of an app's calls to the App Store Server API, in a fleet, by the hours of a real Redis.
@Suite(.serialized, .timeLimit(.patient))
struct ServerAPIBudgetTests {
    /// The clock of Redis and of the nodes. Five seconds pass when the test says so.
    private final class StepClock: Sendable {
        let file: URL
        private let step = Mutex<Int64>(0)

        init() throws {
            file = FileManager.default.temporaryDirectory.appending(path: "clock-\(UUID().uuidString)")
            try write(0)
        }

        deinit { try? FileManager.default.removeItem(at: file) }

        var now: Instant { .now + .seconds(step.withLock(\.self)) }

        func advance() throws {
            try write(
                step.withLock { step in
                    step += 5
                    return step
                })
        }

        private func write(_ step: Int64) throws {
            // Atomically: an empty file would set the clock back.
            try Data("\(step)".utf8).write(to: file, options: .atomic)
        }

        /// The variables of a process with this clock; the library steps what it reads of the wall clock.
        var environment: [String: String] {
            get throws {
                let library = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
                    .appending(path: "libWallClock.so").path
                try #require(FileManager.default.fileExists(atPath: library), "build the product WallClock")
                return ["LD_PRELOAD": library, "WALL_CLOCK_STEP": file.path]
            }
        }
    }

    /// The calls that were granted between two steps of the clock.
    private struct Step {
        let start: Instant
        var end: Instant
        var granted = 0
    }

    private static let share = 0.9
    private static let nodes = 3

    private static func bucket(of operation: ServerAPIOperation) -> RateBucket {
        let allowed = Double(3600 * operation.requestsPerSecond) * share
        let quota = Int(allowed * 60 / 61)
        let policy = RatePolicy(
            name: operation.rawValue, quota: quota, window: .seconds(3600), burst: max(1, quota / 60), isLeased: false)
        return RateBucket(client: "", policy: policy, subject: "server_api:production:com.example.shop")
    }

    /// Lets a node ask until it is refused.
    /// - Returns: the number of calls it may make.
    private static func spend(_ charges: [RateCharge], of node: FleetRateLimiter, atOnce: Int) async -> Int {
        var granted = 0
        while true {
            let admissions = await withTaskGroup(of: RateAdmission.self) { group in
                for _ in 0..<atOnce { group.addTask { await node.admit(charges) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(!admissions.contains { $0.isDegraded })
            let admitted = admissions.count(where: \.isAdmitted)
            granted += admitted
            if admitted < atOnce { return granted }
        }
    }

    @Test(arguments: [(ServerAPIOperation.massExtendRenewalDates, 4), (.testNotification, 1)])
    func `three nodes that ask all the time get an app's budget of an hour, and never more, whatever restarts`(
        operation: ServerAPIOperation, atOnce: Int
    ) async throws {
        let clock = try StepClock()
        let fleet = try await RedisFleet(nodes: 0, environment: clock.environment)
        try await fleet.use {
            func node() -> FleetRateLimiter {
                FleetRateLimiter(fleet.buckets, liveNodes: { Self.nodes }, clock: { clock.now })
            }
            let charges = [RateCharge(Self.bucket(of: operation))]
            var nodes = (0..<Self.nodes).map { _ in node() }
            var steps: [Step] = []
            // A little more than an hour.
            for number in 0..<800 {
                // A node is away for a minute, and comes back without a memory.
                if number == 372 { nodes[0] = node() }
                let away = (360..<372).contains(number) ? 0 : nil
                var step = Step(start: clock.now, end: clock.now)
                for turn in 0..<Self.nodes where (number + turn) % Self.nodes != away {
                    step.granted += await Self.spend(charges, of: nodes[(number + turn) % Self.nodes], atOnce: atOnce)
                }
                step.end = clock.now
                steps.append(step)
                try clock.advance()
            }
            Self.check(steps, operation)
        }
    }

    /// Checks each hour against Apple's limit and the share of it.
    private static func check(_ steps: [Step], _ operation: ServerAPIOperation) {
        let allowed = Double(3600 * operation.requestsPerSecond) * share
        let policy = bucket(of: operation).policy
        var first = 0, granted = 0, largest = 0, firstHour = (granted: 0, length: 0.0)
        for last in steps.indices {
            granted += steps[last].granted
            while steps[first].start.duration(to: steps[last].end) > .seconds(3600) {
                granted -= steps[first].granted
                first += 1
            }
            largest = max(largest, granted)
            if first == 0 { firstHour = (granted, steps[0].start.duration(to: steps[last].end) / .seconds(3600)) }
        }
        #expect(Double(largest) <= allowed, "\(largest) of \(allowed)")
        // The first hour begins with a full bucket. No later one has that. Like the last hour it has whole steps, and is
        // shorter if the machine stood still.
        let filled = Double(policy.burst) + Double(policy.quota) * firstHour.length
        #expect(Double(firstHour.granted) >= 0.99 * filled, "\(firstHour) of \(filled)")
        // The last hour has what arrives in it. It begins with a whole step, which is a long one if the machine stood still.
        let hours = steps.last.map { steps[first].start.duration(to: $0.end) / .seconds(3600) } ?? 0
        let arriving = Double(policy.quota) * hours
        #expect(first > 0 && Double(granted) >= 0.99 * arriving, "\(granted) of \(arriving)")
    }
}
