// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Receipts

/// `device_identifier`: the bytes that went into the receipt's hash. iOS and tvOS apps send the UUID of
/// `identifierForVendor` as text (RFC 9562 §4); macOS apps send the MAC address as base64.
enum DeviceIdentifier {
    /// Returns the bytes encoded in the text.
    static func bytes(_ text: Span<UInt8>) throws(Base64Error) -> [UInt8] {
        if let uuid = uuidBytes(text) { return uuid }
        return try Base64.decode(text)
    }

    /// Decodes `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`; nil for anything else.
    private static func uuidBytes(_ text: Span<UInt8>) -> [UInt8]? {
        let hyphens = [8, 13, 18, 23]
        guard text.count == 36, hyphens.allSatisfy({ text[$0] == UInt8(ascii: "-") }) else { return nil }
        return ASCII.bytes(hexadecimal: text.indices.filter { !hyphens.contains($0) }.map { text[$0] })
    }
}
