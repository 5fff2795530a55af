// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What is known of buckets, bounded in number.
///
/// Only what says nothing is ever forgotten, such as a full bucket; so nobody gets tokens back by asking for many other
/// subjects. While the table is full of others, new subjects have one bucket in common for each policy of their
/// tenant. That is strict with newcomers of a tenant under an attack, and with nobody else.
struct BucketTable<Value: Sendable>: Sendable {
    /// Where a bucket's value lies, until room is made again.
    enum Location: Sendable {
        case own(Int)
        case common(Int)
    }

    /// A bucket's decision, and who made it.
    struct BucketDecision: Sendable {
        var decision: RateAdmission.Decision
        var source: RateAdmission.Source
    }

    private struct Common: Hashable {
        let tenant: String
        let policy: RatePolicy
    }

    private var slots: [(bucket: RateBucket, value: Value)] = []
    private var locations: [RateBucket: Int] = [:]
    /// The configuration bounds how many tenants and policies there are.
    private var commons: [Value] = []
    private var commonPlaces: [Common: Int] = [:]
    private var hand = 0
    private let maximumCount: Int

    /// - Parameter maximumCount: of buckets that have a value of their own.
    init(maximumCount: Int) {
        self.maximumCount = maximumCount
    }

    /// How many buckets have a value of their own.
    var count: Int { slots.count }

    subscript(location: Location) -> Value {
        get {
            switch location {
            case .own(let index): slots[index].value
            case .common(let index): commons[index]
            }
        }
        set {
            switch location {
            case .own(let index): slots[index].value = newValue
            case .common(let index): commons[index] = newValue
            }
        }
    }

    /// The value of a bucket, its own or the one it has in common with others; nil for a bucket of which nothing is known.
    func value(of bucket: RateBucket) -> Value? {
        if let index = locations[bucket] { return slots[index].value }
        guard slots.count >= maximumCount else { return nil }
        return commonPlaces[Common(tenant: bucket.tenant, policy: bucket.policy)].map { commons[$0] }
    }

    /// Where the values of these buckets lie. Places found earlier mean nothing from now on.
    /// - Parameters:
    ///   - isEmpty: whether a value may be forgotten.
    ///   - make: the value of a bucket that has none, or of all those that have none of their own.
    mutating func locations(
        of charges: [RateCharge], isEmpty: (Value) -> Bool, make: (RatePolicy, _ isCommon: Bool) -> Value
    ) -> [Location] {
        makeRoom(for: charges.count, isEmpty)
        return charges.map { location(of: $0.bucket, make) }
    }

    private mutating func location(of bucket: RateBucket, _ make: (RatePolicy, Bool) -> Value) -> Location {
        if let index = locations[bucket] { return .own(index) }
        if slots.count < maximumCount {
            locations[bucket] = slots.count
            slots.append((bucket, make(bucket.policy, false)))
            return .own(slots.count - 1)
        }
        let common = Common(tenant: bucket.tenant, policy: bucket.policy)
        if let index = commonPlaces[common] { return .common(index) }
        commonPlaces[common] = commons.count
        commons.append(make(bucket.policy, true))
        return .common(commons.count - 1)
    }

    /// Looks at a few values for each place that is wanted, where the last look ended, and forgets those that are empty.
    private mutating func makeRoom(for count: Int, _ isEmpty: (Value) -> Bool) {
        guard slots.count + count > maximumCount else { return }
        for _ in 0..<min(slots.count, count * Limits.looks) {
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

    /// Takes from all or from none.
    /// - Parameter take: takes from one; changes nothing if it refuses.
    mutating func takeAll(
        _ charges: [RateCharge], at locations: [Location], _ take: (inout Value, RateCharge) -> BucketDecision
    ) -> [BucketDecision] {
        let before = locations.map { self[$0] }
        let decisions = charges.indices.map { take(&self[locations[$0]], charges[$0]) }
        let isRefused = charges.indices.contains { index in
            decisions[index].decision.isRefusal && !charges[index].bucket.policy.isShadow
        }
        if isRefused { for (location, value) in zip(locations, before) { self[location] = value } }
        return decisions
    }
}

/// How much work is done to make room.
private enum Limits {
    /// Values looked at for each that is wanted. More than one, so that room is made faster than it is taken.
    static let looks = 4
}
