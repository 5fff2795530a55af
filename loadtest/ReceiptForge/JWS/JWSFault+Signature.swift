// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Signatures that are not by this leaf over this text.
extension JWSForge {
    static let signatures: [JWSFault] = [
        .rejected("payload-edited", .signatureInvalid)
            .afterSigning { jws, forge in
                let later = forge.edited(forge.contents) { $0.expiresDate = UTCDate(2099, 1, 1).timestamp }
                jws.payload = Base64URLText.encode(later.payload)
            }
            .because("The cheapest attack of all: another expiry under the old signature."),
        .rejected("header-edited", .signatureInvalid)
            .afterSigning { $0.header = Base64URLText.encode($1.edited($1.header) { $0["kid"] = "\"a\"" }.json) }
            .because("A parameter without a meaning, added after signing."),
        .rejected("signature-bit-flipped", .signatureInvalid).text { $0.signed { $0[40] ^= 1 } }
            .because("One bit of the signature is wrong."),
        .rejected("signature-of-another-leaf", .signatureInvalid)
            .text { forge in forge.signed(forge.header, by: forge.stranger.sign).text }
            .because("A genuine chain, and a signature with a key it does not certify."),
        .rejected("signature-over-payload-alone", .signatureInvalid)
            .text { forge in forge.signed(forge.header) { _ in forge.pki.sign(forge.contents.payload) }.text }
            .because("RFC 7515 §5.1: the signature covers the header too."),
    ]
}

/// Signatures of another form than r ‖ s in 64 bytes (RFC 7518 §3.4), and numbers beyond 1 ..< n.
extension JWSForge {
    static let signatureNumbers: [JWSFault] = [
        .rejected("signature-in-der", .jwsSignatureLengthWrong)
            .text { forge in
                forge.signed(forge.header) { forge.pki.leafKey.signature(over: $0, digest: .sha256) }.text
            }
            .because("The form of certificates' signatures, 70 to 72 bytes."),
        .rejected("signature-of-63-bytes", .jwsSignatureLengthWrong).text { $0.signed { $0.removeLast() } }
            .because("One byte too few."),
        .rejected("signature-of-65-bytes", .jwsSignatureLengthWrong).text { $0.signed { $0.append(0) } }
            .because("One byte too many, which some readers drop."),
        .rejected("signature-twice", .jwsSignatureLengthWrong).text { $0.signed { $0 += $0 } }
            .because("The signature, and once more."),
        .rejected("signature-empty", .jwsSignatureLengthWrong).text { $0.signed { $0 = [] } }
            .because("Nothing after the last dot."),
        .rejected("signature-of-zeros", .signatureInvalid).text { $0.signed { $0 = [UInt8](repeating: 0, count: 64) } }
            .because("r = s = 0 fits every text for a verifier that forgets their range (CVE-2022-21449)."),
        .rejected("signature-r-zero", .signatureInvalid)
            .text { $0.signed { $0.replaceSubrange(..<32, with: [UInt8](repeating: 0, count: 32)) } }
            .because("r = 0."),
        .rejected("signature-s-zero", .signatureInvalid)
            .text { $0.signed { $0.replaceSubrange(32..., with: [UInt8](repeating: 0, count: 32)) } }
            .because("s = 0."),
        .rejected("signature-r-order", .signatureInvalid)
            .text { $0.signed { $0.replaceSubrange(..<32, with: P256.order) } }
            .because("r = n, the order of the curve, which is 0 modulo n."),
        .rejected("signature-s-order", .signatureInvalid)
            .text { $0.signed { $0.replaceSubrange(32..., with: P256.order) } }
            .because("s = n."),
        .rejected("signature-of-orders", .signatureInvalid).text { $0.signed { $0 = P256.order + P256.order } }
            .because("r = s = n."),
        .rejected("signature-halves-swapped", .signatureInvalid)
            .text { $0.signed { $0 = Array($0[32...] + $0[..<32]) } }
            .because("s ‖ r."),
        .rejected("signature-halves-reversed", .signatureInvalid)
            .text { $0.signed { $0 = Array($0[..<32].reversed() + $0[32...].reversed()) } }
            .because("Both numbers with their least significant byte first."),
    ]
}

extension JWSForge {
    /// Returns the sample with an edited signature.
    package func signed(_ edit: (inout [UInt8]) -> Void) -> [UInt8] {
        signed(header) { edited(pki.sign($0), by: edit) }.text
    }
}

/// An ES256 signature and its twin (r, n - s), which anyone can make.
package enum SignatureTwin {
    /// Returns the other valid signature over the same text.
    package static func twin(of signature: [UInt8]) -> [UInt8] {
        let other = BigNumber(P256.order).subtracting(BigNumber(Array(signature[32...]))).bytes
        return signature[..<32] + [UInt8](repeating: 0, count: 32 - other.count) + other
    }

    /// Returns the signature or its twin, whichever has the larger s.
    package static func high(_ signature: [UInt8]) -> [UInt8] {
        let other = twin(of: signature)
        return signature.lexicographicallyPrecedes(other) ? other : signature
    }

    /// Returns the signature or its twin, whichever has the smaller s.
    package static func low(_ signature: [UInt8]) -> [UInt8] {
        twin(of: high(signature))
    }
}
