// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Faults of the text: errors of the request, not verdicts on a receipt.
extension FaultForge {
    static let base64: [ReceiptFault] = [
        .badRequest("base64-empty", .empty).text { _ in "" }
            .because("An app sends an empty string when its receipt file is missing."),
        .badRequest("base64-invalid-character", .invalidCharacter)
            .text { FaultyBase64(of: $0).replacing(at: 100, with: "*") }
            .because("Lenient decoders skip unknown characters, and one receipt gets endless variants."),
        .badRequest("base64-url-alphabet", .urlAlphabet).text { FaultyBase64(of: $0).inURLAlphabet }
            .because(
                "`-` and `_` are another alphabet (RFC 4648 §5), a frequent mistake of clients that deserves its own answer."
            ),
        .badRequest("base64-plus-as-space", .missingPadding)
            .text { FaultyBase64(of: $0, lengthModulo3: 0).replacingFirst("+", with: " ") }
            .because("A form decoder turned `+` into a space, which a decoder that ignores white space drops."),
        .badRequest("base64-missing-padding", .missingPadding)
            .text { FaultyBase64(of: $0, lengthModulo3: 1).text.replacing("=", with: "") }
            .because("Without `=` a text cut short cannot be told from a complete one."),
        .badRequest("base64-non-canonical-bits", .nonCanonicalBits)
            .text { FaultyBase64(of: $0, lengthModulo3: 1).withUnusedBitSet }
            .because("RFC 4648 §3.5: unused bits must be zero, or sixteen texts decode to the same receipt."),
        .badRequest("base64-trailing-data", .trailingData).text { FaultyBase64(of: $0, lengthModulo3: 1).text + "AAAA" }
            .because("Common decoders stop at `=` and ignore whatever follows."),
        .rejected("base64-twice", .derUnexpectedTag).text { Base64Encoder.text(Array(FaultyBase64(of: $0).text.utf8)) }
            .because("Encoding twice gives perfect base64 of something that is no receipt."),
    ]
}

/// The sample's base64 text, and edits at exact places.
private struct FaultyBase64 {
    let text: String

    init(of forge: FaultForge) {
        text = Base64Encoder.text(forge.wellFormed)
    }

    /// Creates a text with a known amount of padding: opaque bytes lengthen the receipt until it fits.
    init(of forge: FaultForge, lengthModulo3 remainder: Int) {
        var contents = forge.contents
        while forge.pki.sign(contents).count % 3 != remainder {
            contents.opaque7.append(0)
        }
        text = Base64Encoder.text(forge.pki.sign(contents))
    }

    var inURLAlphabet: String {
        text.replacing("+", with: "-").replacing("/", with: "_")
    }

    /// The text with an unused bit set. Before `==` a character has two bits; `A`, `Q`, `g` and `w` are the canonical
    /// characters.
    var withUnusedBitSet: String {
        let body = text.prefix(text.utf8.count - 3)
        let next: [Character: Character] = ["A": "B", "Q": "R", "g": "h", "w": "x"]
        let last = text[body.endIndex]
        return body + String(next[last] ?? last) + "=="
    }

    func replacing(at offset: Int, with character: String) -> String {
        text.prefix(offset) + character + text.dropFirst(offset + 1)
    }

    func replacingFirst(_ character: String, with replacement: String) -> String {
        text.replacing(character, with: replacement, maxReplacements: 1)
    }
}
