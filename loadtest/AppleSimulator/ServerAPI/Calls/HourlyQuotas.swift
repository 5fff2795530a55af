// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Receipts

/// The calls of each app and operation in the last hour, as values: time is an argument.
struct HourlyQuotas: Sendable {
    struct Name: Hashable, Sendable {
        let app: AppInStore
        let operation: APIOperation
    }

    private var quotas: [Name: SlidingHour] = [:]
    private let maximumQuotas: Int

    init(maximumQuotas: Int) {
        self.maximumQuotas = maximumQuotas
    }

    /// Counts a call.
    ///
    /// - Parameter share: the share of Apple's limit that is enforced; nil for none.
    /// - Returns: nil for a call within the limit; else the time of the next call within it.
    mutating func count(_ name: Name, share: Double?, at now: Timestamp) -> Timestamp? {
        guard quotas[name] != nil || quotas.count < maximumQuotas else { return nil }
        let limit = share.map { Int(Double(name.operation.requestsPerHour(at: name.app.endpoint)) * $0) }
        return quotas[name, default: SlidingHour()].count(limit: limit, at: now)
    }

    /// The counts for the statistics, in a stable order.
    var counts: [ServerAPIStats.Quota] {
        quotas.map { name, hour in
            ServerAPIStats.Quota(
                bundleId: name.app.bundleID, environment: name.app.endpoint.rawValue,
                operation: name.operation.rawValue, calls: hour.calls, refused: hour.refused,
                maximumPerHour: hour.maximum)
        }.sorted { ($0.bundleId, $0.environment, $0.operation) < ($1.bundleId, $1.environment, $1.operation) }
    }
}

/// The calls of the last hour, by the second in which they came.
struct SlidingHour: Sendable {
    private static let length: Int64 = 3600

    /// The calls of each second that had some, oldest first.
    private var seconds = CircularBuffer<(second: Int64, calls: Int)>()
    private var inHour = 0
    private(set) var calls = 0
    private(set) var refused = 0
    /// The most calls of any hour, without refused calls.
    private(set) var maximum = 0

    /// Counts a call. A refused call takes no part of the limit.
    /// - Returns: nil within the limit; else the time at which the oldest second leaves the hour.
    mutating func count(limit: Int?, at now: Timestamp) -> Timestamp? {
        let second = now.millisecondsSince1970 / 1000
        while let oldest = seconds.first, oldest.second <= second - Self.length {
            inHour -= oldest.calls
            seconds.removeFirst()
        }
        calls += 1
        if let limit, inHour >= limit {
            refused += 1
            let oldest = seconds.first?.second ?? second
            return Timestamp(millisecondsSince1970: (oldest + Self.length) * 1000)
        }
        add(second)
        maximum = max(maximum, inHour)
        return nil
    }

    private mutating func add(_ second: Int64) {
        inHour += 1
        if let last = seconds.indices.last, seconds[last].second >= second {
            seconds[last].calls += 1
        } else {
            seconds.append((second, 1))
        }
    }
}
