// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// `status`: Apple's result for a receipt, or a fault of Apple.
package enum VerifyReceiptStatus: Hashable, Sendable {
    /// 0: the receipt is valid. Subscriptions in it may have expired.
    case valid
    /// 21000: the request was not a POST.
    case notPOST
    /// 21001: no longer sent.
    case discontinued
    /// 21002: `receipt-data` was malformed, or the service had a temporary issue; Apple does not say which.
    case malformedOrTemporary
    /// 21003: the receipt could not be authenticated.
    case notAuthenticated
    /// 21004: the shared secret is not the account's.
    case wrongSharedSecret
    /// 21005: the receipt server could not provide the receipt.
    case serverUnavailable
    /// 21006: valid, but the subscription has expired. For iOS 6 style transaction receipts only.
    case subscriptionExpired
    /// 21007: a receipt of the sandbox at the production endpoint.
    case sandboxReceipt
    /// 21008: a receipt of production at the sandbox endpoint.
    case productionReceipt
    /// 21009: internal data access error.
    case dataAccess
    /// 21010: the user account cannot be found, or has been deleted.
    case accountNotFound
    /// 21100...21199: internal data access errors; `is_retryable` tells if a retry may succeed.
    case internalDataAccess(Int)
    /// A number Apple has not documented.
    case unknown(Int)

    package init(code: Int) {
        switch code {
        case 21100...21199: self = .internalDataAccess(code)
        default: self = Self.numbered.first { $0.code == code } ?? .unknown(code)
        }
    }

    package var code: Int {
        switch self {
        case .valid: 0
        case .notPOST: 21000
        case .discontinued: 21001
        case .malformedOrTemporary: 21002
        case .notAuthenticated: 21003
        case .wrongSharedSecret: 21004
        case .serverUnavailable: 21005
        case .subscriptionExpired: 21006
        case .sandboxReceipt: 21007
        case .productionReceipt: 21008
        case .dataAccess: 21009
        case .accountNotFound: 21010
        case .internalDataAccess(let code), .unknown(let code): code
        }
    }

    /// All statuses with a single number.
    private static let numbered: [Self] = [
        .valid, .notPOST, .discontinued, .malformedOrTemporary, .notAuthenticated, .wrongSharedSecret,
        .serverUnavailable, .subscriptionExpired, .sandboxReceipt, .productionReceipt, .dataAccess, .accountNotFound,
    ]
}

extension VerifyReceiptStatus {
    /// True if the rest of the answer may be trusted. Otherwise it may hold a receipt that Apple does not confirm.
    package var confirmsReceipt: Bool { self == .valid || self == .subscriptionExpired }

    /// The status's name in metrics.
    package var label: String {
        switch self {
        case .internalDataAccess: "211xx"
        case .unknown: "unknown"
        default: String(code)
        }
    }
}

extension VerifyReceiptStatus: CustomStringConvertible {
    package var description: String { "\(code): \(explanation)" }

    /// The meaning in one sentence.
    package var explanation: String {
        switch self {
        case .valid: "The receipt is valid."
        case .notPOST: "Apple reports that the request was not a POST: a fault of the gateway or of a proxy."
        case .discontinued: "A status that Apple no longer sends."
        case .malformedOrTemporary: "Apple could not read the receipt, or had a temporary issue."
        case .notAuthenticated: "Apple could not authenticate the receipt."
        case .wrongSharedSecret: "The shared secret configured for this app is not the one in App Store Connect."
        case .serverUnavailable: "Apple's receipt server could not provide the receipt."
        case .subscriptionExpired: "The receipt is valid, and its subscription has expired."
        case .sandboxReceipt: "A receipt of the sandbox was sent to the production endpoint."
        case .productionReceipt: "A receipt of production was sent to the sandbox endpoint."
        case .dataAccess, .internalDataAccess: "Apple had an internal data access error."
        case .accountNotFound: "The customer's account cannot be found or has been deleted."
        case .unknown: "A status that Apple has not documented."
        }
    }
}
