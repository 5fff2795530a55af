// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// One notification on its way.
struct NotificationDelivery: Sendable {
    let app: AppInStore
    let body: SentNotificationBody
    /// Its number in the log; nil for version 1, which has no history.
    let entry: Int64?
    let schedule: RetrySchedule
    /// The number of the next attempt, counted from 1.
    var attempt = 1

    /// Returns the next attempt, and the wait until then; nil after the last attempt.
    var retry: (delivery: NotificationDelivery, wait: Duration)? {
        guard let wait = schedule.wait(afterAttempt: attempt) else { return nil }
        var next = self
        next.attempt += 1
        return (next, wait)
    }
}

/// The body of a notification.
enum SentNotificationBody: Hashable, Sendable {
    /// Version 2: a JWS.
    case signed(String)
    /// Version 1, in JSON.
    case members([UInt8])

    var buffer: ByteBuffer {
        switch self {
        // A JWS needs no escape.
        case .signed(let jws): ByteBuffer(string: #"{"signedPayload":""# + jws + #""}"#)
        case .members(let json): ByteBuffer(bytes: json)
        }
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
