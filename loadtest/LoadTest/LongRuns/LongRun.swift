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

/// The steps that long runs share: samples that are taken meanwhile, and waits for a condition.
enum LongRun {
    /// Takes samples at intervals, the first at once, until the body ends; each receives the time since the beginning.
    static func sampling<Sample: Sendable, Value>(
        every interval: Duration, _ sample: @escaping @Sendable (Duration) async -> Sample,
        while body: () async throws -> Value
    ) async rethrows -> (value: Value, samples: [Sample]) {
        let start = ContinuousClock.now
        let sampling = Task {
            var samples: [Sample] = []
            repeat {
                samples.append(await sample(ContinuousClock.now - start))
            } while (try? await Task.sleep(for: interval)) != nil
            return samples
        }
        defer { sampling.cancel() }
        let value = try await body()
        sampling.cancel()
        return (value, await sampling.value)
    }

    /// Looks again and again until the condition holds. Returns the time until then; nil if the time was over.
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
    /// Kills the gateways in turn, and starts each again, at intervals until it is cancelled. Returns the number of kills.
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
