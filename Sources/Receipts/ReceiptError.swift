// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A broken rule and its location. Contains no byte of the receipt, so it may be logged and sent to clients.
public struct ReceiptError: Error, Hashable, Sendable {
    /// The location of a broken rule.
    public enum Location: Hashable, Sendable {
        /// The receipt as a whole.
        case receipt
        /// A byte offset in the data being read.
        case offset(Int)
        /// The attribute of this type.
        case attribute(Int)
    }

    /// The broken rule.
    public let rule: Rule
    /// The location at which it was broken.
    public let location: Location

    /// Creates an error, by default about the receipt as a whole.
    public init(_ rule: Rule, at location: Location = .receipt) {
        self.rule = rule
        self.location = location
    }
}

extension ReceiptError: CustomStringConvertible {
    /// The rule's name, its explanation and the location.
    public var description: String {
        switch location {
        case .receipt: "\(rule.rawValue): \(rule.explanation)"
        case .offset(let offset): "\(rule.rawValue): \(rule.explanation) (at byte \(offset))"
        case .attribute(let type): "\(rule.rawValue): \(rule.explanation) (attribute \(type))"
        }
    }
}
