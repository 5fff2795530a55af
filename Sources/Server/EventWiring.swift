// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import API
internal import Customers
internal import Gateway
internal import RedisStore
internal import ServiceLifecycle
internal import Settings

extension EventRouteSettings {
    init(_ configuration: GatewayConfiguration) {
        self.init(
            isStored: configuration.redis.url != nil || configuration.notifications.allowsVolatile,
            keepsSignedData: configuration.events.rules.keepsSignedData)
    }
}

/// Ends the waits of requests at the shutdown, before the data plane waits for their connections.
struct StoreWatcherService<Interest: Sendable>: Service {
    let watcher: StoreWatcher<Interest>

    func run() async throws {
        defer { watcher.stop() }
        try? await gracefulShutdown()
    }
}
