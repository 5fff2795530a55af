// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// One of the two servers. Each accepts only receipts of its own environment.
package enum Endpoint: String, CaseIterable, Hashable, Sendable {
    /// Stands for `buy.itunes.apple.com`.
    case production
    /// Stands for `sandbox.itunes.apple.com`.
    case sandbox

    init(_ environment: Environment?) { self = environment == .production ? .production : .sandbox }

    var other: Endpoint { self == .production ? .sandbox : .production }

    var environment: Environment { self == .production ? .production : .sandbox }

    /// The status for a receipt of the other environment: 21007 "sent to production", 21008 "sent to sandbox".
    var statusForOtherEnvironment: Int { self == .production ? 21007 : 21008 }
}

/// One of the two interfaces of the simulator.
enum AppleAPI: String, CaseIterable, Hashable, Sendable {
    case verifyReceipt = "verify_receipt"
    case serverAPI = "server_api"
}

extension ServerFault {
    /// The only interface that can have this fault; nil for both.
    var api: AppleAPI? {
        switch self {
        case .receiptStatus, .latestReceipt: .verifyReceipt
        case .serverAPIError: .serverAPI
        default: nil
        }
    }
}
