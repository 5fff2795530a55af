// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A form of server notifications.
package enum NotificationVersion: Int64, CaseIterable, Hashable, Sendable {
    /// Members of JSON that are not signed, with a password.
    case one = 1
    /// A signed payload.
    case two
}

/// The waits between the attempts to deliver a notification.
struct RetrySchedule: Hashable, Sendable {
    private let waits: [Duration]

    /// - Parameter timeScale: the factor of Apple's waits.
    init(_ version: NotificationVersion, at endpoint: Endpoint, timeScale: Double) {
        let hours = endpoint == .production ? Self.hours(version) : []
        waits = hours.map { .seconds(3600 * $0) * timeScale }
    }

    private init() { waits = [] }

    /// One attempt, as in the sandbox and for a test.
    static let none = RetrySchedule()

    /// Returns the wait after a failed attempt, counted from 1; nil after the last attempt.
    func wait(afterAttempt number: Int) -> Duration? {
        waits.indices.contains(number - 1) ? waits[number - 1] : nil
    }

    /// "Responding to App Store Server Notifications": each wait begins at the previous attempt.
    private static func hours(_ version: NotificationVersion) -> [Double] {
        version == .one ? [6, 24, 48] : [1, 12, 24, 48, 72]
    }
}
