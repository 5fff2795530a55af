// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import RateLimits

/// The reason why a request got no answer.
public enum GatewayError: Error, Hashable, Sendable {
    /// The app is not one of the client's own.
    case appNotPermitted
    /// A rate limit is exceeded; the outcomes tell which buckets are empty, and until when.
    case rateLimited(RateAdmission)
    /// The client's concurrency limit is exceeded.
    case tooManyInFlight
}
