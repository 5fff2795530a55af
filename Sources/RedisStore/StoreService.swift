// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Redis
internal import ServiceLifecycle

/// Runs the connections to Redis: connects before the first request, probes and sends heartbeats, and leaves last.
struct StoreService: Service {
    let client: any RedisClient
    /// The store that requests use.
    let store: SharedStore
    let health: StoreHealth
    let events: StoreEvents
    let registry: NodeRegistry
    let fleetState: RedisFleetState
    let purges: RedisPurges
    /// The maximum time the first connection delays readiness.
    let waitLimit: Duration

    /// The interval between probes.
    static let probeInterval: Duration = .milliseconds(500)
    /// The minimum time between two exchanges of the fleet's state.
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

    /// Reads the fleet's state before the node becomes ready, if Redis answers in time.
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
        while (try? await Task.sleep(for: Self.probeInterval)) != nil {
            await store.probe()
            guard lastBeat.duration(to: .now) >= NodeRegistry.Limits.beat else { continue }
            lastBeat = .now
            await registry.beat()
            // For changes that were not announced.
            events.refreshSignal.fire()
            purges.announce()
        }
    }

    private func exchangeUpdates() async {
        for await _ in events.refreshSignal.firings {
            await fleetState.exchange()
            // Limits the rate of exchanges.
            try? await Task.sleep(for: Self.pause)
        }
    }
}
