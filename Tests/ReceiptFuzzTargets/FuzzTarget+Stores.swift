// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    internal import Resilience
    internal import Dispatch
    internal import Customers
    internal import Gateway
    internal import NIOCore
    internal import Receipts
    @testable internal import Redis
    @testable internal import RedisStore
    internal import Synchronization
    internal import Telemetry

    extension FuzzTarget {
        /// Checks that no replies of Redis end a store that reads them, or the sums and metrics made of them. The first byte
        /// chooses the store; the others are the replies to its commands, in turn.
        static func checkStores(_ input: [UInt8]) throws {
            let reader = try ReplyReader(limits: RedisNodeConfiguration.Limits())
            var replies: [RedisValue] = []
            if (try? reader.feed(ByteBuffer(bytes: input.dropFirst()).readableBytesView)) != nil {
                while let reply = try? reader.next() { replies.append(reply) }
            }
            let redis = RepliesInTurn(replies), use = StoreUse.all[Int(input.first ?? 0) % StoreUse.all.count]
            // The caller is no thread of the pool, whose threads the task needs.
            let hasEnded = DispatchSemaphore(value: 0)
            Task.detached {
                await use(redis)
                hasEnded.signal()
            }
            hasEnded.wait()
        }
    }

    /// Redis, as far as a store sees it: each command gets the next reply. After the last one Redis is not reachable.
    private final class RepliesInTurn: RedisCommands {
        private let replies: Mutex<ArraySlice<RedisValue>>

        init(_ replies: [RedisValue]) { self.replies = Mutex(replies[...]) }

        func send(_ commands: [RedisCommand]) async -> RedisResults {
            replies.withLock { replies in
                commands.map { _ in replies.popFirst().map { .success($0) } ?? .failure(.notConnected) }
            }
        }
    }

    /// The uses of the stores. Each reads what another writer may have stored.
    private enum StoreUse {
        static let all: [@Sendable (RepliesInTurn) async -> Void] = [
            events, notifications, deliveries, jobs, ownership, results, limits, erasure,
        ]

        private static let bundleID = "com.example.shop"
        private static let chain = PurchaseChain(
            bundleID: bundleID, environment: .production, originalTransactionID: "1")
        private static let retention = EventRetention(maximumCount: 1000, maximumAge: .seconds(86_400))
        private static let position = EventPosition(milliseconds: 1, counter: 0, number: 1)

        private static let keys = StoreKeys.ofFuzzer

        private static func notifications(_ redis: RepliesInTurn) -> RedisNotifications {
            RedisNotifications(
                redis, requests: redis, keys: keys, maximumBytes: 1 << 20, replicas: 0,
                rules: EventRules(), retention: retention,
                relays: { _ in true }, clock: { Timestamp(millisecondsSince1970: 0) }, observe: { _ in })
        }

        @Sendable private static func events(_ redis: RepliesInTurn) async {
            let log = RedisEventLog(redis, keys: keys, retention: retention, observe: { _ in })
            let partition = chain.partition
            for after in [EventPosition.start, position] {
                let query = EventQuery(partition, after: after, maximum: 10)
                guard let newest = await log.newest([partition], .events)?.first else { return }
                _ = await log.read([query, EventQuery(partition, .relay, after: newest, maximum: 10)])
            }
            _ = try? await log.position(before: 1, in: partition, .events)
        }

        @Sendable private static func notifications(_ redis: RepliesInTurn) async {
            let store: RedisNotifications = notifications(redis)
            let surveys = NotificationSurveys(isServed: { _ in true }, clock: { Timestamp(millisecondsSince1970: 0) })
            var partitions: [QueueSurvey] = []
            for partition in AppPartition.all(of: bundleID) {
                guard let survey = await store.survey(partition) else { break }
                partitions.append(survey)
            }
            if let first = partitions.first {
                surveys.record(AppPartition.all(of: bundleID).map { _ in first }, ofApp: bundleID)
            }
            for taken in await store.take(from: chain.partition, includingStalled: true) {
                await store.discard(taken, .unreadable, in: chain.partition)
            }
            _ = await store.states(of: [chain])
            _ = await store.due(in: chain.partition)
            _ = try? await store.recovered(bundleID, .production)
        }

        @Sendable private static func deliveries(_ redis: RepliesInTurn) async {
            let store = RedisDeliveryStore(redis, keys: keys)
            let queue = DeliveryQueue(endpoint: "shop/crm", partition: chain.partition, stream: .events)
            _ = try? await store.acquire(queue, for: .seconds(1))
            if let survey = try? await store.survey([queue]).first {
                WebhookSurveys(endpoints: { ["shop/crm"] }).record([survey, survey], ofEndpoint: "shop/crm")
            }
            _ = try? await store.dead(queue, maximum: 10)
        }

        @Sendable private static func jobs(_ redis: RepliesInTurn) async {
            let store = RedisJobStore(redis, keys: keys, rules: JobRules(), observe: { _ in })
            if let survey = await store.survey() { JobSurveys().record(survey) }
            _ = try? await store.take(2, in: .production, lease: .seconds(1))
            _ = try? await store.list(.failed, maximum: 2)
            _ = try? await store.job("ver_1")
        }

        @Sendable private static func ownership(_ redis: RepliesInTurn) async {
            let store = RedisOwnershipStore(
                redis, requests: redis, keys: keys, rules: OwnershipRules(), retention: retention, observe: { _ in })
            guard let account = Account("one") else { return }
            _ = await store.record(account, using: [chain])
            _ = try? await store.chains(of: account, in: bundleID)
        }

        @Sendable private static func results(_ redis: RepliesInTurn) async {
            let purges = RedisPurges(
                redis, seal: StoreSeal(keys: keys), counters: InvalidationCounters(),
                clock: { Timestamp(millisecondsSince1970: 0) }, observe: { _ in })
            for _ in 1...2 { try? await purges.purge([Purge("1", in: bundleID)], over: redis) }
        }

        @Sendable private static func limits(_ redis: RepliesInTurn) async {
            let buckets = RedisTokenBuckets(redis: redis, names: StoreNames(keys.first))
            let limiter = FleetRateLimiter(buckets, liveNodes: { 2 })
            let policy = RatePolicy(name: "minute", quota: 60, window: .seconds(60))
            for _ in 1...3 { _ = await limiter.admit([RateCharge(RateBucket(client: "shop", policy: policy))]) }
        }

        @Sendable private static func erasure(_ redis: RepliesInTurn) async {
            let subject = ErasureSubject(bundleID: bundleID, chains: [chain], account: Account("one"))
            let log = RedisEventLog(redis, keys: keys, retention: retention, observe: { _ in })
            let stores: [any CustomerDataStore] = [
                notifications(redis) as RedisNotifications, log, RedisDeliveryStore(redis, keys: keys),
                RedisJobStore(redis, keys: keys, rules: JobRules(), observe: { _ in }),
            ]
            for store in stores { _ = try? await store.erase(subject) }
        }
    }
#endif
