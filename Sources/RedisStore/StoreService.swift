// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Redis
internal import ServiceLifecycle

/// Connects to Redis before anybody asks, watches it behind everybody's back, and leaves when nobody asks any more.
struct StoreService: Service {
    /// The connections.
    let client: RedisClient
    /// What requests use.
    let store: SharedStore
    let health: StoreHealth
    let events: StoreEvents
    let registry: NodeRegistry
    let fleetState: RedisFleetState
    let purges: RedisPurges
    /// How long the first connection may keep this node from being ready.
    let waitLimit: Duration

    /// How often Redis is asked for a sign of life.
    static let pulse: Duration = .milliseconds(500)
    /// The least between two exchanges of notes.
    static let pause: Duration = .milliseconds(100)

    func run() async throws {
        client.start()
        await cancelWhenGracefulShutdown {
            await begin()
            await withDiscardingTaskGroup { group in
                group.addTask { await watch() }
                group.addTask { await exchangeUpdates() }
                group.addTask { await purges.follow() }
            }
        }
        await registry.leave()
        await client.shutdown()
    }

    /// A node that is ready knows what the fleet knows, if Redis tells in time.
    private func begin() async {
        _ = await events.firstAttempt.value(waitLimit: waitLimit, Timeouts())
        await store.probe()
        await registry.beat()
        await fleetState.exchange()
        await purges.catchUp()
        health.settle()
    }

    private func watch() async {
        var lastBeat = ContinuousClock.now
        while (try? await Task.sleep(for: Self.pulse)) != nil {
            await store.probe()
            guard lastBeat.duration(to: .now) >= NodeRegistry.Limits.beat else { continue }
            lastBeat = .now
            await registry.beat()
            // For whatever was not announced.
            events.alarm.ring()
            purges.announce()
        }
    }

    private func exchangeUpdates() async {
        for await _ in events.alarm.rings {
            await fleetState.exchange()
            // However often somebody rings.
            try? await Task.sleep(for: Self.pause)
        }
    }
}
