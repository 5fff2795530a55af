// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Results as JSON.
enum JSONText {
    /// Returns indented JSON, keys in alphabetical order, so that two runs can be compared line by line.
    static func of(_ value: some Encodable) throws -> String {
        try text(of: value, [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    }

    /// Returns JSON on one line, keys in alphabetical order.
    static func compact(_ value: some Encodable) throws -> String {
        try text(of: value, [.sortedKeys, .withoutEscapingSlashes])
    }

    private static func text(of value: some Encodable, _ formatting: JSONEncoder.OutputFormatting) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
