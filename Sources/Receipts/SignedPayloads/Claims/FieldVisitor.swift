// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Visits the fields of a transaction or plan in order, to write or to read them. A field without a value is nil.
///
/// A function that visits names each field once, in a line for all its forms. For the fields that only signed items have,
/// the same line reads the claim.
public protocol FieldVisitor {
    /// The error for a form that cannot be read; `Never` for a writer.
    associatedtype Failure: Error

    /// Visits a string.
    mutating func text(_ name: StaticString, _ value: inout String?) throws(Failure)
    /// Visits a number that counts.
    mutating func count(_ name: StaticString, _ value: inout Int64?) throws(Failure)
    /// Visits a number that is a code.
    mutating func code(_ name: StaticString, _ value: inout Int64?) throws(Failure)
    /// Visits a flag.
    mutating func flag(_ name: StaticString, _ value: inout Bool?) throws(Failure)
    /// Visits a time.
    mutating func date(_ name: StaticString, _ value: inout Timestamp?) throws(Failure)
    /// Visits a list of strings.
    mutating func texts(_ name: StaticString, _ value: inout [String]?) throws(Failure)
    /// Visits a JSON object without white space.
    mutating func object(_ name: StaticString, _ value: inout [UInt8]?) throws(Failure)
    /// Returns the fields to visit among the fields that only signed items have.
    /// - Parameter extent: the fields that the value has.
    mutating func visitedFields(_ extent: SignedExtent) throws(Failure) -> SignedExtent
    /// Called for a required value that was not read, and for an unknown value.
    func invalid(_ name: StaticString) throws(Failure)
}

extension FieldVisitor {
    /// Returns the fields that the value has.
    public mutating func visitedFields(_ extent: SignedExtent) throws(Failure) -> SignedExtent { extent }
}
