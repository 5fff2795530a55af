// SPDX-License-Identifier: Apache-2.0

import Cryptography
import NIOPosix
import RealServers
import Redis
import Resilience
import Testing
import TestSupport

@testable import RedisStore

/// A real Redis, and the limiters of some nodes that share it.
final class RedisFleet: Surroundings {
    @TaskLocal private static var running: RedisFleet?
    static var local: TaskLocal<RedisFleet?> { $running }

    let server: RealServer
    let redis: TestRedis
    let limiters: [FleetRateLimiter]
    let buckets: RedisTokenBuckets
    private let node: RedisNode

    /// - Parameter environment: variables of Redis's process.
    init(nodes: Int, environment: [String: String] = [:]) async throws {
        server = try await RealServer.redis(environment: environment)
        var configuration = RedisNodeConfiguration(address: .host("127.0.0.1", port: server.port))
        configuration.scripts = [RedisTokenBuckets.script]
        // The deadline is not under test, and this machine may be busy.
        configuration.commandDeadline = Patience.forOperation
        let node = RedisNode(
            configuration, eventLoops: MultiThreadedEventLoopGroup.singleton, observer: NoObserver())
        node.start()
        self.node = node
        let redis = TestRedis(node)
        let buckets = RedisTokenBuckets(redis: redis, names: .test)
        (self.redis, self.buckets) = (redis, buckets)
        limiters = (0..<nodes).map { _ in FleetRateLimiter(buckets, liveNodes: { nodes }) }
        try await eventually { await node.send([RedisCommand("PING")]) == [.success(.status("PONG"))] }
    }

    func use(_ body: () async throws -> Void) async throws {
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        await node.shutdown()
        server.kill()
        try outcome.get()
    }
}

extension StoreNames {
    static let test = StoreNames(key: HMACKey(Array("names of a test".utf8)))
}

private struct NoObserver: RedisObserver {
    func observe(_ event: RedisEvent) {}
}
