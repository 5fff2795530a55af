// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Resilience
internal import Synchronization

/// The items verified lately in this process, by the digest of all bytes of their JWS; bounded in bytes.
///
/// A customer's history is sent again and again with one new transaction. A digest costs a tenth of a verification.
/// Only verified items are kept, so that junk evicts none.
package final class SignedItemCache: Sendable {
    private let items: Mutex<S3FIFOCache<Fingerprint, SignedItem>>
    private let onLookup: @Sendable (_ isKnown: Bool) -> Void

    /// - Parameters:
    ///   - maximumBytes: the limit of all items together; 0 keeps none.
    ///   - onLookup: called after each look-up.
    package init(maximumBytes: Int, onLookup: @escaping @Sendable (_ isKnown: Bool) -> Void = { _ in }) {
        items = Mutex(S3FIFOCache(maximumBytes: maximumBytes))
        self.onLookup = onLookup
    }

    func item(of digest: Fingerprint) -> SignedItem? {
        let item = items.withLock { $0.find(digest) }
        onLookup(item != nil)
        return item
    }

    func insert(_ item: SignedItem, of digest: Fingerprint) {
        items.withLock { $0.insert(item, for: digest, byteCount: item.byteCount) }
    }
}
