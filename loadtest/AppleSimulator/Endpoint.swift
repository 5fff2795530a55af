// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// One of the two servers. Each accepts only receipts of its own environment.
package enum Endpoint: String, CaseIterable, Hashable, Sendable {
    /// Stands for `buy.itunes.apple.com`.
    case production
    /// Stands for `sandbox.itunes.apple.com`.
    case sandbox

    var environment: Environment { self == .production ? .production : .sandbox }

    /// The status for a receipt of the other environment: 21007 "sent to production", 21008 "sent to sandbox".
    var statusForOtherEnvironment: Int { self == .production ? 21007 : 21008 }
}
