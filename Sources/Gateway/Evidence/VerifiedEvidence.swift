// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts
internal import Secrets

/// Evidence whose Apple signatures were verified: one or more items of one app and environment.
package struct VerifiedEvidence: Sendable {
    /// The items, at least one.
    package let items: [SignedItem]
    /// The app that the items were signed for; nil if no item names one.
    package let bundleID: String?
    /// The environment that the items were signed in; nil if no item names one.
    package let environment: Environment?
    /// The newest app receipt among the items, in any order of them.
    package let receipt: VerifiedReceipt?

    package init(_ item: SignedItem) {
        items = [item]
        bundleID = item.bundleID
        environment = item.environment
        receipt = item.receipt
    }

    /// Creates the evidence of several items; nil for none. An item without an app or environment goes with any.
    /// - Throws: The value in which two items differ.
    package init?(_ items: [SignedItem]) throws(EvidenceConflict) {
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

/// The value in which two signed items differ, so that they cannot be combined.
package enum EvidenceConflict: Error, Hashable, Sendable {
    case bundleID
    case environment
}

extension VerifiedEvidence {
    /// The transactions of all items, in the order of the items. Computed on each call.
    package var transactions: [Transaction] {
        // The common case: the list of a single item is not copied.
        items.count == 1 ? items[0].transactions : items.flatMap(\.transactions)
    }

    package var renewals: [Renewal] { items.flatMap(\.renewals) }

    /// The time of the oldest signature, after which anything may have changed; nil if an item does not sign its time.
    package var signingTime: Timestamp? {
        let times = items.compactMap(\.signingTime)
        return times.count == items.count ? times.min() : nil
    }

    /// The identity of a single item, or SHA-256 of the sorted identities of several: their order does not matter.
    package var identity: Fingerprint {
        guard items.count > 1 else { return items[0].identity }
        let identities = items.map(\.identity.description).sorted().joined()
        return Fingerprint(of: Array(identities.utf8).span)
    }

    var byteCount: Int { items.reduce(0) { $0 + $1.byteCount } }
}

extension VerifiedEvidence: Redacted {
    package var description: String { "VerifiedEvidence(\(items.count) items)" }
}
