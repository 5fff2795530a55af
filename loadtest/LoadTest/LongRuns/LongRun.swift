// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// A command that measures for minutes with programs of its own. It ends them also on ^C.
protocol LongRunCommand: AsyncParsableCommand, Sendable {
    /// Measures, writes the results, and returns the exit status.
    func measure() async throws -> Int32
}

extension LongRunCommand {
    func run() async throws {
        ProgressStream.warnOfDebugging()
        let status = try await Interruptible.run { [self] in try await measure() }
        if status != 0 { throw ExitCode(status) }
    }
}

/// The steps that long runs share: work that is repeated meanwhile, and waits for a condition.
enum LongRun {
    /// Repeats work at intervals while the body runs, and cancels it then.
    ///
    /// - Parameter work: receives the time since the beginning, and is repeated until it throws.
    static func meanwhile<Value: Sendable>(
        every interval: Duration, _ work: @escaping @Sendable (Duration) async throws -> Void,
        _ body: () async throws -> Value
    ) async rethrows -> Value {
        let start = ContinuousClock.now
        let repeating = Task {
            while true {
                try await work(ContinuousClock.now - start)
                try await Task.sleep(for: interval)
            }
        }
        defer { repeating.cancel() }
        return try await body()
    }

    /// Looks again and again until the condition holds, or the time is over.
    ///
    /// - Returns: the time until then; nil if the time was over.
    static func wait(
        atMost longest: Duration, every interval: Duration, until isDone: () async throws -> Bool
    ) async throws -> Duration? {
        let start = ContinuousClock.now
        repeat {
            if try await isDone() { return ContinuousClock.now - start }
            try await Task.sleep(for: interval)
        } while ContinuousClock.now - start < longest
        return nil
    }
}

extension RunningFleet {
    /// Kills the gateways in turn, and starts each again, at intervals until it is cancelled.
    ///
    /// - Returns: the number of kills.
    func killGateways(every interval: Duration) async throws -> Int {
        var count = 0
        while (try? await Task.sleep(for: interval)) != nil {
            // Carried through, so that no gateway is missing afterwards.
            let number = count % adminPorts.count + 1
            try await Task { try await self.restartGateway(number, isCrash: true) }.value
            count += 1
        }
        return count
    }

    /// The bytes that Redis uses for its data.
    var redisMemory: Int {
        get async throws {
            let reply = try await redis?.send(["INFO", "memory"]) ?? ""
            let line = reply.split(whereSeparator: \.isNewline).first { $0.hasPrefix("used_memory:") }
            guard let number = line.flatMap({ Int($0.drop { !$0.isNumber }) }) else {
                throw FleetError.redis(said: reply)
            }
            return number
        }
    }
}
