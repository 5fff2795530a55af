// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// What a client sent, after Apple's signatures on it were verified: one or more items about one app and environment.
public struct VerifiedEvidence: Sendable {
    /// The items; at least one.
    public let items: [SignedItem]
    /// The app that the items were signed for; nil if none of them names one.
    public let bundleID: String?
    /// The environment that the items were signed in; nil if none of them names one.
    public let environment: Environment?
    /// The newest app receipt among the items, whatever their order.
    public let receipt: VerifiedReceipt?

    /// The evidence of one item.
    public init(_ item: SignedItem) {
        items = [item]
        bundleID = item.bundleID
        environment = item.environment
        receipt = item.receipt
    }

    /// The evidence of several items; nil for none.
    ///
    /// An item that does not name an app or environment goes with any.
    /// - Throws: The value in which two items differ.
    public init?(_ items: [SignedItem]) throws(EvidenceConflict) {
        guard !items.isEmpty else { return nil }
        let apps = Set(items.compactMap(\.bundleID)), environments = Set(items.compactMap(\.environment))
        guard apps.count <= 1 else { throw .bundleID }
        guard environments.count <= 1 else { throw .environment }
        self.items = items
        bundleID = apps.first
        environment = environments.first
        receipt = items.compactMap(\.receipt).max { first, second in
            let identities = [first, second].map { Fingerprint(of: $0.signedContent).description }
            return (first.creationDate, identities[0]) < (second.creationDate, identities[1])
        }
    }
}

/// The value in which two signed items differ, so that they are no evidence together.
public enum EvidenceConflict: Error, Hashable, Sendable {
    /// They were signed for different apps.
    case bundleID
    /// They were signed in different environments.
    case environment
}

extension VerifiedEvidence {
    /// The transactions of all items, in the order of the items. Read out of them each time.
    public var transactions: [Transaction] {
        // Nearly always: the list of the one item is not copied into another.
        items.count == 1 ? items[0].transactions : items.flatMap(\.transactions)
    }

    /// The plans for subscriptions of all items, in the order of the items. Read out of them each time.
    public var renewals: [Renewal] { items.flatMap(\.renewals) }

    /// The time of the oldest signature, from which on anything may have changed; nil if an item does not sign its time.
    public var signingTime: Timestamp? {
        let times = items.compactMap(\.signingTime)
        return times.count == items.count ? times.min() : nil
    }

    /// The identity of the item. Of several items, SHA-256 of their sorted identities: their order means nothing.
    public var identity: Fingerprint {
        guard items.count > 1 else { return items[0].identity }
        let identities = items.map(\.identity.description).sorted().joined()
        return Fingerprint(of: Array(identities.utf8).span)
    }

    /// The bytes that it takes in memory.
    var byteCount: Int { items.reduce(0) { $0 + $1.byteCount } }
}

extension VerifiedEvidence: CustomStringConvertible, CustomReflectable {
    /// The number of items, and nothing of what they say.
    public var description: String { "VerifiedEvidence(\(items.count) items)" }
    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
