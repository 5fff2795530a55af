// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Resilience

/// The gateway's share of Apple's quotas, as token buckets that the fleet shares.
///
/// Apple enforces its limits hourly. A bucket of capacity c and refill rate r admits c + 3600 s · r in an hour, which
/// is at most the share of the hourly limit.
package struct ServerAPIBudget: Hashable, Sendable {
    /// The share of Apple's limit for all calls.
    package var share: Double
    /// The share of that for IDs without evidence.
    package var lookupShare: Double

    package enum Limits {
        package static let share = 0.01...1.0
    }

    /// Creates a budget; shares outside `Limits` are clamped.
    package init(share: Double = 0.9, lookupShare: Double = 0.3) {
        self.share = share.clamped(to: Limits.share)
        self.lookupShare = lookupShare.clamped(to: Limits.share)
    }

    /// The charges of one call: to the app's bucket for the operation, and without evidence also to a smaller bucket.
    func charges(for request: ServerAPIRequest) -> [RateCharge] {
        let (operation, environment) = (request.call.operation, request.environment)
        let subject = "\(UpstreamAPI.serverAPI.rawValue):\(environment.rawValue):\(request.bundleID)"
        // In the sandbox, Apple's limit is a tenth.
        let perSecond = Double(operation.requestsPerSecond) / (environment == .production ? 1 : 10)
        let hourly = 3600 * perSecond * share
        // No client has an empty name.
        var buckets = [RateBucket(client: "", policy: Self.policy(operation.rawValue, hourly), subject: subject)]
        if request.share == .withoutEvidence {
            let policy = Self.policy("\(operation.rawValue)_lookup", hourly * lookupShare)
            buckets.append(RateBucket(client: "", policy: policy, subject: subject))
        }
        return buckets.map { RateCharge($0) }
    }

    /// Returns the policy that admits at most this number of calls in any hour, but at least one and its refill. The
    /// capacity is what a minute refills.
    static func policy(_ name: String, _ callsPerHour: Double) -> RatePolicy {
        // With capacity n/60: n/60 + n = n · 61/60.
        let refill = max(1, min(Int(callsPerHour * 60 / 61), Int(callsPerHour) - 1))
        return RatePolicy(
            name: name, quota: refill, window: .seconds(3600), burst: max(1, refill / 60), isLeased: false)
    }
}
