// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts

@testable import Customers

/// The states of chains and their events, as notifications, verifications and time make them.
struct Chronicle {
    static let expiryDelay: Duration = .seconds(3600)

    private(set) var states: [PurchaseChain: CustomerState] = [:]
    private(set) var announced: [PurchaseChain: Set<String>] = [:]
    private(set) var events: [Event] = []
    var keepsSignedData = false

    /// Applies a notification.
    /// - Parameter now: by default the time of signing.
    @discardableResult mutating func take(_ notice: SignedNotice, at now: Timestamp? = nil) -> [Event] {
        apply([notice.transaction], notice.renewal, to: notice.chain, notice.cause, at: now ?? notice.cause.signedDate)
    }

    /// Applies the states that a verification found.
    @discardableResult mutating func verify(
        _ transactions: [Transaction], _ renewal: Renewal? = nil, of chain: PurchaseChain = EventSamples.chain,
        at now: Timestamp
    ) -> [Event] {
        apply(transactions, renewal, to: chain, EventCause(source: .verification, signedDate: now), at: now)
    }

    /// Lets time pass until an event is due, and applies the schedule.
    mutating func wait(for chain: PurchaseChain = EventSamples.chain) -> [Event] {
        guard let due = nextEventTime(of: chain) else { return [] }
        return apply([], nil, to: chain, EventCause(source: .schedule, signedDate: due), at: due)
    }

    /// - Parameter now: by default long ago, so that no date is history.
    func nextEventTime(
        of chain: PurchaseChain = EventSamples.chain, at now: Timestamp = .init(millisecondsSince1970: 0)
    ) -> Timestamp? {
        states[chain]?.nextEventTime(
            of: chain, announced: announced[chain] ?? [], expiryDelay: Self.expiryDelay,
            at: now)
    }

    /// Applies the schedule at a time.
    @discardableResult mutating func pass(
        to now: Timestamp, of chain: PurchaseChain = EventSamples.chain
    ) -> [Event] {
        apply([], nil, to: chain, EventCause(source: .schedule, signedDate: now), at: now)
    }

    /// Forgets the announced events, as a store does after some time.
    mutating func forgetAnnounced() { announced = [:] }

    @discardableResult mutating func apply(
        _ transactions: [Transaction], _ renewal: Renewal?, to chain: PurchaseChain, _ cause: EventCause,
        at now: Timestamp
    ) -> [Event] {
        let before = states[chain] ?? CustomerState()
        var after = before
        for transaction in transactions { after.merge(transaction) }
        if let renewal { after.merge(renewal) }
        let transition = StateTransition(
            chain: chain, before: before, after: after, announced: announced[chain] ?? [], cause: cause, now: now,
            expiryDelay: Self.expiryDelay, keepsSignedData: keepsSignedData)
        let events = transition.events
        states[chain] = after
        announced[chain, default: []].formUnion(events.map(\.id))
        self.events += events
        return events
    }
}

extension CustomerState {
    /// Keeps the state of a transaction that was signed later. No two are signed at once.
    fileprivate mutating func merge(_ new: Transaction) {
        guard let index = transactions.firstIndex(where: { $0.transactionID == new.transactionID }) else {
            return transactions.append(new)
        }
        if !transactions[index].isSignedLater(than: new) { transactions[index] = new }
    }

    fileprivate mutating func merge(_ new: Renewal) {
        let newest = (renewals + [new]).max { one, other in
            guard let first = one.signedDate, let second = other.signedDate else { return false }
            return first < second
        }
        renewals = newest.map { [$0] } ?? []
    }
}

extension [Event] {
    var types: [String] { map(\.type.rawValue) }
}
