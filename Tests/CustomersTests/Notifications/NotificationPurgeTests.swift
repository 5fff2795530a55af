// SPDX-License-Identifier: Apache-2.0

import RealServers
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Customers
@testable import Gateway
@testable import ServerTestSupport

/// Cached results around the moment at which a notification's state and event are written.
@Suite(.timeLimit(.patient)) struct NotificationPurgeTests {
    @Test(.redis, arguments: StoreKind.allCases)
    func `no earlier answer outlives an event, also if the node ends after writing it`(kind: StoreKind) async throws {
        let bench = try Bench(kind), merged = Gate(), end = Gate()
        try await bench.keepResult()
        try await bench.store()
        async let applied: Void = bench.apply(afterMerge: {
            merged.open()
            await end.pass()
        })
        await merged.pass()
        // The node ends here.
        #expect(try await bench.eventCount() == 1)
        #expect(await bench.isResultGone())
        end.open()
        await applied
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `an answer made while the state is written ends after it`(kind: StoreKind) async throws {
        let bench = try Bench(kind), kept = Gate()
        try await bench.store()
        await bench.apply(beforeMerge: {
            guard (try? await bench.keepResult()) != nil, await !bench.isResultGone() else { return }
            kept.open()
        })
        await kept.pass()
        #expect(try await bench.eventCount() == 1)
        #expect(await bench.isResultGone())
    }

    @Test(.redis) func `without a purge there is no event, and the notification waits`() async throws {
        let bench = try Bench(.redis), stage = NotificationStage.current
        // Only purges need it.
        try stage.server.ask("ACL", "SETUSER", "default", "-rpush")
        try await bench.store()
        await bench.apply()
        #expect(try await bench.eventCount() == 0)
        #expect(await bench.notifications.survey(bench.partition)?.entries == 1)
    }

    /// A node, and a cached result about the purchase of a notification.
    private struct Bench: Sendable {
        let notifications: any NotificationStore
        let partition: AppPartition
        private let story = CustomerStory(seed: 7, events: 1, bundleID: StoreSamples.bundleID)
        private let log: any EventLog
        private let cache: any UpstreamCache
        private let key: CacheKey
        private let verifier = NotificationVerifier.ofAllApps

        init(_ kind: StoreKind) throws {
            let now = story.end, stage = NotificationStage.current
            switch kind {
            case .embedded:
                let log = EmbeddedEventLog(.test) { now }
                (self.log, cache) = (log, EmbeddedUpstreamCache(maximumBytes: 1 << 20))
                notifications = EmbeddedNotificationStore(
                    isPermitted: true, maximumBytes: 1 << 20, log: log, rules: .test, relays: { _ in false },
                    clock: { now })
            case .redis:
                (log, cache) = (stage.eventLog(), stage.cache())
                notifications = stage.store { now }
            }
            key = try StoreSamples.key()
            let chain = PurchaseChain(
                bundleID: StoreSamples.bundleID, environment: .sandbox,
                originalTransactionID: story.originalTransactionID)
            partition = chain.partition
        }

        /// Caches an answer about the purchase, requested after all purges so far.
        func keepResult() async throws {
            await cache.keep(StoreSamples.known(naming: [story.originalTransactionID]), for: key)
        }

        func isResultGone() async -> Bool { await cache.result(for: key) == nil }

        func eventCount() async throws -> Int {
            let query = EventQuery(partition, after: .start, maximum: 10)
            return try #require(await log.read([query])?.first).events.count
        }

        func store() async throws {
            let intake = NotificationIntake(verifier, queue: notifications, observe: { _ in }, onStored: { _ in })
            let payload = story.events[0].jws(signedBy: SignedSamples.pki)
            #expect(try await intake.accept(signedPayload: payload, at: story.end) == .stored)
        }

        func apply(
            beforeMerge: @escaping @Sendable () async -> Void = {},
            afterMerge: @escaping @Sendable () async -> Void = {}
        ) async {
            let now = story.end
            let states = WatchedStates(store: notifications, beforeMerge: beforeMerge, afterMerge: afterMerge)
            let applier = NotificationApplier(
                queue: notifications, states: states, purging: cache.purges.purge, verifier: verifier, apps: { [] },
                refresh: { _ in }, observe: { _ in }, onEvents: { _ in }, onSurvey: { _, _ in }, clock: { now })
            await applier.apply(partition, includingStalled: false)
        }
    }
}

/// A store of states whose merges have something before and after them.
private struct WatchedStates: CustomerStateStore {
    let store: any NotificationStore
    let beforeMerge: @Sendable () async -> Void
    let afterMerge: @Sendable () async -> Void

    func merge(_ updates: [CustomerStateUpdate]) async -> [Result<MergeOutcome, StoreUnreachable>] {
        await beforeMerge()
        let results = await store.merge(updates)
        await afterMerge()
        return results
    }

    func due(in partition: AppPartition) async -> [PurchaseChain] { await store.due(in: partition) }

    func states(of chains: [PurchaseChain]) async -> [CustomerState]? { await store.states(of: chains) }
}
