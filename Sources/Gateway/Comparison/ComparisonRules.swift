// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The comparison of answers with a second source: which answers, and at which cost.
package struct ComparisonRules: Hashable, Sendable {
    package enum Limits {
        package static let share = 0.0...1.0
        package static let requestsPerSecond = 1...1000
        /// The answers that wait for their comparison in one node.
        static let waiting = 256
        /// The bytes of their evidence, and of what Apple answered.
        static let waitingBytes = 16 << 20
        /// The comparisons that one node makes at a time.
        static let concurrency = 4
    }

    package var mode = ComparisonMode.off
    /// The share of the new answers that is compared.
    package var share = 0.01
    /// The comparisons for which all nodes together may call Apple. Each takes as many calls as a new answer to a client.
    package var requestsPerSecond = 1

    package init() {}
}

/// The comparisons that the operator wants. The raw values appear in the configuration.
package enum ComparisonMode: String, CaseIterable, Hashable, Sendable {
    case off = "none"
    case localAndApple = "local_apple"
    case verifyReceiptAndServerAPI = "verify_receipt_server_api"
    case both

    package var pairs: [ComparisonPair] {
        switch self {
        case .off: []
        case .localAndApple: [.localAndApple]
        case .verifyReceiptAndServerAPI: [.verifyReceiptAndServerAPI]
        case .both: ComparisonPair.allCases
        }
    }
}

/// Two sources of one answer. The raw values appear in metrics, in reports and in Redis.
package enum ComparisonPair: String, CaseIterable, Hashable, Sendable {
    /// The data that Apple signed, in evidence and notifications; and Apple's answer now.
    case localAndApple = "local_apple"
    case verifyReceiptAndServerAPI = "verify_receipt_server_api"
}

/// A field of answers that is compared. The raw values are names of answers where there are such, and appear in metrics and
/// reports.
package enum ComparedField: String, CaseIterable, Hashable, Sendable {
    case verdict
    /// A transaction that one source lacks.
    case transaction
    /// The state of a subscription at the time of the earlier source.
    case state
    case productID = "product_id"
    case originalTransactionID = "original_transaction_id"
    case purchaseDate = "purchase_date"
    case originalPurchaseDate = "original_purchase_date"
    case expiresDate = "expires_date"
    /// The end of a transaction by a refund, a revocation or an upgrade. Its time differs between copies.
    case cancellationDate = "cancellation_date"
    case isTrialPeriod = "is_trial_period"
    case isInIntroOfferPeriod = "is_in_intro_offer_period"
    case ownership = "in_app_ownership_type"
    case subscriptionGroup = "subscription_group_identifier"
    case webOrderLineItem = "web_order_line_item_id"
    case promotionalOffer = "promotional_offer_id"
    case quantity
    case appAccountToken = "app_account_token"
    case willRenew = "will_renew"
    case renewalProductID = "auto_renew_product_id"
    case expirationIntent = "expiration_intent"
    case isInBillingRetry = "is_in_billing_retry_period"
    case gracePeriodExpiresDate = "grace_period_expires_date"
}

/// A kind of difference: a field, and what each source says about it, in words of a closed set. No word is a value that
/// belongs to a customer.
package struct ComparisonKind: Hashable, Comparable, Sendable {
    package let field: ComparedField
    /// The word of the source that answered the client.
    package let answered: String
    /// The word of the other source.
    package let compared: String

    package init(_ field: ComparedField, _ answered: String, _ compared: String) {
        (self.field, self.answered, self.compared) = (field, answered, compared)
    }

    /// Reads `text`; nil for a text that names no kind.
    package init?(text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let areWords = parts.allSatisfy { part in
            (1...40).contains(part.utf8.count)
                && part.utf8.allSatisfy { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || $0 == UInt8(ascii: "_") }
        }
        guard parts.count == 3, areWords, let field = ComparedField(rawValue: String(parts[0])) else { return nil }
        self.init(field, String(parts[1]), String(parts[2]))
    }

    /// The name in Redis and on the status page: `state:active:expired`.
    package var text: String { "\(field.rawValue):\(answered):\(compared)" }

    package static func < (one: Self, other: Self) -> Bool { one.text < other.text }
}

/// A difference, and what helps to find its reason without naming a customer.
struct ComparisonDifference: Hashable, Sendable {
    let kind: ComparisonKind
    var productID: String?
    /// For dates: the seconds from the answer's date to the other.
    var seconds: Int64?
}

/// An example of a kind of difference. It has nothing of a customer: no ID, no date of a purchase, and its own time only
/// to the hour.
package struct ComparisonExample: Hashable, Sendable {
    package enum Limits {
        /// The bytes of a name in an example.
        package static let nameBytes = 128
    }

    /// The hour of the comparison.
    package var hour: Timestamp
    package var bundleID: String?
    package var productID: String?
    package var environment: Environment?
    package var evidence: RequestSubject.Kind
    /// The seconds between the times at which both sources knew what they say, in whole days, hours or minutes where there
    /// are such; nil if unknown.
    package var age: Int64?
    /// For dates: the seconds from the answer's date to the other.
    package var seconds: Int64?

    package init(hour: Timestamp, evidence: RequestSubject.Kind) { (self.hour, self.evidence) = (hour, evidence) }
}

/// The result of one comparison.
package enum ComparisonResult: Hashable, Sendable {
    /// Both sources answered; equal without differences.
    case compared([ComparisonKind: ComparisonExample])
    /// The other source gave no answer.
    case unanswered
}
