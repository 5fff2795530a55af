// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// An endpoint's deprecation and end, from one source. Dates that were not announced are nil.
public struct LifecycleDates: Hashable, Sendable {
    /// The date from which the endpoint should no longer be used (RFC 9745).
    public var deprecation: Timestamp?
    /// The date from which the endpoint is expected to be gone (RFC 8594).
    public var sunset: Timestamp?

    /// Creates dates.
    public init(deprecation: Timestamp? = nil, sunset: Timestamp? = nil) {
        self.deprecation = deprecation
        self.sunset = sunset
    }

    /// Returns the earlier of each: a client prepared for the earlier date is ready at the later one.
    func earliest(_ other: LifecycleDates) -> LifecycleDates {
        func earlier(_ first: Timestamp?, _ second: Timestamp?) -> Timestamp? {
            [first, second].compactMap(\.self).min()
        }
        return LifecycleDates(
            deprecation: earlier(deprecation, other.deprecation), sunset: earlier(sunset, other.sunset))
    }
}

/// An endpoint's progress towards its end.
public enum LifecycleStage: Hashable, Sendable {
    /// Nothing was announced.
    case current
    /// It should no longer be used; no end is announced.
    case deprecated
    /// Its end is more than thirty days away.
    case announced
    /// This share of the receipts, above 0 and below 1, is answered without the endpoint.
    case ramping(share: Double)
    /// The endpoint is only the fallback.
    case drained
    /// Its end has passed.
    case past
}

extension LifecycleDates {
    private static let rampBegins = Duration.seconds(-30 * 86_400)
    private static let rampEnds = Duration.seconds(-7 * 86_400)

    /// The stage at `now`.
    public func stage(at now: Timestamp) -> LifecycleStage {
        guard let sunset else { return deprecation == nil ? .current : .deprecated }
        let begin = sunset.advanced(by: Self.rampBegins), end = sunset.advanced(by: Self.rampEnds)
        if now >= sunset { return .past }
        if now >= end { return .drained }
        if now <= begin { return .announced }
        return .ramping(share: now.elapsed(since: begin) / end.elapsed(since: begin))
    }
}

extension LifecycleStage {
    /// The share of receipts that is answered without the endpoint where possible, from 0 to 1.
    public var rampShare: Double {
        switch self {
        case .current, .deprecated, .announced: 0
        case .ramping(let share): share
        case .drained, .past: 1
        }
    }

    /// The stage's name in the API and in metrics.
    public var name: String {
        switch self {
        case .current: "current"
        case .deprecated: "deprecated"
        case .announced: "announced"
        case .ramping: "ramping"
        case .drained: "drained"
        case .past: "past"
        }
    }
}

extension Timestamp {
    /// Returns the difference in milliseconds.
    fileprivate func elapsed(since earlier: Timestamp) -> Double {
        Double(millisecondsSince1970) - Double(earlier.millisecondsSince1970)
    }
}
