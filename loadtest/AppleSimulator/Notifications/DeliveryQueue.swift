// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// One notification on its way.
struct Delivery: Sendable {
    let app: AppInStore
    let body: NotificationBody
    /// Its number in the log; nil for version 1, which has no history.
    let entry: Int64?
    let schedule: RetrySchedule
    /// The number of the next attempt, counted from 1.
    var attempt = 1

    /// Returns the next attempt, and the wait until then; nil after the last one.
    var retry: (delivery: Delivery, wait: Duration)? {
        guard let wait = schedule.wait(afterAttempt: attempt) else { return nil }
        var next = self
        next.attempt += 1
        return (next, wait)
    }
}

/// The body of a notification.
enum NotificationBody: Hashable, Sendable {
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

/// The attempts in flight, up to a number of them, and those that wait for a place.
struct DeliveryQueue: Sendable {
    private var waiting = CircularBuffer<Delivery>()
    private(set) var inFlight = 0
    private let maximumInFlight: Int

    init(maximumInFlight: Int) {
        self.maximumInFlight = maximumInFlight
    }

    /// The number of attempts in flight and before.
    var count: Int { waiting.count + inFlight }

    /// Adds an attempt, and returns it if it starts at once.
    mutating func add(_ delivery: Delivery) -> Delivery? {
        guard inFlight < maximumInFlight else {
            waiting.append(delivery)
            return nil
        }
        inFlight += 1
        return delivery
    }

    /// Ends an attempt, and returns the next one that starts.
    mutating func finish() -> Delivery? {
        inFlight -= 1
        return waiting.popFirst().flatMap { add($0) }
    }

    /// Drops the attempts that wait.
    mutating func removeWaiting() {
        waiting.removeAll()
    }
}
