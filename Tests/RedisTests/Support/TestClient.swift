// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import RealServers
import Synchronization
import Testing
import TestSupport

@testable import Redis

/// A client of sentinels or of a cluster, its events, and its shutdown after the test.
struct TestClient: Sendable {
    let client: any RedisClient
    let log: EventLog

    /// Runs `body` with a client that discovers its masters.
    static func with(
        _ url: String, _ configure: (inout RedisNodeConfiguration) -> Void = { _ in },
        _ body: (TestClient) async throws -> Void
    ) async throws {
        var configuration = try RedisClientConfiguration(try RedisURL(url))
        (configuration.node.commandDeadline, configuration.node.connectDeadline) = (
            Patience.forOperation, Patience.forOperation
        )
        configuration.node.reconnection.longest = .milliseconds(200)
        configure(&configuration.node)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let log = EventLog()
        let test = TestClient(client: configuration.client(eventLoops: group, observer: log), log: log)
        test.client.start()
        let result: Result<Void, any Error>
        do { result = .success(try await body(test)) } catch { result = .failure(error) }
        await test.client.shutdown()
        try await group.shutdownGracefully()
        try result.get()
    }

    /// Returns when so many masters take commands on both event loops.
    func connected(masters count: Int) async throws {
        try await until { client.masters.values.count { $0 == .connected(2) } == count }
    }

    /// Waits until the condition holds. Conditions are of many objects, most of them without an event.
    func until(_ isSo: () async -> Bool) async throws { try await eventually { await isSo() } }
}

/// A continuous load of SET and GET that records the outcomes.
final class Load: Sendable {
    private let errors = Mutex<[RedisError?]>([])
    private let isStopped = Atomic(false)

    /// The first error of each round of commands so far.
    var all: [RedisError?] { errors.withLock { $0 } }

    /// Ends `run`.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Sends until `stop`, or until the test ends early, with a different key each time.
    func run(_ client: any RedisCommands, key: @Sendable (Int) -> RedisWord) async {
        var number = 0
        while !isStopped.load(ordering: .relaxed), !Task.isCancelled {
            number += 1
            let results = await client.send([
                RedisCommand("SET", key: key(number), RedisWord(number)), RedisCommand("GET", key: key(number)),
            ])
            // A client that fails at once must leave the processor to the servers.
            if note(results, of: number) != nil { try? await Task.sleep(for: .milliseconds(2)) }
        }
    }

    private func note(_ results: [Result<RedisValue, RedisError>], of number: Int) -> RedisError? {
        var error: RedisError?
        for case .failure(let fault) in results { error = error ?? fault }
        if error == nil { #expect(results == [.success(.status("OK")), .success(.text("\(number)"))]) }
        errors.withLock { [error] in $0.append(error) }
        return error
    }
}
