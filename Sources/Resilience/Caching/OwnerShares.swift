// SPDX-License-Identifier: Apache-2.0

/// The queues of a cache, two for each owner of values.
@usableFromInline struct OwnerShares: Sendable {
    /// The positions of an owner's queues.
    @usableFromInline struct Share: Sendable {
        @usableFromInline let number: Int

        @inlinable init(number: Int) { self.number = number }

        @inlinable var small: Int { 2 * number }
        @inlinable var main: Int { 2 * number + 1 }
    }

    @usableFromInline var queues: [SlotQueue] = []
    /// The owner of each share.
    @usableFromInline var owners: [String] = []
    @usableFromInline var shares: [String: Share] = [:]

    @inlinable init() {}

    @inlinable mutating func share(of owner: String) -> Share { shares[owner] ?? addShare(of: owner) }

    /// Adds an owner, in place of an owner without values: there are never more shares than owners had values at once.
    @usableFromInline mutating func addShare(of owner: String) -> Share {
        let unused = owners.indices.first { byteCount(of: Share(number: $0)) == 0 }
        let share = Share(number: unused ?? owners.count)
        if unused == nil {
            owners.append(owner)
            queues += [SlotQueue(), SlotQueue()]
        } else {
            shares[owners[share.number]] = nil
            owners[share.number] = owner
        }
        shares[owner] = share
        return share
    }

    @inlinable func byteCount(of share: Share) -> Int { queues[share.small].byteCount + queues[share.main].byteCount }

    /// The share with the most bytes; nil if there is no share.
    @inlinable var largest: Share? {
        owners.indices.lazy.map { Share(number: $0) }.max { byteCount(of: $0) < byteCount(of: $1) }
    }

    /// True while the small queue has a tenth of the share or more.
    @inlinable func evictsFromSmallQueue(of share: Share) -> Bool {
        10 * queues[share.small].byteCount >= byteCount(of: share)
    }
}
