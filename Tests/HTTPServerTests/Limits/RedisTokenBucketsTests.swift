// SPDX-License-Identifier: Apache-2.0

import RealServers
import Redis
import Testing
import TestSupport

@testable import RedisStore
@testable import Resilience
@testable import ServerTestSupport

struct RedisTokenBucketsTests {
    private var fleet: RedisFleet { .current }
    private static let policy = RatePolicy(name: "minute", quota: 600, window: .seconds(60))
    private static let bucket = RateBucket(client: "com.example.client", policy: policy, subject: "com.example.app")

    private func order(_ line: TokenRequest.Line, requests: Int = 1) -> TokenRequest {
        TokenRequest(requests: requests, lines: [line])
    }

    /// Returns the whole tokens left in a bucket, as a node computes them.
    private func left(_ line: TokenGrant.Line, of bucket: RateBucket) -> Int {
        let now = Instant.now
        return TokenBucket(bucket.policy.tokenBucket, timeUntilFull: line.timeUntilFull, at: now).remaining(at: now)
    }

    @Test func `a key has the policy's name, pseudonyms for client and subject, and its client's hash slot`() {
        let buckets = RedisTokenBuckets(redis: TestRedis([.success(.null)]), names: .test)
        let key = buckets.key(of: Self.bucket)
        #expect(key.wholeMatch(of: /rl:\{[\w-]{43}\}:minute:600-100000:[\w-]{43}/) != nil)
        var (other, tighter) = (Self.bucket, Self.bucket)
        other.subject = ""
        tighter.policy = RatePolicy(name: "minute", quota: 300, window: .seconds(60), burst: 600)
        #expect(buckets.key(of: other) != key && buckets.key(of: tighter) != key)
        #expect(buckets.key(of: other).prefix(48) == key.prefix(48))
    }

    /// NaN, infinities, far future and past, other words, other types.
    @Test(
        .rateLimits,
        arguments: [
            ["SET", "nan"], ["SET", "-nan"], ["SET", "inf"], ["SET", "-inf"], ["SET", "9e99"], ["SET", "-1"],
            ["SET", ""],
            ["SET", "junk"], ["SET", "0x7fffffffffffffff"], ["LPUSH", "x"], ["SADD", "x"],
            ["SET", "99999999999999999999"],
        ])
    func `a corrupted bucket fills again`(write: [String]) async throws {
        let policy = RatePolicy(name: "p", quota: 20, window: .seconds(1), burst: 2)
        let bucket = RateBucket(client: "t", policy: policy)
        let key = RedisWord(fleet.buckets.key(of: bucket))
        _ = try await fleet.redis.send(RedisCommand(RedisWord(write[0]), key: key, RedisWord(write[1])))
        var admitted = 0
        for _ in 0..<100 where admitted < 3 {
            let delivery = try await fleet.buckets.take(order(.init(charge: RateCharge(bucket))))
            admitted += delivery.admitted
            let line = try #require(delivery.lines.first)
            #expect(line.timeUntilFull <= .milliseconds(100) && line.timeUntilNext <= .milliseconds(50))
            // The time that the bucket itself named is what is tested; Redis has no other clock.
            try await Task.sleep(for: line.timeUntilNext)
        }
        #expect(admitted == 3)
        let life = try await fleet.redis.send(RedisCommand("PTTL", key: key))
        guard case .integer(let milliseconds) = life else { return #expect(Bool(false), "\(life)") }
        // Expired, or soon to expire; -1 would be never.
        #expect(milliseconds != -1 && milliseconds <= 101)
    }

    @Test(.rateLimits)
    func `a lease takes half of the tokens left, after the bucket has lost the tokens of a lease's life`()
        async throws
    {
        let line = TokenRequest.Line(charge: RateCharge(Self.bucket), inAdvance: 10_000, life: .seconds(10))
        let start = ContinuousClock.now
        let first = try await fleet.buckets.take(order(line))
        // 600 − 100 lost − 1 taken = 499.
        #expect(first.lines.first?.inAdvance == 249 && first.lines.first.map { left($0, of: Self.bucket) } == 250)
        let second = try await fleet.buckets.take(order(line))
        // Ten arrive in a second.
        let arrived = Int(start.duration(to: .now) / .seconds(1) * 10) + 1
        #expect((124...124 + arrived).contains(try #require(second.lines.first?.inAdvance)))
    }

    @Test(.rateLimits)
    func `equal requests are admitted together up to each bucket's tokens, less prepaid ones`() async throws {
        let day = RateBucket(
            client: "com.example.client", policy: RatePolicy(name: "day", quota: 7, window: .seconds(86_400)))
        let lines = [
            TokenRequest.Line(charge: RateCharge(Self.bucket, cost: 10), prepaid: 35),
            .init(charge: RateCharge(day, cost: 2), prepaid: 3),
        ]
        let delivery = try await fleet.buckets.take(TokenRequest(requests: 50, lines: lines))
        #expect(delivery.admitted == 5)
        #expect(delivery.lines.map(\.requests) == [50, 5])
        #expect(zip(delivery.lines, [Self.bucket, day]).map { left($0, of: $1) } == [585, 0])
        #expect(try #require(delivery.lines.last).timeUntilNext > .seconds(2 * 12_342))
    }

    @Test(.rateLimits) func `a thousand concurrent requests cost two operations, and a busy client few`() async throws {
        let policy = RatePolicy(name: "p", quota: 1_000_000, window: .seconds(60))
        let charges = [RateCharge(RateBucket(client: "t", policy: policy))]
        let before = fleet.redis.count
        await withDiscardingTaskGroup { group in
            for _ in 0..<1000 { group.addTask { #expect(await fleet.limiters[0].admit(charges).isAdmitted) } }
        }
        #expect(fleet.redis.count - before < 50)
        for _ in 0..<20_000 { #expect(await fleet.limiters[0].admit(charges).isAdmitted) }
        #expect(fleet.redis.count - before < 500)
    }

    @Test(.rateLimits, arguments: ["FLUSH", "KILL"]) func `limits survive a script flush and a restart of Redis`(
        fault: String
    ) async throws {
        let charges = [RateCharge(Self.bucket)]
        #expect(await fleet.limiters[0].admit(charges).sources == [.store])
        if fault == "FLUSH" {
            _ = try await fleet.redis.send(RedisCommand("SCRIPT", "FLUSH"))
        } else {
            fleet.server.kill()
            #expect(await fleet.limiters[0].admit(charges).sources == [.localShare])
            try await fleet.server.start()
            try await eventually { await !fleet.limiters[0].admit(charges).isDegraded }
        }
        #expect(await fleet.limiters[0].admit(charges).sources == [.store])
    }

    // MARK: - Answers

    private static let errors: [Result<RedisValue, RedisError>] = [
        RedisError.timeout, .notConnected, .refused(RedisRefusal(line: "NOAUTH Authentication required.")),
        .refused(RedisRefusal(line: "NOPERM this user has no permissions")),
        .refused(RedisRefusal(line: "OOM command not allowed")), .protocolViolation,
    ].map { .failure($0) }

    private static let invalidReplies: [Result<RedisValue, RedisError>] = [
        [], [1], [1, 1, 0, 0], [1, 1, 0, 0, 0, 0], [2, 1, 0, 0, 0], [1, 1, 1, 0, 0], [-1, 1, 0, 0, 0],
        [1, 1, 0, -1, 0],
    ].map { numbers in .success(.array(numbers.map { .integer($0) })) }

    @Test(arguments: errors + invalidReplies)
    func `an error of Redis and an invalid reply are faults`(result: Result<RedisValue, RedisError>) async {
        let buckets = RedisTokenBuckets(redis: TestRedis([result]), names: .test)
        await #expect(throws: SharedBucketsFault()) {
            try await buckets.take(order(.init(charge: RateCharge(Self.bucket))))
        }
    }
}

extension RateAdmission {
    var sources: [Source] { outcomes.map(\.source) }
}
