// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// One notification on its way.
struct NotificationDelivery: Sendable {
    let app: AppInStore
    let body: ByteBuffer
    /// Its number in the log; nil for version 1, which has no history.
    let entry: Int64?
    /// The waits between its attempts; none for one attempt.
    var waits: [Duration] = []
    /// The number of the next attempt, counted from 1.
    var attempt = 1

    /// Returns the next attempt, and the wait until then; nil after the last attempt.
    var retry: (delivery: NotificationDelivery, wait: Duration)? {
        guard attempt <= waits.count else { return nil }
        var next = self
        next.attempt += 1
        return (next, waits[attempt - 1])
    }
}

/// The attempts in flight, up to a maximum number, and the attempts that wait for a place.
struct SimulatedDeliveries: Sendable {
    private var waiting = CircularBuffer<NotificationDelivery>()
    private(set) var inFlight = 0
    private let maximumInFlight: Int

    init(maximumInFlight: Int) {
        self.maximumInFlight = maximumInFlight
    }

    /// The number of attempts in flight and before.
    var count: Int { waiting.count + inFlight }

    /// Adds an attempt, and returns it if it starts at once.
    mutating func add(_ delivery: NotificationDelivery) -> NotificationDelivery? {
        guard inFlight < maximumInFlight else {
            waiting.append(delivery)
            return nil
        }
        inFlight += 1
        return delivery
    }

    /// Ends an attempt, and returns the next attempt that starts.
    mutating func finish() -> NotificationDelivery? {
        inFlight -= 1
        return waiting.popFirst().flatMap { add($0) }
    }

    /// Drops the attempts that wait.
    mutating func removeWaiting() {
        waiting.removeAll()
    }
}
