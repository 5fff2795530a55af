// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Gateway
@testable import Server

/// What any cache of findings does, embedded or in Redis.
@Suite(.timeLimit(.minutes(5))) struct FindingCacheTests {
    enum Kind: CaseIterable { case embedded, redis }

    private func with(_ kind: Kind, _ body: (any FindingCache, StoreClock) async throws -> Void) async throws {
        let clock = StoreClock(100)
        switch kind {
        case .embedded: try await body(EmbeddedFindingCache(maximumBytes: 8 << 20), clock)
        case .redis: try await StoreRedis.with { try await body($0.cache(clock: clock), clock) }
        }
    }

    @Test(arguments: Kind.allCases) func `what was kept is found, in place of what was there`(kind: Kind) async throws {
        try await with(kind) { cache, clock in
            let key = try StoreSamples.key()
            #expect(await cache.finding(for: key) == nil)
            await cache.insert(try StoreSamples.known(), for: key, naming: ["1"])
            #expect(await cache.finding(for: key)?.askedAt == StoreSamples.time(100))
            clock.set(110)
            await cache.insert(try StoreSamples.known(at: 110), for: key, naming: ["1"])
            #expect(await cache.finding(for: key)?.askedAt == StoreSamples.time(110))
        }
    }

    /// Three receipts, one of another app and one with other contents; three secrets; two options.
    private static func questions() throws -> [FindingKey] {
        var other = StoreSamples.contents, newer = StoreSamples.contents
        other.bundleID = "com.example.other"
        newer.originalApplicationVersion = "another"
        return try [StoreSamples.receipt, StoreSamples.pki.sign(other), StoreSamples.pki.sign(newer)].flatMap {
            receipt in
            try [nil, "a", "b"].flatMap { secret in
                try [false, true].map { excludes in
                    try StoreSamples.key(receipt) {
                        $0.question.callersSecret = secret.map { SharedSecret($0) }
                        $0.question.excludesOldTransactions = excludes
                    }
                }
            }
        }
    }

    @Test(arguments: Kind.allCases) func `questions that differ in anything never share a finding`(
        kind: Kind
    ) async throws {
        let keys = try Self.questions()
        #expect(Set(keys).count == 18)
        try await with(kind) { cache, _ in
            for key in keys {
                #expect(await cache.finding(for: key) == nil)
                await cache.insert(try StoreSamples.known(), for: key, naming: [])
            }
            for key in keys { #expect(await cache.finding(for: key) != nil) }
        }
    }

    @Test(arguments: Kind.allCases) func `all encodings of one receipt share a finding`(kind: Kind) async throws {
        var text: [UInt8] = []
        Base64.append(encoding: StoreSamples.receipt, to: &text)
        var wrapped: [UInt8] = []
        for (index, character) in text.enumerated() {
            wrapped.append(character)
            if index % 76 == 75 { wrapped += [0x0D, 0x0A] }
        }
        try await with(kind) { cache, _ in
            await cache.insert(try StoreSamples.known(), for: try StoreSamples.key(), naming: [])
            for encoding in [text, wrapped] {
                let bytes = try Base64.decode(encoding.span)
                #expect(await cache.finding(for: try StoreSamples.key(bytes)) != nil)
            }
        }
    }

    @Test(arguments: Kind.allCases) func `a finding is forgotten by any of its transactions`(kind: Kind) async throws {
        try await with(kind) { cache, _ in
            let first = try StoreSamples.key(),
                second = try StoreSamples.key { $0.question.excludesOldTransactions = true }
            await cache.insert(try StoreSamples.known(), for: first, naming: ["1", "2"])
            await cache.insert(try StoreSamples.known(), for: second, naming: ["2", "3"])
            #expect(try await cache.forget(originalTransactionID: "4") == 0)
            #expect(try await cache.forget(originalTransactionID: "1") == 1)
            #expect(await cache.finding(for: first) == nil)
            #expect(await cache.finding(for: second) != nil)
            #expect(try await cache.forget(originalTransactionID: "2") == 1)
            #expect(await cache.finding(for: second) == nil)
            #expect(try await cache.forget(originalTransactionID: "3") == 0)
        }
    }

    @Test(arguments: Kind.allCases) func `what is forgotten puts its stamp out of date`(kind: Kind) async throws {
        try await with(kind) { cache, _ in
            let key = try StoreSamples.key()
            await cache.insert(try StoreSamples.known(), for: key, naming: ["1"])
            let stamp = cache.stamp(for: key)
            _ = try await cache.forget(originalTransactionID: "1")
            #expect(!stamp.isCurrent && cache.stamp(for: key).isCurrent)
        }
    }
}
