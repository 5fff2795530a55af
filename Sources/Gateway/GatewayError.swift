// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Why a request got no answer.
public enum GatewayError: Error, Hashable, Sendable {
    /// The client asks about an app that is not one of its own.
    case appNotPermitted

    /// Where the fault lies.
    public enum Source: Hashable, Sendable {
        /// With who asks.
        case client
        /// With Apple.
        case upstream
        /// With this gateway.
        case `internal`
    }

    /// Where the fault lies.
    public var source: Source {
        switch self {
        case .appNotPermitted: .client
        }
    }

    /// Whether the same request may succeed later.
    public var isRetryable: Bool {
        switch self {
        case .appNotPermitted: false
        }
    }
}
