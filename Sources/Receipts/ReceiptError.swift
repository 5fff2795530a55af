// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A broken rule and where it was broken. Holds no byte of the receipt, so it may be logged and answered.
public struct ReceiptError: Error, Hashable, Sendable {
    /// Where a rule was broken.
    public enum Location: Hashable, Sendable {
        /// In the receipt as a whole.
        case receipt
        /// At this byte offset of what was being read.
        case offset(Int)
        /// In the attribute with this type.
        case attribute(Int)
    }

    /// The rule that was broken.
    public let rule: Rule
    /// Where it was broken.
    public let location: Location

    /// A broken rule, by default of the receipt as a whole.
    public init(_ rule: Rule, at location: Location = .receipt) {
        self.rule = rule
        self.location = location
    }
}

extension ReceiptError: CustomStringConvertible {
    /// The rule's name, its explanation, and the place.
    public var description: String {
        switch location {
        case .receipt: "\(rule.rawValue): \(rule.explanation)"
        case .offset(let offset): "\(rule.rawValue): \(rule.explanation) (at byte \(offset))"
        case .attribute(let type): "\(rule.rawValue): \(rule.explanation) (attribute \(type))"
        }
    }
}
