// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Gateway

struct NearCacheTests {
    // MARK: Size

    @Test(arguments: [32 << 10, 64 << 10, 1 << 20]) func `genuine answers stay within the bytes they may take`(
        maximumBytes: Int
    ) throws {
        let answer = try Self.genuine()
        let cache = NearCache(maximumBytes: maximumBytes)
        let keys = (0..<2000).map { Self.key($0) }
        for key in keys { cache.insert(answer, for: key) }
        let found = keys.reversed().count { cache.answer(for: $0, maximumAge: nil, at: Self.now) != nil }
        // Each holds the receipt; a cache that counted less would hold more than it may.
        #expect(found > 0 && found * Samples.receipt.count <= maximumBytes)
    }

    @Test func `rejections stay within a sixteenth of the bytes`() {
        let cache = NearCache(maximumBytes: 1 << 20)
        let keys = (0..<2000).map { Self.key($0) }
        for key in keys { cache.insert(Self.rejected, for: key) }
        let found = keys.reversed().count { cache.answer(for: $0, maximumAge: nil, at: Self.now) != nil }
        #expect(found > 0 && found <= 64)
    }

    @Test func `what a caller expects is counted too, however long`() {
        let cache = NearCache(maximumBytes: 1 << 20)
        let length = 10_000
        let keys = (0..<200).flatMap { number in
            let text = String(number) + String(repeating: "x", count: length)
            return [
                Expectations(bundleID: text), Expectations(applicationVersion: text),
                Expectations(deviceIdentifier: Array(text.utf8)),
            ].map { NearCache.Key(Self.request(0, expecting: $0)) }
        }
        for key in keys { cache.insert(Self.rejected, for: key) }
        let found = keys.reversed().count { cache.answer(for: $0, maximumAge: nil, at: Self.now) != nil }
        #expect(found > 0 && found * length <= 1 << 16)
    }

    @Test func `an answer with many subscriptions is counted with them`() throws {
        let periods = (0..<500).map { Period("\($0)", 0..<100, of: "\($0)") }
        let answer = try Self.genuine(of: Samples.receipt(with: periods))
        #expect(answer.subscriptions.count == 500)
        // Every part of it that grows with the number of purchases.
        let size =
            answer.transactions.count * MemoryLayout<Transaction>.stride
            + answer.subscriptions.count * MemoryLayout<Subscription>.stride + (answer.receipt?.byteCount ?? 0)
        for (maximumBytes, isKept) in [(size * 2, false), (size * 4, true)] {
            let cache = NearCache(maximumBytes: maximumBytes)
            cache.insert(answer, for: Self.key(0))
            // Kept out of the expectation, which would print the whole answer.
            let found = cache.answer(for: Self.key(0), maximumAge: nil, at: Self.now) != nil
            #expect(found == isKept)
        }
    }

    @Test func `a cache of no bytes keeps nothing`() throws {
        let cache = NearCache(maximumBytes: 0)
        cache.insert(try Self.genuine(), for: Self.key(0))
        cache.insert(Self.rejected, for: Self.key(1))
        #expect(cache.answer(for: Self.key(0), maximumAge: nil, at: Self.now) == nil)
        #expect(cache.answer(for: Self.key(1), maximumAge: nil, at: Self.now) == nil)
    }

    @Test func `the same question asked again and again takes the place of one`() throws {
        let answer = try Self.genuine()
        let cache = NearCache(maximumBytes: 1 << 16)
        cache.insert(answer, for: Self.key(1))
        for _ in 1...1000 { cache.insert(answer, for: Self.key(2)) }
        #expect(cache.answer(for: Self.key(1), maximumAge: nil, at: Self.now) != nil)
    }

    // MARK: Who is pushed out

    @Test func `a flood of junk pushes out no genuine answer`() throws {
        let cache = NearCache(maximumBytes: 1 << 17)
        cache.insert(try Self.genuine(), for: Self.key(-1))
        for number in 0..<5000 { cache.insert(Self.rejected, for: Self.key(number)) }
        #expect(cache.answer(for: Self.key(-1), maximumAge: nil, at: Self.now)?.verdict == .genuine)
    }

    /// What is found in the old generation moves back to the young one.
    @Test func `an answer that is asked for stays, others go`() throws {
        let answer = try Self.genuine()
        let cache = NearCache(maximumBytes: 1 << 17)
        cache.insert(answer, for: Self.key(-1))
        cache.insert(answer, for: Self.key(-2))
        for number in 0..<1000 {
            cache.insert(answer, for: Self.key(number))
            #expect(cache.answer(for: Self.key(-1), maximumAge: nil, at: Self.now) != nil)
        }
        #expect(cache.answer(for: Self.key(-2), maximumAge: nil, at: Self.now) == nil)
    }

    // MARK: Time

    @Test func `an answer is found until it is no longer fresh`() {
        let cache = NearCache(maximumBytes: 1 << 20)
        cache.insert(Self.rejected, for: Self.key(0))
        func isFound(at seconds: Int64) -> Bool {
            cache.answer(for: Self.key(0), maximumAge: nil, at: Samples.time(seconds)) != nil
        }
        #expect(isFound(at: 0) && isFound(at: 99) && !isFound(at: 100) && !isFound(at: 101))
    }

    @Test func `an answer from the future is not found, for then the clock was set back`() {
        let cache = NearCache(maximumBytes: 1 << 20)
        cache.insert(Self.rejected, for: Self.key(0))
        for (seconds, isFound) in [(-2, false), (-1, true), (0, true)] {
            let found = cache.answer(for: Self.key(0), maximumAge: nil, at: Samples.time(Int64(seconds)))
            #expect((found != nil) == isFound)
        }
    }

    @Test(
        arguments: [
            (0, .zero, true), (1, .zero, false), (5, .seconds(5), true), (5, .milliseconds(4999), false),
            (50, nil, true), (50, .seconds(1000), true), (100, .seconds(1000), false), (0, .seconds(-1), false),
        ] as [(Int64, Duration?, Bool)])
    func `an answer is no older than the caller accepts`(seconds: Int64, maximumAge: Duration?, isFound: Bool) {
        let cache = NearCache(maximumBytes: 1 << 20)
        cache.insert(Self.rejected, for: Self.key(0))
        let found = cache.answer(for: Self.key(0), maximumAge: maximumAge, at: Samples.time(seconds))
        #expect((found != nil) == isFound)
    }

    // MARK: Keys

    static let requests: [VerificationRequest] = {
        let evidence = Evidence.appReceipt([1, 2, 3])
        let expectations = [
            Expectations(), Expectations(bundleID: ""), Expectations(bundleID: "a"),
            Expectations(applicationVersion: "a"),
            Expectations(deviceIdentifier: []), Expectations(deviceIdentifier: [0x61]),
            Expectations(bundleID: "a", applicationVersion: "a"), Expectations(bundleID: "b", applicationVersion: "a"),
            Expectations(bundleID: "caf\u{E9}"), Expectations(bundleID: "cafe\u{301}"),
            Expectations(applicationVersion: "\u{212B}"), Expectations(applicationVersion: "\u{C5}"),
            Expectations(bundleID: "a", applicationVersion: "a", deviceIdentifier: [0x61]),
        ]
        return expectations.flatMap { expectations in
            Mode.allCases.flatMap { mode in
                [false, true].map { excludes in
                    VerificationRequest(
                        evidence: evidence, expectations: expectations, mode: mode, excludesOldTransactions: excludes)
                }
            }
        } + [VerificationRequest(evidence: .appReceipt([1, 2])), VerificationRequest(evidence: .appReceipt([]))]
    }()

    @Test func `questions that differ in anything never share an answer`() {
        #expect(Set(Self.requests.map(NearCache.Key.init)).count == Self.requests.count)
        for (index, request) in Self.requests.enumerated() {
            let cache = NearCache(maximumBytes: 1 << 20)
            cache.insert(Self.rejected, for: NearCache.Key(request))
            for (other, question) in Self.requests.enumerated() {
                let found = cache.answer(for: NearCache.Key(question), maximumAge: nil, at: Self.now)
                if (found != nil) != (other == index) { Issue.record("\(request) and \(question)") }
            }
        }
    }

    @Test func `who asks, and how old an answer may be, are no part of the question`() {
        let cache = NearCache(maximumBytes: 1 << 20)
        cache.insert(Self.rejected, for: Self.key(0))
        var question = Self.request(0)
        question.permittedApps = .only(["a"])
        question.maximumAge = .seconds(10)
        #expect(cache.answer(for: NearCache.Key(question), maximumAge: nil, at: Self.now) != nil)
    }

    // MARK: Concurrency

    @Test func `many tasks may ask and remember at once`() async throws {
        let answer = try Self.genuine()
        let cache = NearCache(maximumBytes: 1 << 17)
        let keys = (0..<64).map { Self.key($0) }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for turn in 0..<500 {
                        let key = keys[(task * 11 + turn) % keys.count]
                        if cache.answer(for: key, maximumAge: nil, at: Self.now) == nil {
                            cache.insert(turn.isMultiple(of: 3) ? Self.rejected : answer, for: key)
                        }
                    }
                }
            }
        }
        #expect(keys.contains { cache.answer(for: $0, maximumAge: nil, at: Self.now) != nil })
    }

    // MARK: Samples

    private static let now = Samples.time(0)

    private static func request(
        _ number: Int, expecting expectations: Expectations = Expectations()
    ) -> VerificationRequest {
        VerificationRequest(
            evidence: .appReceipt(Array("\(number)".utf8)), expectations: expectations)
    }

    private static func key(_ number: Int) -> NearCache.Key { NearCache.Key(request(number)) }

    private static let rejected = Answer(
        .rejected(.rule(.signatureInvalid)), Provenance(source: .local, cache: .miss, verifiedAt: Samples.time(0)),
        freshUntil: Samples.time(100))

    private static func genuine(of bytes: [UInt8] = Samples.receipt) throws -> Answer {
        let receipt = try Samples.verified(bytes)
        let transactions = receipt.purchases.map { Transaction($0) }
        return Answer(
            verdict: .genuine, receipt: receipt, transactions: transactions,
            subscriptions: Subscription.all(in: transactions, at: now, skew: .zero),
            provenance: Provenance(source: .local, cache: .miss, verifiedAt: now), freshUntil: Samples.time(100),
            upstreamBody: nil)
    }
}
