// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// A JWS in compact serialization (RFC 7515 §7.1), in its three parts of text. A fault is an edited part.
package struct ForgedJWS: Sendable, Hashable {
    package var header: [UInt8]
    package var payload: [UInt8]
    package var signature: [UInt8]

    /// Encodes a header and a payload, not yet signed.
    package init(header: [UInt8], payload: [UInt8]) {
        self.header = Base64URLText.encode(header)
        self.payload = Base64URLText.encode(payload)
        signature = []
    }

    /// The text that is signed: header and payload with the dot between them (RFC 7515 §5.1).
    package var signingInput: [UInt8] { header + [dot] + payload }

    package var text: [UInt8] { signingInput + [dot] + signature }

    /// Returns the parts with a signature that `sign` makes of the signed text.
    func signed(by sign: ([UInt8]) -> [UInt8]) -> ForgedJWS {
        var signed = self
        signed.signature = Base64URLText.encode(sign(signingInput))
        return signed
    }

    private var dot: UInt8 { UInt8(ascii: ".") }
}

/// Base64url without padding (RFC 7515 §2).
package enum Base64URLText {
    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        Base64.append(encodingURL: bytes, to: &text)
        return text
    }
}

/// The header of a JWS (RFC 7515 §4). A fault is an edited parameter.
package struct JOSEHeader: Sendable, Hashable {
    /// The names, and the values as JSON text, both written as they are.
    var parameters: [NamedText]

    /// Creates Apple's header: the algorithm and the certificates, the signer's first.
    init(certificates: [[UInt8]]) {
        parameters = [NamedText("alg", "\"ES256\""), NamedText("x5c", Self.x5c(certificates))]
    }

    /// The JSON text, without white space.
    var json: [UInt8] {
        let members = parameters.map { "\"\($0.name)\":\($0.value)" }
        return Array("{\(members.joined(separator: ","))}".utf8)
    }

    /// The value of the first parameter of this name. Setting nil removes all parameters of this name; setting a value
    /// appends a missing parameter.
    subscript(name: String) -> String? {
        get { parameters.first { $0.name == name }?.value }
        set {
            guard let newValue else { return parameters.removeAll { $0.name == name } }
            guard let index = parameters.firstIndex(where: { $0.name == name }) else {
                return parameters.append(NamedText(name, newValue))
            }
            parameters[index].value = newValue
        }
    }

    /// Returns an array of texts in base64, not base64url (RFC 7515 §4.1.6).
    static func x5c(_ certificates: [[UInt8]]) -> String {
        array(certificates.map(Base64Encoder.text))
    }

    /// Returns an array of texts that need no escape, or bring their own.
    static func array(_ texts: [String]) -> String {
        "[\(texts.map { "\"\($0)\"" }.joined(separator: ","))]"
    }
}
