// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import JSON
public import Receipts

/// In the target of the fields, so that the compiler specialises `visitFields` for this writer.
extension JSONWriter {
    /// Writes Apple's fields of a transaction, and those derived from them. The transaction does not change.
    package mutating func members(of transaction: inout Transaction) {
        transaction.visitFields(with: &self)
        member("product_type", transaction.productType?.apiName)
        member("transaction_reason", transaction.reason.rawValue)
        member("revocation", transaction.revocation?.rawValue)
    }

    /// Writes the fields of a plan, except the IDs of its subscription and product. The plan does not change.
    package mutating func members(of renewal: inout Renewal) {
        renewal.visitFields(with: &self)
        renewal.visitStatus(with: &self)
    }
}

extension JSONWriter: FieldVisitor {
    /// Writes a string.
    public mutating func text(_ name: StaticString, _ value: inout String?) { member(name, value) }
    /// Writes a flag.
    public mutating func flag(_ name: StaticString, _ value: inout Bool?) { member(name, value) }
    /// Writes a date and its twin in milliseconds.
    public mutating func date(_ name: StaticString, _ value: inout Timestamp?) { member(name, value) }
    /// Writes a number.
    public mutating func count(_ name: StaticString, _ value: inout Int64?) { member(name, value) }
    /// Writes a code as a string.
    public mutating func code(_ name: StaticString, _ value: inout Int64?) { identifier(name, value) }

    /// Writes a list of strings.
    public mutating func texts(_ name: StaticString, _ value: inout [String]?) {
        guard let texts = value else { return }
        key(name)
        array { json in
            for text in texts { json.string(text) }
        }
    }

    /// Writes an object as it stands.
    public mutating func object(_ name: StaticString, _ value: inout [UInt8]?) { member(name, object: value) }

    /// Does nothing: this visitor only writes.
    public func invalid(_ name: StaticString) {}
}
