// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON

/// The parameters in paths and queries of the App Store Server API. The raw values are Apple's names.
package enum ServerAPIParameter: String, CaseIterable, Hashable, Sendable {
    /// A transaction ID, an original transaction ID, or an app transaction ID.
    case transactionID = "transactionId"
    case orderID = "orderId"
    case productID = "productId"
    case requestIdentifier
    case testNotificationToken
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

    /// The longest values, in bytes.
    enum Limits {
        /// Order IDs and subscription groups.
        static let nameBytes = 64
        /// App Store Connect accepts 100 characters.
        static let productIDBytes = 128
        static let testTokenBytes = 128
        /// Milliseconds since 1970.
        static let dateDigits = 15
        static let tokenBytes = 1024
    }

    /// True for a parameter that a query may have several times.
    var isRepeatable: Bool {
        switch self {
        case .productID, .productType, .subscriptionGroupIdentifier, .status: true
        default: false
        }
    }

    /// Returns true for a value of this parameter, decoded. None of them has a character that ends a path's segment.
    func accepts(_ value: String) -> Bool {
        let bytes = value.utf8
        return switch self {
        case .transactionID: value.isTransactionID
        case .orderID, .subscriptionGroupIdentifier: bytes.isName(upTo: Limits.nameBytes)
        case .productID: bytes.isName(upTo: Limits.productIDBytes)
        case .testNotificationToken: bytes.isName(upTo: Limits.testTokenBytes)
        case .requestIdentifier: bytes.isUUID
        case .revision, .paginationToken: (1...Limits.tokenBytes).contains(bytes.count) && bytes.allSatisfy(\.isVisible)
        case .startDate, .endDate: (1...Limits.dateDigits).contains(bytes.count) && bytes.allSatisfy(\.isDigit)
        case .productType: ["AUTO_RENEWABLE", "NON_RENEWABLE", "CONSUMABLE", "NON_CONSUMABLE"].contains(value)
        case .sort: ["ASCENDING", "DESCENDING"].contains(value)
        case .inAppOwnershipType: ["PURCHASED", "FAMILY_SHARED"].contains(value)
        case .revoked: ["true", "false"].contains(value)
        case .status: ["1", "2", "3", "4", "5"].contains(value)
        }
    }
}

extension String.UTF8View {
    /// Returns true for letters, digits, `.`, `_` and `-`, with at least one character other than a dot.
    fileprivate func isName(upTo maximumBytes: Int) -> Bool {
        (1...maximumBytes).contains(count) && allSatisfy(ASCII.isSafe) && contains { $0 != UInt8(ascii: ".") }
    }

    /// True for 32 hexadecimal digits in five groups (RFC 9562 §4).
    fileprivate var isUUID: Bool {
        let groups = split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12]
            && groups.allSatisfy { $0.allSatisfy { ASCII.hexadecimalValue(of: $0) != nil } }
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    var isVisible: Bool { (0x21...0x7E).contains(self) }
}
