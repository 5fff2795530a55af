// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Endpoints
internal import Customers
internal import Gateway
internal import RedisStore
internal import ServiceLifecycle
internal import Settings

extension EventRouteSettings {
    init(_ configuration: GatewayConfiguration) {
        self.init(
            isStored: configuration.redis.url != nil || configuration.notifications.allowsVolatile,
            keepsSignedData: configuration.events.keepsSignedData)
    }
}

/// Ends the waits of event readers at the shutdown, before the data plane waits for their connections.
struct EventWatcherService: Service {
    let watcher: EventWatcher

    func run() async throws {
        defer { watcher.stop() }
        try? await gracefulShutdown()
    }
}
