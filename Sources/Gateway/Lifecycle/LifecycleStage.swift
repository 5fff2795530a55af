// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// When an endpoint is deprecated and when it ends, from one source. What was not said is nil.
public struct LifecycleDates: Hashable, Sendable {
    /// From when the endpoint should no longer be used (RFC 9745).
    public var deprecation: Timestamp?
    /// From when it is expected to be gone (RFC 8594).
    public var sunset: Timestamp?

    /// These dates.
    public init(deprecation: Timestamp? = nil, sunset: Timestamp? = nil) {
        self.deprecation = deprecation
        self.sunset = sunset
    }

    /// The earlier of each: who prepares for the earlier date is ready at the later one.
    func earliest(_ other: LifecycleDates) -> LifecycleDates {
        func earlier(_ first: Timestamp?, _ second: Timestamp?) -> Timestamp? {
            [first, second].compactMap(\.self).min()
        }
        return LifecycleDates(
            deprecation: earlier(deprecation, other.deprecation), sunset: earlier(sunset, other.sunset))
    }
}

/// How far an endpoint is on its way out.
public enum LifecycleStage: Hashable, Sendable {
    /// Nothing was announced.
    case current
    /// It should no longer be used; no end is known.
    case deprecated
    /// Its end is known and more than thirty days away.
    case announced
    /// This share of the receipts, above 0 and below 1, is answered without it.
    case ramping(share: Double)
    /// It is only the fallback.
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
    /// The share of the receipts that is answered without the endpoint where that is possible, from 0 to 1.
    public var shareMoved: Double {
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
    /// In milliseconds.
    fileprivate func elapsed(since earlier: Timestamp) -> Double {
        Double(millisecondsSince1970) - Double(earlier.millisecondsSince1970)
    }
}
