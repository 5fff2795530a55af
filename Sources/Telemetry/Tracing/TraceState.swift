// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The `tracestate` of a request (W3C Trace Context §3.3), passed to the tracer unchanged or not at all.
package enum TraceState {
    enum Limits {
        /// §3.3.1.1: a list has at most 32 members.
        static let members = 32
        /// §3.3.1.5: 512 characters must be propagated; longer lists may be dropped.
        static let bytes = 512
        static let keyBytes = 1...256
        static let valueBytes = 1...256
    }

    /// Joins the members of all fields in order; nil if there are none, too many, or an invalid one.
    package static func list(of values: [String]) -> String? {
        let text = values.joined(separator: ",")
        guard text.utf8.count <= Limits.bytes else { return nil }
        let members = text.split(separator: ",").map(trimmed).filter { !$0.isEmpty }
        guard (1...Limits.members).contains(members.count) else { return nil }
        var keys: Set<Substring> = []
        for member in members {
            // §3.3.1.4: keys are unique.
            guard let key = key(of: member), keys.insert(key).inserted else { return nil }
        }
        return members.joined(separator: ",")
    }

    /// Returns the key of a valid member.
    private static func key(of member: Substring) -> Substring? {
        guard let equals = member.firstIndex(of: "=") else { return nil }
        let key = member[..<equals], value = member[equals...].dropFirst()
        guard Limits.keyBytes.contains(key.utf8.count), key.utf8.first?.isKeyStart == true,
            key.utf8.allSatisfy(\.isKeyCharacter), Limits.valueBytes.contains(value.utf8.count),
            value.utf8.allSatisfy(\.isValueCharacter)
        else { return nil }
        return key
    }

    /// Removes the optional white space around a member (RFC 9110 §5.6.3).
    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}

// Level 2 of the standard simplifies the grammar of keys, and accepts all of level 1.
extension UInt8 {
    fileprivate var isKeyStart: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
    }

    fileprivate var isKeyCharacter: Bool {
        isKeyStart || "_-*/@".utf8.contains(self)
    }

    /// Printable ASCII without the comma and the equals sign.
    fileprivate var isValueCharacter: Bool {
        (0x20...0x7E).contains(self) && self != UInt8(ascii: ",") && self != UInt8(ascii: "=")
    }
}
