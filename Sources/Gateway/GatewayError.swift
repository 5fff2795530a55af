// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import RateLimits

/// Why a request got no answer.
public enum GatewayError: Error, Hashable, Sendable {
    /// The client asks about an app that is not one of its own.
    case appNotPermitted
    /// The client has used up what it may ask; the buckets that are empty say so, and until when.
    case rateLimited(RateAdmission)
    /// As many requests of the client are in flight as may be.
    case tooManyInFlight
}
