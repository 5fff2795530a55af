// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Receipts
import Synchronization
import Testing

/// The limits and times of the store in this process; `OwnershipStoreTests` has the behaviour of every store.
@Suite struct EmbeddedOwnershipStoreTests {
    private typealias Samples = OwnershipSamples

    /// A store, and the time of its clock.
    private final class Site: Sendable {
        let store: EmbeddedOwnershipStore
        let log: EmbeddedEventLog
        private let clock = Clock()

        init(_ edit: (inout OwnershipRules) -> Void = { _ in }, maximumCount: Int = 100) {
            var rules = OwnershipRules()
            edit(&rules)
            let clock: @Sendable () -> Timestamp = { [clock] in clock.time.withLock { $0 } }
            log = EmbeddedEventLog(EventRetention(maximumCount: 800, maximumAge: .seconds(86_400 * 3650)), clock: clock)
            store = EmbeddedOwnershipStore(rules, log: log, maximumCount: maximumCount, clock: clock)
        }

        func wait(days: Int) { clock.time.withLock { $0 = $0.advanced(by: .seconds(days * 86_400)) } }

        func use(_ number: Int, by id: String) throws -> RecordedUse {
            let uses = store.record(try Samples.account(id), using: [Samples.chain(number)])
            return try #require(uses?.first)
        }

        func binding(_ number: Int, by id: String) throws -> RecordedUse.Binding { try use(number, by: id).binding }

        /// Reports a use, as a caller does that found it suspicious.
        func report(_ number: Int) -> Bool {
            let claim = Samples.claim(number), time = clock.time.withLock { $0 }
            let event = Event(suspecting: claim, usedBy: 4, within: .seconds(30 * 86_400), at: time)
            return store.report(event, about: claim.chain)
        }

        var events: Int {
            let queries = AppPartition.all(of: Samples.app).map { EventQuery($0, after: .start, maximum: 100) }
            return log.read(queries)?.map(\.events.count).reduce(0, +) ?? 0
        }
    }

    private final class Clock: Sendable {
        let time = Mutex(Timestamp(millisecondsSince1970: 1_790_000_000_000))
    }

    // MARK: - Bindings

    @Test func `a chain that is named twice has two uses, in order`() throws {
        let site = Site()
        _ = try site.use(2, by: "b")
        let chains = [Samples.chain(3), Samples.chain(2), Samples.chain(3)]
        let uses = site.store.record(try Samples.account("a"), using: chains)
        #expect(uses?.map(\.binding) == [.new, .other, .same])
    }

    @Test func `a binding is forgotten when its account has not used it for the time of retention`() throws {
        let site = Site { $0.retention = .seconds(10 * 86_400) }
        _ = try site.use(1, by: "a")
        site.wait(days: 10)
        #expect(try site.binding(1, by: "b") == .other)
        site.wait(days: 1)
        #expect(try site.binding(1, by: "b") == .new)
        #expect(try site.binding(1, by: "a") == .other)
    }

    @Test func `the oldest records make room for new ones`() throws {
        let site = Site(maximumCount: 8)
        for number in 1...9 {
            _ = try site.use(number, by: "a")
            site.wait(days: 1)
        }
        #expect(try site.binding(9, by: "a") == .same)
        #expect(try site.binding(4, by: "a") == .same)
        #expect(try site.binding(3, by: "b") == .new)
    }

    @Test func `a purchase keeps its owner among more accounts than are remembered`() throws {
        let site = Site()
        _ = try site.use(1, by: "owner")
        for number in 0...OwnershipRules.Limits.accounts { #expect(try site.binding(1, by: "\(number)") == .other) }
        #expect(try site.binding(1, by: "owner") == .same)
    }

    // MARK: - Suspicion

    @Test func `a use by one account too many is suspicious until it is reported, once per window`() throws {
        let site = Site()
        for id in ["a", "b", "c", "a"] { #expect(try site.use(1, by: id).suspiciousAccounts == nil) }
        #expect(try site.use(1, by: "d").suspiciousAccounts == 4)
        #expect(try site.use(1, by: "d").suspiciousAccounts == 4)
        #expect(site.report(1) && !site.report(1))
        #expect(site.events == 1)
        #expect(try site.use(1, by: "e").suspiciousAccounts == nil)
        site.wait(days: 29)
        for id in ["a", "b", "c"] { #expect(try site.use(1, by: id).suspiciousAccounts == nil) }
        #expect(!site.report(1))
        site.wait(days: 1)
        #expect(try site.use(1, by: "d").suspiciousAccounts == 5)
        #expect(site.report(1))
        #expect(site.events == 2)
    }

    @Test func `accounts count within the window only, and each purchase by itself`() throws {
        let site = Site()
        for id in ["a", "b", "c"] { _ = try site.use(1, by: id) }
        #expect(try site.use(2, by: "d").suspiciousAccounts == nil)
        site.wait(days: 31)
        #expect(try site.use(1, by: "d").suspiciousAccounts == nil)
        #expect(try site.use(1, by: "a").suspiciousAccounts == nil)
    }

}
