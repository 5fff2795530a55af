// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// A header field of requests.
struct HeaderField: Hashable, Sendable {
    let name: String
    let value: String

    /// Whether this is the field's name, however it is written.
    func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }
}

extension HeaderField: ExpressibleByArgument {
    /// Reads `Name: value`. What says where a request ends is this program's to write.
    init?(argument: String) {
        guard let colon = argument.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = String(argument[..<colon])
        let value = String(argument[argument.utf8.index(after: colon)...].drop { $0 == " " })
        guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter),
            value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }),
            !["content-length", "transfer-encoding", "connection"].contains(name.lowercased())
        else { return nil }
        self.init(name: name, value: value)
    }
}
