// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The decision whether an endpoint is sent events now: it is paused when several fail in a row, then probed with one.
struct EndpointHealth: Sendable {
    enum Limits {
        /// The different events that fail in a row until the endpoint is paused.
        static let failures = 5
        static let shortestPause: Duration = .seconds(1)
        static let longestPause: Duration = .seconds(60)
        static let doublings = 6
    }

    enum Permit: Hashable, Sendable {
        case all
        /// One event, to find out whether the endpoint is back.
        case probe
        case none
    }

    /// The events that failed since the last answer. One event alone says nothing about the endpoint.
    private var failed: Set<String> = []
    private var pausedUntil: Timestamp?
    private var failedProbes = 0
    private var isProbing = false

    var isPaused: Bool { pausedUntil != nil }

    func permit(at now: Timestamp) -> Permit {
        guard let end = pausedUntil else { return .all }
        // The clock may have been set back.
        let isOver = end <= now || now.advanced(by: DeliverySchedule.Limits.retryAfter) < end
        return isOver && !isProbing ? .probe : .none
    }

    mutating func beginProbe() { isProbing = true }

    /// Records the end of a probe that sent nothing.
    /// - Parameter time: the time of the next probe.
    mutating func abandonProbe(until time: Timestamp) {
        isProbing = false
        if isPaused { pausedUntil = time }
    }

    /// Records an answer that shows that the endpoint works. During a pause only the answer to the probe counts: other
    /// answers may have been on their way before.
    mutating func recordAnswer(isProbe: Bool) {
        guard isProbe || !isPaused else { return }
        self = EndpointHealth()
    }

    /// Records a failure of the endpoint.
    /// - Parameter retryAfter: the time for which the endpoint requested a pause.
    mutating func recordFailure(
        of eventID: String, isProbe: Bool, retryAfter: Duration?, at now: Timestamp,
        using generator: inout some RandomNumberGenerator
    ) {
        guard isProbe || !isPaused else { return }
        isProbing = false
        failed.insert(eventID)
        guard isProbe || retryAfter != nil || failed.count >= Limits.failures else { return }
        let backoff = Limits.shortestPause * (1 << min(failedProbes, Limits.doublings))
        let pause = min(backoff, Limits.longestPause) * Double.random(in: 0.5...1, using: &generator)
        let requested = min(retryAfter ?? .zero, DeliverySchedule.Limits.retryAfter)
        pausedUntil = now.advanced(by: max(pause, requested))
        failedProbes += 1
        failed = []
    }
}

extension DeliveryFault {
    /// True if the fault is the endpoint's, and the next event would meet it too.
    var isOfEndpoint: Bool { self != .rejected && self != .gone }
}
