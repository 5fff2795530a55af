// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

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
