// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The log of events: `GET /v1/events`, and webhooks.
package struct EventsConfiguration: Hashable, Sendable {
    package var retention = EventRetention(maximumCount: 100_000, maximumAge: .seconds(7 * 86_400))
    package var rules = EventRules()

    package init() {}
}

/// The settings of the events that changes make.
package struct EventRules: Hashable, Sendable {
    /// True to keep what Apple signed with each event, for those who request it.
    package var keepsSignedData = false
    /// The time after the end of a period at which a subscription without other news counts as expired.
    package var expiryDelay: Duration = .seconds(3600)

    package init() {}
}
