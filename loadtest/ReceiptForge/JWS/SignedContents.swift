// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import JSON
internal import Receipts

/// The claims of a signed payload before signing.
///
/// Nil omits a claim. All claims are texts or numbers as Apple writes them, so that values Apple does not document are
/// possible.
package protocol SignedContents: Sendable {
    /// More members for the end of the object, as JSON text: `"name":value`, separated by commas. They may repeat a claim,
    /// or give one another type.
    var additionalMembers: String { get set }

    /// Writes the claims in Apple's order, without the additional members.
    func writeClaims(_ json: inout JSONWriter)
}

extension SignedContents {
    /// The payload as JSON, without white space.
    package var payload: [UInt8] {
        var json = JSONWriter(reservingCapacity: 1024)
        json.object { json in
            writeClaims(&json)
            if !additionalMembers.isEmpty { json.members(Array(additionalMembers.utf8)[...]) }
        }
        return json.bytes
    }

    /// Returns the same claims with more members at the end.
    package func adding(_ members: String) -> Self {
        var contents = self
        contents.additionalMembers += contents.additionalMembers.isEmpty ? members : "," + members
        return contents
    }
}

extension JSONWriter {
    /// Writes a date as milliseconds since 1970, or nothing for nil.
    mutating func member(_ name: StaticString, _ date: Timestamp?) {
        member(name, date?.millisecondsSince1970)
    }

    /// Writes a member whose value is JSON text, or nothing for nil.
    mutating func member(_ name: StaticString, json value: String?) {
        guard let value else { return }
        key(name)
        literal(value)
    }
}
