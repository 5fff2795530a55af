// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Faults of the text: errors of the request, not verdicts on a receipt.
extension FaultForge {
    static let base64: [ReceiptFault] = [
        .badRequest("base64-empty", .empty).text { _ in "" }
            .because("An app sends an empty string when its receipt file is missing."),
        .badRequest("base64-invalid-character", .invalidCharacter)
            .base64 { $0.prefix(100) + "*" + $0.dropFirst(101) }
            .because("Lenient decoders skip unknown characters, and one receipt gets endless variants."),
        .badRequest("base64-url-alphabet", .urlAlphabet)
            .base64 { $0.replacing("+", with: "-").replacing("/", with: "_") }
            .because(
                "`-` and `_` are another alphabet (RFC 4648 §5), a frequent mistake of clients that deserves its own answer."
            ),
        .badRequest("base64-plus-as-space", .missingPadding)
            .base64(lengthModulo3: 0) { $0.replacing("+", with: " ", maxReplacements: 1) }
            .because("A form decoder turned `+` into a space, which a decoder that ignores white space drops."),
        .badRequest("base64-missing-padding", .missingPadding)
            .base64(lengthModulo3: 1) { $0.replacing("=", with: "") }
            .because("Without `=` a text cut short cannot be told from a complete one."),
        .badRequest("base64-non-canonical-bits", .nonCanonicalBits)
            .base64(lengthModulo3: 1) { $0.dropLast(2).withUnusedBit + "==" }
            .because("RFC 4648 §3.5: unused bits must be zero, or sixteen texts decode to the same receipt."),
        .badRequest("base64-trailing-data", .trailingData).base64(lengthModulo3: 1) { $0 + "AAAA" }
            .because("Common decoders stop at `=` and ignore whatever follows."),
        .rejected("base64-twice", .derUnexpectedTag).base64 { Base64Encoder.text(Array($0.utf8)) }
            .because("Encoding twice gives perfect base64 of something that is no receipt."),
    ]
}

extension ReceiptFault {
    /// The sample's base64.
    /// - Parameter remainder: the receipt's length modulo 3, which decides about the padding; nil for the sample's own.
    fileprivate func base64(lengthModulo3 remainder: Int? = nil, _ edit: @escaping Make<String, String>) -> Self {
        text { edit($0.base64(lengthModulo3: remainder)) }
    }
}

extension FaultForge {
    /// Returns the sample's base64. Opaque bytes lengthen the receipt until its length fits.
    fileprivate func base64(lengthModulo3 remainder: Int?) -> String {
        var contents = contents
        while let remainder, pki.sign(contents).count % 3 != remainder { contents.opaque7.append(0) }
        return Base64Encoder.text(pki.sign(contents))
    }
}
