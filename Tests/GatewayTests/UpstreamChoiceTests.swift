// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Gateway

/// The choice of the interface that answers about a subject.
struct UpstreamChoiceTests {
    private static func subject(_ item: SignedItem) -> VerificationSubject { .signed(VerifiedEvidence(item)) }

    private static let receipt = Result {
        subject(.appReceipt(try Samples.verified(Samples.receipt(with: [Period("1", 0..<100)]))))
    }

    private static let transaction = Result {
        subject(
            .transaction(
                try SignedSamples.verifier.verifyTransaction(SignedSamples.transaction(), at: SignedSamples.time(1))))
    }

    private static func choice(
        _ subject: VerificationSubject, _ mode: Mode, _ permitted: ReceiptUpstream = .both, secret: Bool, key: Bool,
        isMoved: Bool = false, isFullyPaid: Bool = true
    ) throws -> [UpstreamAPI] {
        try UpstreamAPI.choice(
            for: subject, mode: mode, isFullyPaid: { isFullyPaid },
            UpstreamConditions(permitted: permitted, hasSecret: secret, hasServerAPI: key, isMoved: { isMoved }))
    }

    @Test(
        arguments: [
            (.auto, true, true, false, [.verifyReceipt, .serverAPI]),
            (.apple, true, true, false, [.verifyReceipt, .serverAPI]),
            (.appleFirst, true, true, false, [.verifyReceipt, .serverAPI]),
            (.appleFirst, false, true, false, [.verifyReceipt, .serverAPI]),
            // Without a secret verifyReceipt has nothing about subscriptions but its form.
            (.auto, false, true, false, [.serverAPI]), (.apple, false, true, false, [.serverAPI]),
            // Moved.
            (.auto, true, true, true, [.serverAPI, .verifyReceipt]),
            (.apple, true, true, true, [.serverAPI, .verifyReceipt]),
            (.appleFirst, true, true, true, [.serverAPI, .verifyReceipt]),
            (.appleFirst, false, true, true, [.serverAPI, .verifyReceipt]),
            // Without a key.
            (.auto, true, false, false, [.verifyReceipt]), (.apple, false, false, false, [.verifyReceipt]),
            (.appleFirst, false, false, false, [.verifyReceipt]), (.auto, true, false, true, []),
            (.apple, true, false, true, [.verifyReceipt]), (.appleFirst, true, false, true, [.verifyReceipt]),
        ] as [(Mode, Bool, Bool, Bool, [UpstreamAPI])])
    func `receipts go to verifyReceipt, and move to the Server API where there is a key`(
        mode: Mode, secret: Bool, key: Bool, isMoved: Bool, expected: [UpstreamAPI]
    ) throws {
        #expect(try Self.choice(Self.receipt.get(), mode, secret: secret, key: key, isMoved: isMoved) == expected)
    }

    @Test func `without a key only what is paid for is answered without Apple`() throws {
        let receipt = try Self.receipt.get()
        #expect(
            try Self.choice(receipt, .auto, secret: true, key: false, isMoved: true, isFullyPaid: false)
                == [.verifyReceipt])
    }

    @Test(
        arguments: [
            (Mode.appleFirst, false, [.verifyReceipt]), (.appleFirst, true, []), (.auto, true, []),
            (.apple, true, [.verifyReceipt]),
        ] as [(Mode, Bool, [UpstreamAPI])])
    func `a receipt without purchases is complete, unless the client requires Apple's answer`(
        mode: Mode, isMoved: Bool, expected: [UpstreamAPI]
    ) throws {
        let receipt = Self.subject(.appReceipt(try Samples.verified(Samples.receipt(with: []))))
        #expect(try Self.choice(receipt, mode, secret: true, key: false, isMoved: isMoved) == expected)
    }

    @Test(arguments: [Mode.auto, .apple, .appleFirst], [false, true])
    func `the operator's choice permits one interface`(mode: Mode, isMoved: Bool) throws {
        let receipt = try Self.receipt.get()
        #expect(
            try Self.choice(receipt, mode, .serverAPI, secret: true, key: true, isMoved: isMoved) == [.serverAPI])
        #expect(throws: UndecidedReason.upstreamNotConfigured) {
            try Self.choice(receipt, mode, .serverAPI, secret: true, key: false, isMoved: isMoved)
        }
        let old = try Self.choice(receipt, mode, .verifyReceipt, secret: true, key: true, isMoved: isMoved)
        #expect(old == [.verifyReceipt])
        // It is about receipts.
        #expect(try Self.choice(Self.transaction.get(), mode, .verifyReceipt, secret: true, key: true) == [.serverAPI])
    }

    @Test(arguments: [false, true]) func `only the Server API answers for JWS and for IDs`(secret: Bool) throws {
        for subject in [try Self.transaction.get(), .lookup(bundleID: SignedSamples.app, transactionID: "1")] {
            #expect(try Self.choice(subject, .auto, secret: secret, key: true) == [.serverAPI])
            #expect(throws: UndecidedReason.upstreamNotConfigured) {
                try Self.choice(subject, .auto, secret: secret, key: false)
            }
        }
    }

    // MARK: - Lifecycle

    private static let end = Timestamp(millisecondsSince1970: 1_900_000_000_000)
    private static let endpoint = UpstreamEndpoint(.verifyReceipt, .production)

    private static func days(_ count: Double) -> Timestamp { end.advanced(by: .seconds(-86_400 * count)) }

    @Test func `the ramp moves the same subjects, and more each day`() {
        let lifecycle = UpstreamLifecycle(configured: LifecycleDates(sunset: Self.end))
        #expect(!lifecycle.moves(0, from: Self.endpoint, at: Self.days(31)))
        #expect(lifecycle.moves(0.4, from: Self.endpoint, at: Self.days(18.5)))
        #expect(!lifecycle.moves(0.6, from: Self.endpoint, at: Self.days(18.5)))
        #expect(lifecycle.moves(0.6, from: Self.endpoint, at: Self.days(8)))
        #expect(!lifecycle.moves(0, from: UpstreamEndpoint(.serverAPI, .production), at: Self.days(1)))
    }

    @Test(arguments: [6, 0, -30] as [Double])
    func `one receipt in ten minutes shows if the end is postponed`(daysLeft: Double) {
        let lifecycle = UpstreamLifecycle(configured: LifecycleDates(sunset: Self.end))
        let now = Self.days(daysLeft)
        let moves = [0, 0, 599, 600, 601, 1200].map { seconds in
            let time = now.advanced(by: .seconds(seconds))
            let isMoved = lifecycle.moves(0.5, from: Self.endpoint, at: time)
            if !isMoved { lifecycle.recordRequest(to: Self.endpoint, at: time) }
            return isMoved
        }
        #expect(moves == [false, true, true, false, true, false])
        #expect(!lifecycle.moves(0.5, from: UpstreamEndpoint(.verifyReceipt, .sandbox), at: now))
    }

    @Test func `a check stays due until a request is sent`() {
        let lifecycle = UpstreamLifecycle(configured: LifecycleDates(sunset: Self.end))
        for _ in 0..<3 { #expect(!lifecycle.moves(0.5, from: Self.endpoint, at: Self.end)) }
        lifecycle.recordRequest(to: Self.endpoint, at: Self.end)
        #expect(lifecycle.moves(0.5, from: Self.endpoint, at: Self.end))
    }

    @Test func `an announcement that Apple leaves out for six hours is withdrawn`() {
        let lifecycle = UpstreamLifecycle(), dates = LifecycleDates(sunset: Self.end), hours: Int64 = 3600
        func absent(after seconds: Int64) -> Bool {
            lifecycle.recordAbsence(of: Self.endpoint, at: Self.days(60).advanced(by: .seconds(seconds)))
        }
        #expect(!absent(after: -9 * hours))
        lifecycle.record(dates, links: [], of: Self.endpoint)
        #expect(!absent(after: 0) && !absent(after: 6 * hours - 1))
        // Some of Apple's servers lack it.
        lifecycle.record(dates, links: [], of: Self.endpoint)
        #expect(!absent(after: 6 * hours) && !absent(after: 12 * hours - 1))
        // Another node's knowledge is no answer to this one.
        #expect(!lifecycle.adopt(dates, links: [], of: Self.endpoint))
        #expect(lifecycle.state(of: Self.endpoint).dates.sunset == Self.end)
        #expect(absent(after: 12 * hours))
        #expect(lifecycle.state(of: Self.endpoint).dates.sunset == nil && !absent(after: 20 * hours))
    }

    @Test func `the operator's date stays when Apple withdraws its own`() {
        let lifecycle = UpstreamLifecycle(configured: LifecycleDates(sunset: Self.end))
        lifecycle.record(LifecycleDates(sunset: Self.days(10)), links: [], of: Self.endpoint)
        #expect(lifecycle.state(of: Self.endpoint).dates.sunset == Self.days(10))
        for isNews in [true, false] {
            #expect(lifecycle.adopt(LifecycleDates(), links: [], of: Self.endpoint) == isNews)
        }
        #expect(lifecycle.state(of: Self.endpoint).dates.sunset == Self.end)
    }
}
