// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ReceiptForge

/// The requests about the customers of one app. Customers open the app independently of each other, more by day than by
/// night. The numbers are assumptions; the report prints the first numbers, and the help has the last number.
struct CustomerTraffic {
    /// The times at which a customer opens the app on a day, on average.
    static let sessionsPerDay = 3.0
    /// The requests while the app is open.
    static let requestsPerSession = 4
    /// The mean time between two requests in seconds.
    static let secondsBetweenRequests = 60.0
    /// The share by which the busiest moment, at noon, exceeds the mean of the day.
    static let dayAmplitude = 0.8

    static var requestsPerDay: Double { sessionsPerDay * Double(requestsPerSession) }

    private struct Visit {
        let customer: Int
        /// The further requests of the session.
        let remaining: Int
    }

    private let customers: Int
    private var randomness: SplitMix64
    private var nextSession = 0.0
    private var followUps = EventQueue<Double, Visit>()

    init(customers: Int, seed: UInt64) {
        self.customers = customers
        randomness = SplitMix64(seed: seed, purpose: "customers")
        nextSession = timeOfSession(after: 0)
    }

    /// Returns the next request, and its time in seconds.
    mutating func next() -> (seconds: Double, customer: Int) {
        let (seconds, visit) = followUps.popFirst(upTo: nextSession) ?? beginSession()
        if visit.remaining > 0 {
            followUps.add(
                Visit(customer: visit.customer, remaining: visit.remaining - 1),
                at: seconds + randomness.gap(mean: Self.secondsBetweenRequests))
        }
        return (seconds, visit.customer)
    }

    private mutating func beginSession() -> (time: Double, event: Visit) {
        defer { nextSession = timeOfSession(after: nextSession) }
        let customer = randomness.index(below: customers)
        return (nextSession, Visit(customer: customer, remaining: Self.requestsPerSession - 1))
    }

    /// Returns the time of the next session: draws times at the highest rate, and drops a part (thinning).
    private mutating func timeOfSession(after seconds: Double) -> Double {
        let highest = 1 + Self.dayAmplitude
        let gap = 86_400 / (Double(customers) * Self.sessionsPerDay * highest)
        var time = seconds
        repeat {
            time += randomness.gap(mean: gap)
        } while randomness.fraction() * highest > 1 - Self.dayAmplitude * cos(2 * .pi * time / 86_400)
        return time
    }
}
