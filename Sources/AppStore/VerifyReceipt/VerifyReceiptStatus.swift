// SPDX-License-Identifier: Apache-2.0

/// `status`: Apple's result for a receipt, or a fault of Apple.
package enum VerifyReceiptStatus: Hashable, Sendable {
    case valid
    case notPOST
    case discontinued
    /// Apple does not say which of the two.
    case malformedOrTemporary
    case notAuthenticated
    case wrongSharedSecret
    case serverUnavailable
    /// For iOS 6 style transaction receipts only.
    case subscriptionExpired
    case sandboxReceipt
    case productionReceipt
    case dataAccess
    case accountNotFound
    /// 21100...21199; `is_retryable` tells if a retry may succeed.
    case internalDataAccess(Int)
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

    private static let numbered: [Self] = [
        .valid, .notPOST, .discontinued, .malformedOrTemporary, .notAuthenticated, .wrongSharedSecret,
        .serverUnavailable, .subscriptionExpired, .sandboxReceipt, .productionReceipt, .dataAccess, .accountNotFound,
    ]

    /// True if the rest of the answer may be trusted. Otherwise it may hold a receipt that Apple does not confirm.
    package var confirmsReceipt: Bool { self == .valid || self == .subscriptionExpired }

    package var label: String {
        switch self {
        case .internalDataAccess: "211xx"
        case .unknown: "unknown"
        default: String(code)
        }
    }

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
