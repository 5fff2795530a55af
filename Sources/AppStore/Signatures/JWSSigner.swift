// SPDX-License-Identifier: Apache-2.0

package import Cryptography
internal import JSON
internal import Receipts

/// Signs claims with ES256 (RFC 7518 §3.4), under one key and one type.
package struct JWSSigner: Hashable, Sendable {
    private let key: ECSigningKey
    /// The encoded header of every JWS, and the dot after it.
    private let header: [UInt8]

    /// - Parameters:
    ///   - keyID: names the key to the readers, as `kid`.
    ///   - type: `typ` (RFC 7515 §4.1.9).
    package init(_ key: ECSigningKey, keyID: String, type: String) {
        let json = JSONWriter.object { json in
            json.member("alg", "ES256")
            json.member("kid", keyID)
            json.member("typ", type)
        }
        var text: [UInt8] = []
        Base64.append(encodingURL: json, to: &text)
        (self.key, header) = (key, text + [UInt8(ascii: ".")])
    }

    /// Returns a JWS in compact serialization (RFC 7515 §3.1).
    package func compactJWS(_ claims: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(byteCount(ofClaims: claims.count))
        text += header
        Base64.append(encodingURL: claims, to: &text)
        let signature = key.signature(over: text)
        text.append(UInt8(ascii: "."))
        Base64.append(encodingURL: signature, to: &text)
        return text
    }

    private func byteCount(ofClaims count: Int) -> Int {
        header.count + Base64.encodedCount(of: count) + 1 + Base64.encodedCount(of: ECSigningKey.signatureByteCount)
    }
}
