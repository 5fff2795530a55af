// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// `status`: what Apple says about a receipt, or about itself.
package enum VerifyReceiptStatus: Hashable, Sendable {
    /// 0: the receipt is valid. Subscriptions in it may have expired.
    case valid
    /// 21000: the request was no POST.
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
    /// 21100...21199: internal data access errors of which `is_retryable` says whether they pass.
    case internalDataAccess(Int)
    /// A number Apple has not documented.
    case unknown(Int)

    /// The status of a number.
    package init(code: Int) {
        switch code {
        case 21100...21199: self = .internalDataAccess(code)
        default: self = Self.numbered.first { $0.code == code } ?? .unknown(code)
        }
    }

    /// Apple's number.
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

    /// All that have one number.
    private static let numbered: [Self] = [
        .valid, .notPOST, .discontinued, .malformedOrTemporary, .notAuthenticated, .wrongSharedSecret,
        .serverUnavailable, .subscriptionExpired, .sandboxReceipt, .productionReceipt, .dataAccess, .accountNotFound,
    ]
}

// MARK: - Meaning

extension VerifyReceiptStatus {
    /// What a status is about, and with it who has to do something.
    package enum Meaning: Hashable, Sendable {
        /// The receipt is genuine, and the answer says what it entitles to.
        case genuine
        /// The receipt is genuine, and the subscription it is about is over.
        case expired
        /// The endpoint of this environment has the answer.
        case ask(Environment)
        /// The receipt, or a moment of Apple's: what the signature says decides.
        case malformed
        /// Not a receipt Apple vouches for; if its signature is good, Apple and we disagree.
        case notAuthenticated
        /// The operator's: the shared secret of the app.
        case credentials
        /// The customer's account is gone, and stays so.
        case accountGone
        /// Apple's: it could not answer.
        case unavailable
        /// Ours: the gateway asks in a way it should not.
        case ourMistake
        /// Nobody has said.
        case unknown
    }

    /// What the status is about.
    package var meaning: Meaning {
        switch self {
        case .valid: .genuine
        case .subscriptionExpired: .expired
        case .sandboxReceipt: .ask(.sandbox)
        case .productionReceipt: .ask(.production)
        case .malformedOrTemporary: .malformed
        case .notAuthenticated: .notAuthenticated
        case .wrongSharedSecret: .credentials
        case .accountNotFound: .accountGone
        case .serverUnavailable, .dataAccess, .internalDataAccess: .unavailable
        case .notPOST, .discontinued: .ourMistake
        case .unknown: .unknown
        }
    }

    /// Whether the rest of the answer may be read: bodies with other statuses can carry a full receipt too, of which
    /// Apple then says that it is not to be trusted.
    package var vouchesForReceipt: Bool { self == .valid || self == .subscriptionExpired }

    /// Whether the same question may soon find another answer.
    ///
    /// - Parameters:
    ///   - appleSays: `is_retryable` of the answer. It decides for 21100...21199 and for unknown statuses.
    ///   - verifiedLocally: whether the receipt's signature was verified. Then 21002 and 21003 are Apple's failures.
    package func isRetryable(appleSays: Bool?, verifiedLocally: Bool) -> Bool {
        switch self {
        case .serverUnavailable, .dataAccess: true
        case .internalDataAccess, .unknown: appleSays ?? false
        case .malformedOrTemporary, .notAuthenticated: verifiedLocally
        case .valid, .subscriptionExpired, .sandboxReceipt, .productionReceipt, .wrongSharedSecret, .accountNotFound,
            .notPOST, .discontinued:
            false
        }
    }

    /// One of a closed set, for metrics.
    package var label: String {
        switch self {
        case .internalDataAccess: "211xx"
        case .unknown: "unknown"
        default: String(code)
        }
    }
}

extension VerifyReceiptStatus: CustomStringConvertible {
    /// One sentence for operators.
    package var description: String { "\(code): \(explanation)" }

    /// The meaning in one sentence.
    package var explanation: String {
        switch self {
        case .valid: "The receipt is valid."
        case .notPOST: "Apple says that the request was no POST: a fault of the gateway or of a proxy before Apple."
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
