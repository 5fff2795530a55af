// SPDX-License-Identifier: Apache-2.0

import Customers
import Testing
import TestSupport

@testable import API
@testable import Clients
@testable import Settings

extension Trait where Self == SurroundingsTrait {
    /// A Redis as `NotificationStage.current`.
    static var redis: Self { .redis() }

    static func redis(_ options: String...) -> Self {
        SurroundingsTrait(NotificationStage.self) { try await NotificationStage.with(options, $0) }
    }

    /// A Redis for cached results as `StoreRedis.current`.
    static var cacheInRedis: Self { SurroundingsTrait(StoreRedis.self) { try await StoreRedis.with($0) } }

    /// A Redis with token buckets as `RedisFleet.current`, and one node.
    static var rateLimits: Self {
        SurroundingsTrait(RedisFleet.self) { test in
            let fleet = try await RedisFleet(nodes: 1)
            try await fleet.use { try await test(fleet) }
        }
    }

    /// A gateway as `RunningGateway.current`.
    static var gateway: Self { .gateway { _ in } }

    static func gateway(_ change: @escaping @Sendable (inout GatewayConfiguration) -> Void) -> Self {
        SurroundingsTrait(RunningGateway.self) { try await RunningGateway.with(change, $0) }
    }

    /// A listener for events as `EventSite.current`.
    static var eventSite: Self { .eventSite() }

    static func eventSite(
        maximumCount: Int = 100_000, limits: ClientLimits = ClientLimits(), answer: Duration = .seconds(3600),
        reading change: @escaping @Sendable (any EventLog) -> any EventLog = { $0 },
        settings: @escaping @Sendable (inout EventRouteSettings) -> Void = { _ in }
    ) -> Self {
        SurroundingsTrait(EventSite.self) {
            try await EventSite.with(
                maximumCount: maximumCount, limits: limits, answer: answer, reading: change, settings: settings, $0)
        }
    }
}

/// The adapters of a port. A suite about both tests each with `.redis`.
enum StoreKind: CaseIterable {
    case embedded, redis
}
