// SPDX-License-Identifier: Apache-2.0

/// The value that binds a signed item to a device (StoreKit, `AppTransaction.deviceVerification`).
public struct DeviceVerification: Hashable, Sendable {
    /// SHA-384 in base64.
    private let value: String
    /// The UUID that was hashed before the device's identifier.
    private let nonce: String

    package init?(value: String?, nonce: String?) {
        guard let value, let nonce else { return nil }
        self.value = value
        self.nonce = nonce
    }

    /// Returns true if the value was made for this device: SHA-384 of the nonce and the device's identifier, both as
    /// UUIDs in lower case.
    /// - Parameter deviceIdentifier: the 16 bytes of `AppStore.deviceVerificationID`.
    public func isOf(deviceIdentifier: [UInt8]) -> Bool {
        guard deviceIdentifier.count == 16 else { return false }
        let hashed = Array((nonce.lowercased() + deviceIdentifier.uuidText).utf8)
        var expected: [UInt8] = []
        DigestContext(.sha384).withDigest(of: hashed.span) { digest in
            Base64.append(encoding: digest.copy(0..<digest.count), to: &expected)
        }
        return expected == Array(value.utf8)
    }
}

extension [UInt8] {
    /// The lower-case text of a UUID's 16 bytes (RFC 9562 §4).
    package var uuidText: String {
        enumerated().reduce(into: "") { text, byte in
            if [4, 6, 8, 10].contains(byte.offset) { text += "-" }
            text += (byte.element < 0x10 ? "0" : "") + String(byte.element, radix: 16)
        }
    }
}
