// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON

/// The parameters in paths and queries of the App Store Server API. The raw values are Apple's names.
package enum ServerAPIParameter: String, CaseIterable, Hashable, Sendable {
    // In paths.

    /// A transaction ID, an original transaction ID, or an app transaction ID.
    case transactionID = "transactionId"
    case originalTransactionID = "originalTransactionId"
    case orderID = "orderId"
    case productID = "productId"
    case requestIdentifier
    case testNotificationToken
    case imageIdentifier
    case messageIdentifier
    case locale
    /// A performance test of Retention Messaging.
    case requestID = "requestId"
    /// A change of the Advanced Commerce API, such as `cancel`.
    case change

    // In queries. `productId` is in both.

    case revision
    case paginationToken
    case startDate
    case endDate
    case productType
    case sort
    case subscriptionGroupIdentifier
    case inAppOwnershipType
    case revoked
    case status
    case imageSize

    /// The longest values, in bytes.
    enum Limits {
        /// App Store Connect accepts 100 characters for a product ID. All other names are shorter.
        static let nameBytes = 128
        /// A pagination token is the longest value of a query.
        static let queryValueBytes = 1024
    }

    /// True for a parameter that a query may have several times.
    var isRepeatable: Bool {
        switch self {
        case .productID, .productType, .subscriptionGroupIdentifier, .status: true
        default: false
        }
    }

    /// True for the ID of a customer's transaction.
    var isTransactionID: Bool { [.transactionID, .originalTransactionID].contains(self) }

    /// Returns true for a value in a path. None of them has a character that ends a segment, or needs to be encoded.
    func acceptsInPath(_ value: String) -> Bool {
        switch self {
        case .transactionID, .originalTransactionID: value.isTransactionID
        case .requestIdentifier, .imageIdentifier, .messageIdentifier: ASCII.bytes(uuid: value.utf8Span.span) != nil
        case .change: value.utf8.isWord
        default: value.utf8.isName
        }
    }

    /// Returns true for a decoded value in a query. It is encoded again, so that Apple decides which values there are.
    static func acceptsInQuery(_ value: String) -> Bool {
        (1...Limits.queryValueBytes).contains(value.utf8.count) && value.utf8.allSatisfy(\.isVisible)
    }
}

extension String.UTF8View {
    /// True for letters, digits, `.`, `_` and `-`, with at least one character other than a dot.
    fileprivate var isName: Bool {
        (1...ServerAPIParameter.Limits.nameBytes).contains(count) && allSatisfy(ASCII.isSafe)
            && contains { $0 != UInt8(ascii: ".") }
    }

    /// True for letters, so that it is no ID and may stand in a log.
    fileprivate var isWord: Bool {
        (1...ServerAPIParameter.Limits.nameBytes).contains(count)
            && allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }
    }
}

extension UInt8 {
    var isVisible: Bool { (0x21...0x7E).contains(self) }
}
