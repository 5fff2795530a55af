// SPDX-License-Identifier: Apache-2.0

package import Redis
internal import Resilience
internal import ServiceLifecycle

/// Runs the connections to Redis: connects before the first request, probes and sends heartbeats, and leaves last.
struct StoreService: Service {
    /// The connections for verifications, and the connections for notifications.
    let clients: [any RedisClient]
    let store: SharedStore
    let health: StoreHealth
    let events: StoreEvents
    /// The registry of live nodes; nil for a command that is none.
    let registry: NodeRegistry?
    let fleetState: RedisFleetState
    let purges: RedisPurges
    /// The maximum time the first connection delays readiness.
    let waitLimit: Duration

    static let probeInterval: Duration = .milliseconds(500)
    /// The minimum time between two exchanges of the fleet's state.
    static let pause: Duration = .milliseconds(100)

    func run() async throws {
        for client in clients { client.start() }
        await cancelWhenGracefulShutdown {
            await begin()
            await withDiscardingTaskGroup { group in
                group.addTask { await watch() }
                group.addTask { await exchangeUpdates() }
                group.addTask { await purges.follow() }
            }
        }
        await registry?.leave()
        for client in clients { await client.shutdown() }
    }

    /// Reads the fleet's state before the node becomes ready, if Redis answers in time.
    private func begin() async {
        _ = await events.firstAttempt.value(waitLimit: waitLimit, Timeouts())
        await store.probe()
        await registry?.beat()
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
            await registry?.beat()
            // For changes that were not announced.
            events.refreshes.continuation.yield()
            purges.announce()
        }
    }

    private func exchangeUpdates() async {
        for await _ in events.refreshes.stream {
            await fleetState.exchange()
            // Limits the rate of exchanges.
            try? await Task.sleep(for: Self.pause)
        }
    }
}

/// The live nodes, in a sorted set by their last heartbeat. Redis sets the time, so that no node's clock matters.
package struct NodeRegistry: Sendable {
    let store: any RedisCommands
    let health: StoreHealth
    /// The name of this node, new at each start of the process.
    private let name = String.randomName()

    /// The set's key. It has no tracked prefix: each heartbeat would be announced to all nodes.
    static let key: RedisWord = "gw:nodes"

    enum Limits {
        static let beat: Duration = .seconds(2)
        /// The time without a heartbeat after which a node is dropped: three intervals and some delay.
        static let lifetimeMilliseconds = 7000
    }

    func beat() async {
        let reply = try? await store.run(Self.beat, keys: [Self.key], name, Limits.lifetimeMilliseconds)
        guard case .integer(let count)? = reply else { return }
        health.recordLiveNodes(Int(clamping: count))
    }

    func leave() async {
        _ = try? await store.send(RedisCommand("ZREM", key: Self.key, name))
    }

    /// KEYS nodes; ARGV name, milliseconds. Returns the number of live nodes. Entries in the future, left by a clock
    /// that was set back, are removed.
    package static let beat = RedisScript(
        ScriptPrelude.clock + """
            redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. before(ARGV[2]))
            redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. stamp, '+inf')
            redis.call('ZADD', KEYS[1], stamp, ARGV[1])
            redis.call('PEXPIRE', KEYS[1], ARGV[2])
            return redis.call('ZCARD', KEYS[1])
            """)
}
