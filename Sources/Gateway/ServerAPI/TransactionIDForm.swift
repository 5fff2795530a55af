// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The form of the IDs of transactions, original transactions and app transactions, wherever an ID is received.
///
/// Apple does not document it. Its IDs have up to 20 digits; letters are for those to come.
package enum TransactionIDForm {
    package static let maximumBytes = 32

    /// The form in words, as messages need it after "must be" or "consists of".
    package static let description = "1 to \(maximumBytes) letters and digits, with at least one digit"
}

extension String {
    /// True for the form of a transaction ID. A word without digits, such as a word in Apple's paths, is no transaction
    /// ID.
    package var isTransactionID: Bool {
        (1...TransactionIDForm.maximumBytes).contains(utf8.count) && utf8.allSatisfy { $0.isDigit || $0.isLetter }
            && utf8.contains(where: \.isDigit)
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    fileprivate var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}
