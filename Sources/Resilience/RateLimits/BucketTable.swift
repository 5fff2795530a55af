// SPDX-License-Identifier: Apache-2.0

/// The known states of buckets, limited in number.
///
/// Only states without information are removed, such as a full bucket: a client cannot regain tokens by using many
/// other subjects. While the table is full of other states, new subjects share one bucket for each policy of their
/// client. Under an attack, that is strict with the new subjects of the attacked client only.
struct BucketTable<Value: Sendable>: Sendable {
    /// The position of a bucket's value, valid until room is made again.
    struct Location: Sendable {
        fileprivate var isCommon = false
        fileprivate let index: Int
    }

    private struct Common: Hashable {
        let client: String
        let policy: RatePolicy
    }

    private var slots: [(bucket: RateBucket, value: Value)] = []
    private var locations: [RateBucket: Int] = [:]
    /// Limited by the number of clients and policies in the configuration.
    private var commons: [Value] = []
    private var commonPlaces: [Common: Int] = [:]
    private var hand = 0
    private let maximumCount: Int

    /// - Parameter maximumCount: the maximum number of buckets with a value of their own.
    init(maximumCount: Int) { self.maximumCount = maximumCount }

    var count: Int { slots.count }

    subscript(location: Location) -> Value {
        get { location.isCommon ? commons[location.index] : slots[location.index].value }
        set {
            if location.isCommon { commons[location.index] = newValue } else { slots[location.index].value = newValue }
        }
    }

    /// Returns the value of a bucket, its own or the shared value; nil for an unknown bucket.
    func value(of bucket: RateBucket) -> Value? {
        if let index = locations[bucket] { return slots[index].value }
        guard slots.count >= maximumCount else { return nil }
        return commonPlaces[Common(client: bucket.client, policy: bucket.policy)].map { commons[$0] }
    }

    /// Returns the positions of these buckets' values. Positions returned earlier become invalid.
    /// - Parameters:
    ///   - isEmpty: returns true if a value may be removed.
    ///   - make: creates the value of a new bucket, or the common value of all buckets without a value of their own.
    mutating func locations(
        of charges: [RateCharge], isEmpty: (Value) -> Bool, make: (RatePolicy, _ isCommon: Bool) -> Value
    ) -> [Location] {
        makeRoom(for: charges.count, isEmpty)
        return charges.map { location(of: $0.bucket, make) }
    }

    private mutating func location(of bucket: RateBucket, _ make: (RatePolicy, Bool) -> Value) -> Location {
        if let index = locations[bucket] { return Location(index: index) }
        if slots.count < maximumCount {
            locations[bucket] = slots.count
            slots.append((bucket, make(bucket.policy, false)))
            return Location(index: slots.count - 1)
        }
        let common = Common(client: bucket.client, policy: bucket.policy)
        let index = commonPlaces[common] ?? commons.count
        if index == commons.count {
            commonPlaces[common] = index
            commons.append(make(bucket.policy, true))
        }
        return Location(isCommon: true, index: index)
    }

    /// The values examined for each requested value. More than one, so that room is made faster than it is taken.
    private static var looks: Int { 4 }

    /// Removes empty values, examining a few for each requested position, from where the last examination ended.
    private mutating func makeRoom(for count: Int, _ isEmpty: (Value) -> Bool) {
        guard slots.count + count > maximumCount else { return }
        for _ in 0..<min(slots.count, count * Self.looks) {
            if hand >= slots.count { hand = 0 }
            if isEmpty(slots[hand].value) { forget(hand) } else { hand += 1 }
        }
    }

    private mutating func forget(_ index: Int) {
        locations[slots[index].bucket] = nil
        let last = slots.removeLast()
        guard index < slots.count else { return }
        slots[index] = last
        locations[last.bucket] = index
    }

    /// Takes tokens from all buckets or from none.
    /// - Parameter take: takes from one bucket; changes nothing if it refuses.
    mutating func takeAll(
        _ charges: [RateCharge], at locations: [Location], _ take: (inout Value, RateCharge) -> BucketDecision
    ) -> [BucketDecision] {
        let before = locations.map { self[$0] }
        let decisions = charges.indices.map { take(&self[locations[$0]], charges[$0]) }
        let isRefused = zip(charges, decisions).contains { $0.isRefused(by: $1.decision) }
        if isRefused { for (location, value) in zip(locations, before) { self[location] = value } }
        return decisions
    }
}

struct BucketDecision: Sendable {
    let decision: TokenDecision
    let source: RateAdmission.Source
}
