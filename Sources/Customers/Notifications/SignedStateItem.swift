// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

/// A signed state of a transaction or of a chain's plan.
package enum SignedStateItem: Hashable, Sendable {
    case transaction(Transaction)
    case renewal(Renewal)

    package var signedDate: Timestamp {
        let date =
            switch self {
            case .transaction(let transaction): transaction.signedDate
            case .renewal(let renewal): renewal.signedDate
            }
        return date ?? Timestamp(millisecondsSince1970: 0)
    }
}

/// The order of the signed states of one transaction or plan. The later state counts, in whatever order states arrive.
package struct SignedStateOrder: Comparable, Hashable, Sendable {
    /// Milliseconds since 1970.
    private let signedDate: Int64
    /// Of two states of one millisecond, the state that ends an entitlement counts.
    private let isFinal: Bool
    /// The order of the remaining states: arbitrary, but equal on all nodes.
    private let tieBreaker: UInt32

    /// - Parameter tieBreaker: a number that depends on the item's contents.
    package init(_ item: SignedStateItem, tieBreaker: UInt32) {
        signedDate = min(max(0, item.signedDate.millisecondsSince1970), Self.maximumDate)
        isFinal = item.isFinal
        self.tieBreaker = tieBreaker
    }

    package static func < (one: Self, other: Self) -> Bool {
        (one.signedDate, one.isFinal ? 1 : 0, one.tieBreaker)
            < (other.signedDate, other.isFinal ? 1 : 0, other.tieBreaker)
    }

    /// The order as digits of fixed number: texts compare as their orders do, in every locale.
    package var text: String {
        padded(String(signedDate), 15) + (isFinal ? "1" : "0") + padded(String(tieBreaker), 10)
    }

    package init?(text: some Sequence<UInt8>) {
        let text = Array(text)
        guard text.count == Self.textBytes, text.allSatisfy({ (0x30...0x39).contains($0) }),
            let date = Int64(String(decoding: text[..<15], as: UTF8.self)),
            let tieBreaker = UInt32(String(decoding: text[16...], as: UTF8.self)), text[15] <= UInt8(ascii: "1")
        else { return nil }
        (signedDate, isFinal, self.tieBreaker) = (date, text[15] == UInt8(ascii: "1"), tieBreaker)
    }

    package static let textBytes = 26

    private func padded(_ digits: String, _ count: Int) -> String {
        String(repeating: "0", count: count - digits.utf8.count) + digits
    }

    /// 15 digits, which are enough for 30,000 years.
    private static let maximumDate: Int64 = 999_999_999_999_999
}

extension SignedStateItem {
    fileprivate var isFinal: Bool {
        switch self {
        case .transaction(let transaction): transaction.cancellationDate != nil || transaction.isUpgraded
        case .renewal: false
        }
    }
}
