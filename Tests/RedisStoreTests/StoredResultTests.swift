// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import Gateway
@testable import RedisStore
@testable import ServerTestSupport

struct StoredResultTests {
    private static let policy = FreshnessPolicy()

    private static func bytes(_ known: CachedResult) throws -> [UInt8] {
        try #require(StoredResult(known: known, retention: policy.retention(of: known)).bytes)
    }

    @Test func `an answer survives storage`() throws {
        let known = try StoreSamples.known()
        let stored = try StoredResult(Self.bytes(known), policy: Self.policy)
        #expect(stored.known.fetchedAt == known.fetchedAt && stored.known.freshUntil == known.freshUntil)
        #expect(stored.known.took == .milliseconds(250) && stored.retention == .seconds(86_430))
        guard case .answered(let answer) = stored.known.result, case .answered(let original) = known.result else {
            Issue.record("\(stored.known.result)")
            return
        }
        #expect(answer.body == original.body && answer.transactions == original.transactions)
        #expect(answer.bundleID == original.bundleID && answer.environment == .sandbox)
        #expect(answer.renewals == original.renewals && !answer.renewals.isEmpty)
        // The receipt was compared with the answer on arrival, and is not needed afterwards.
        #expect(original.latestReceipt == StoreSamples.receipt && answer.latestReceipt == nil)
    }

    @Test func `all fields survive storage, and missing fields stay missing`() throws {
        let blank = UpstreamAnswer(
            environment: .production, bundleID: "", transactions: [Transaction(productID: "", transactionID: "")],
            renewals: [Renewal(originalTransactionID: "")], latestReceipt: nil, body: [])
        var untold = blank
        untold.unfinishedConsumables = .unavailable
        for answer in [StoreSamples.fullAnswer, blank, untold] {
            let known = CachedResult(
                .answered(answer), fetchedAt: StoreSamples.time(100), freshUntil: StoreSamples.time(130))
            guard case .answered(let read) = try StoredResult(Self.bytes(known), policy: Self.policy).known.result
            else {
                Issue.record("no answer")
                return
            }
            #expect(read.environment == answer.environment && read.bundleID == answer.bundleID)
            #expect(read.transactions == answer.transactions && read.renewals == answer.renewals)
            #expect(read.body == answer.body && read.revision == answer.revision)
            #expect(read.unfinishedConsumables == answer.unfinishedConsumables)
        }
    }

    @Test func `the full sample answer has every field`() throws {
        for (name, value) in Mirror(reflecting: StoreSamples.fullAnswer).children {
            // Not stored: it was compared with the answer on arrival.
            if name != "latestReceipt" { #expect("\(value)" != "nil", "\(name ?? "")") }
        }
        let transaction = try #require(StoreSamples.fullAnswer.transactions.first)
        for (name, value) in Mirror(reflecting: transaction).children { #expect("\(value)" != "nil", "\(name ?? "")") }
        for (name, value) in Mirror(reflecting: try #require(StoreSamples.fullAnswer.renewals.first)).children {
            #expect("\(value)" != "nil", "\(name ?? "")")
        }
    }

    @Test func `the full sample answer has every field of signed items`() throws {
        let transaction = try #require(StoreSamples.fullAnswer.transactions.first?.signedFields?.value)
        for (name, value) in Mirror(reflecting: transaction).children { #expect("\(value)" != "nil", "\(name ?? "")") }
        let renewal = try #require(StoreSamples.fullAnswer.renewals.first?.signedFields?.value)
        for (name, value) in Mirror(reflecting: renewal).children { #expect("\(value)" != "nil", "\(name ?? "")") }
    }

    @Test func `signed fields without values, and empty lists, survive storage`() throws {
        var transaction = Transaction(productID: "p", transactionID: "1")
        transaction.signedFields = .value(SignedTransactionFields())
        let lists: [[String]?] = [nil, [], [""], ["a", "ü", ""]]
        let renewals = lists.map { list in
            var fields = SignedRenewalFields()
            fields.eligibleWinBackOfferIDs = list
            var renewal = Renewal(originalTransactionID: "1")
            renewal.signedFields = .value(fields)
            return renewal
        }
        let answer = UpstreamAnswer(
            environment: .production, bundleID: "b", transactions: [transaction], renewals: renewals,
            latestReceipt: nil, body: [])
        let known = CachedResult(.answered(answer), fetchedAt: StoreSamples.time(0), freshUntil: StoreSamples.time(30))
        guard case .answered(let read) = try StoredResult(Self.bytes(known), policy: Self.policy).known.result else {
            Issue.record("no answer")
            return
        }
        #expect(read.transactions == [transaction] && read.renewals == renewals)
    }

    @Test func `the roots that were trusted survive storage, and a list that is none is rejected`() throws {
        let first = OperatorsRoot(Fingerprint(of: [1].span), .sandbox)
        let roots: Set = [first, OperatorsRoot(Fingerprint(of: [1].span), .production)]
        let known = CachedResult(
            .accountNotFound, fetchedAt: StoreSamples.time(0), freshUntil: StoreSamples.time(30), roots: roots)
        let bytes = try Self.bytes(known)
        #expect(try StoredResult(bytes, policy: Self.policy).known.roots == roots)
        #expect(known.shifted(by: .seconds(1)).roots == roots)
        #expect(try StoredResult(Self.bytes(StoreSamples.known()), policy: Self.policy).known.roots.isEmpty)
        // No digit of a fingerprint.
        let digit = try #require(bytes.lastIndex(of: first.fingerprint.description.utf8.last ?? 0))
        var broken = bytes
        broken[digit] = UInt8(ascii: "x")
        #expect(throws: SharedCacheFault.unreadable) { try StoredResult(broken, policy: Self.policy) }
    }

    @Test func `results without an answer survive storage`() throws {
        let gone = try StoredResult(Self.bytes(StoreSamples.gone(at: 0, until: 3600)), policy: Self.policy)
        guard case .accountNotFound = gone.known.result else {
            Issue.record("\(gone.known.result)")
            return
        }
        #expect(gone.retention == .seconds(3660))
    }

    @Test(
        arguments: [
            (DegradedReason.upstreamDisagrees, 300), (.upstreamAnswerTooLarge, 60), (.upstreamRecordBroken, 60),
        ] as [(DegradedReason, Int64)])
    func `a failure that lies in the evidence survives storage`(reason: DegradedReason, seconds: Int64) throws {
        let known = CachedResult(
            .unanswered(reason), fetchedAt: StoreSamples.time(0), freshUntil: StoreSamples.time(seconds))
        let stored = try StoredResult(Self.bytes(known), policy: Self.policy)
        guard case .unanswered(reason) = stored.known.result else {
            Issue.record("\(stored.known.result)")
            return
        }
        #expect(stored.retention == .seconds(seconds))
    }

    @Test func `an answer that lacks items is known as one`() throws {
        var answer = StoreSamples.fullAnswer
        answer.leaveOut([UnreadableItem(fault: "f")], at: StoreSamples.time(0))
        let known = CachedResult(.answered(answer), fetchedAt: StoreSamples.time(0), freshUntil: StoreSamples.time(30))
        #expect(try StoredResult(Self.bytes(known), policy: Self.policy).known.answer?.lacksItems == true)
    }

    @Test(arguments: UnknownTransaction.allCases)
    func `an unknown transaction survives storage`(reason: UnknownTransaction) throws {
        let known = CachedResult(
            .unknownTransaction(reason), fetchedAt: StoreSamples.time(0), freshUntil: StoreSamples.time(5))
        let stored = try StoredResult(Self.bytes(known), policy: Self.policy)
        guard case .unknownTransaction(reason) = stored.known.result else {
            Issue.record("\(stored.known.result)")
            return
        }
        #expect(stored.retention == .seconds(5))
    }

    @Test(arguments: [Environment.production, .sandbox])
    func `an alias survives storage`(environment: Environment) throws {
        for id in ["1", String(repeating: "9", count: 32)] {
            let alias = TransactionAlias(
                originalTransactionID: id, environment: environment, bundleID: StoreSamples.bundleID)
            let known = CachedResult(
                .alias(alias), fetchedAt: StoreSamples.time(0), freshUntil: StoreSamples.time(30 * 86_400))
            let stored = try StoredResult(Self.bytes(known), policy: Self.policy)
            guard case .alias(alias) = stored.known.result else {
                Issue.record("\(stored.known.result)")
                return
            }
            #expect(stored.retention == .seconds(30 * 86_400))
        }
    }

    @Test(arguments: [
        ("", Environment.production), (String(repeating: "9", count: 33), .production), ("abc", .sandbox),
        ("1", .xcode), ("1", .localTesting),
    ])
    func `an alias that names no transaction of Apple's is neither stored nor read`(
        id: String, environment: Environment
    ) throws {
        let alias = TransactionAlias(
            originalTransactionID: id, environment: environment, bundleID: StoreSamples.bundleID)
        let known = CachedResult(
            .alias(alias), fetchedAt: StoreSamples.time(0), freshUntil: StoreSamples.time(100))
        #expect(StoredResult(known: known, retention: .seconds(100)).bytes == nil)
        // The environment byte and the text follow 66 bytes of header.
        let header = try Self.bytes(StoreSamples.alias(at: 0)).prefix(66)
        let text = [0, 0, 0, UInt8(id.utf8.count + 1)] + Array(id.utf8)
        let environmentByte: UInt8 = environment.isApples ? 0 : 2
        #expect(throws: SharedCacheFault.unreadable) {
            try StoredResult(header + [environmentByte] + text, policy: Self.policy)
        }
    }

    @Test func `bytes behind a result without an answer are rejected`() throws {
        let unknown = CachedResult(
            .unknownTransaction(.notFound), fetchedAt: StoreSamples.time(0), freshUntil: StoreSamples.time(5))
        for known in [unknown, StoreSamples.alias(at: 0), StoreSamples.gone(at: 0, until: 60)] {
            let bytes = try Self.bytes(known)
            #expect(throws: SharedCacheFault.unreadable) { try StoredResult(bytes + [0], policy: Self.policy) }
            #expect(throws: SharedCacheFault.unreadable) {
                try StoredResult(Array(bytes.dropLast()), policy: Self.policy)
            }
        }
    }

    @Test(
        arguments: [
            (.answered(StoreSamples.fullAnswer), 86_400), (.accountNotFound, 3600),
            (.unknownTransaction(.notFound), 300), (.unknownTransaction(.idInvalid), 3600),
            (
                .alias(
                    TransactionAlias(originalTransactionID: "1", environment: .production, bundleID: "a.b")),
                30 * 86_400
            ),
            (.unanswered(.upstreamDisagrees), 300), (.unanswered(.upstreamAnswerTooLarge), 60),
        ] as [(UpstreamResult, Int64)])
    func `each kind of result has its own longest freshness and retention`(
        result: UpstreamResult, seconds: Int64
    ) throws {
        func read(_ end: Timestamp, retention: Duration) throws -> StoredResult {
            let known = CachedResult(result, fetchedAt: StoreSamples.time(0), freshUntil: end)
            let bytes = try #require(StoredResult(known: known, retention: retention).bytes)
            return try StoredResult(bytes, policy: Self.policy)
        }
        let end = StoreSamples.time(seconds)
        let longest = Self.policy.retention(
            of: CachedResult(result, fetchedAt: StoreSamples.time(0), freshUntil: end))
        #expect(try read(end, retention: longest).retention == longest)
        #expect(throws: SharedCacheFault.implausibleTimes) {
            try read(end, retention: longest + .milliseconds(1))
        }
        #expect(throws: SharedCacheFault.implausibleTimes) {
            try read(end.advanced(by: .milliseconds(1)), retention: longest)
        }
    }

    @Test func `a failure of one node is not stored for others`() {
        for reason in DegradedReason.allCases where !reason.facts.isOfEvidence {
            let known = CachedResult(
                .unanswered(reason), fetchedAt: StoreSamples.created, freshUntil: StoreSamples.time(100))
            #expect(StoredResult(known: known, retention: .seconds(100)).bytes == nil)
        }
    }

    @Test func `a value truncated before Apple's JSON is rejected`() throws {
        let bytes = try Self.bytes(StoreSamples.known())
        for length in 0..<bytes.count - StoreSamples.body().count {
            #expect(throws: SharedCacheFault.unreadable) {
                try StoredResult(Array(bytes.prefix(length)), policy: Self.policy)
            }
        }
    }

    @Test(
        arguments: [
            // The version and the kind.
            (0, 11, .unreadable), (0, 13, .unreadable), (1, 0, .unreadable), (1, 6, .unreadable), (1, 2, .unreadable),
            (1, 4, .unreadable), (1, 5, .unreadable),
            (34, 1, .implausibleTimes), (34, 0x80, .implausibleTimes), (42, 1, .implausibleTimes),
            (42, 0xFF, .implausibleTimes), (50, 1, .implausibleTimes), (50, 0x80, .implausibleTimes),
            // The number of roots, the environment, the length of the first text, and its first character.
            (66, 0xFF, .unreadable), (70, 2, .unreadable), (71, 0xFF, .unreadable), (75, 0xFF, .unreadable),
        ] as [(Int, UInt8, SharedCacheFault)])
    func `an invalid byte gives its fault`(offset: Int, value: UInt8, fault: SharedCacheFault) throws {
        var bytes = try Self.bytes(StoreSamples.known())
        bytes[offset] = value
        #expect(throws: fault) { try StoredResult(bytes, policy: Self.policy) }
    }

    @Test func `an announced length beyond the end is rejected`() throws {
        let bytes = try Self.bytes(StoreSamples.known())
        // The number of transactions follows the roots, the environment, the bundle ID, the missing revision, consumables
        // and a flag.
        let count = 66 + 4 + 1 + 4 + StoreSamples.bundleID.utf8.count + 4 + 1 + 1
        #expect(Array(bytes[count..<count + 4]) == [0, 0, 0, 1])
        for announced in [[0, 0, 0, 2], [0xFF, 0xFF, 0xFF, 0xFF]] as [[UInt8]] {
            var changed = bytes
            changed.replaceSubrange(count..<count + 4, with: announced)
            #expect(throws: SharedCacheFault.unreadable) { try StoredResult(changed, policy: Self.policy) }
        }
    }

    @Test func `arbitrary bytes do not crash the reader`() throws {
        let bytes = try Self.bytes(StoreSamples.known())
        var state: UInt64 = 7
        for _ in 0..<3000 {
            var changed = bytes
            for _ in 0..<3 {
                state = state &* 6_364_136_223_846_793_005 &+ 1
                changed[Int(state >> 33) % min(changed.count, 300)] = UInt8(truncatingIfNeeded: state >> 20)
            }
            _ = try? StoredResult(changed, policy: Self.policy)
        }
    }

    @Test func `a value larger than the limit is rejected`() throws {
        let fits = try StoreSamples.known(padding: StoredResult.Limits.bytes - Self.bytes(StoreSamples.known()).count)
        #expect(try Self.bytes(fits).count == StoredResult.Limits.bytes)
        #expect(try StoredResult(Self.bytes(fits), policy: Self.policy).known.fetchedAt == StoreSamples.time(100))
        #expect(throws: SharedCacheFault.unreadable) {
            try StoredResult(Self.bytes(fits) + [0x20], policy: Self.policy)
        }
    }
}
