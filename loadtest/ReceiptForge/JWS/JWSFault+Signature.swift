// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Signatures that are not by this leaf over this text.
extension JWSForge {
    static let signatures: [JWSFault] = [
        JWSFault(
            "payload-edited", .rejected(.signatureInvalid),
            "The cheapest attack of all: another expiry under the old signature.",
            .afterSigning { $0.payload = Base64URLText.encode(TransactionContents.expiringIn2099.payload) }),
        JWSFault(
            "header-edited", .rejected(.signatureInvalid), "A parameter without a meaning, added after signing.",
            .text { forge in
                var jws = forge.signed(forge.unsigned)
                jws.header = Base64URLText.encode(forge.edited(forge.header) { $0["kid"] = "\"a\"" }.json)
                return jws.text
            }),
        JWSFault(
            "signature-bit-flipped", .rejected(.signatureInvalid), "One bit of the signature is wrong.",
            .text { $0.signed { $0[40] ^= 1 } }),
        JWSFault(
            "signature-of-another-leaf", .rejected(.signatureInvalid),
            "A genuine chain, and a signature with a key it does not certify.",
            .text { forge in forge.signed(forge.header, by: forge.stranger.sign).text }),
        JWSFault(
            "signature-over-payload-alone", .rejected(.signatureInvalid),
            "RFC 7515 §5.1: the signature covers the header too.",
            .text { forge in forge.signed(forge.header) { _ in forge.pki.sign(forge.contents.payload) }.text }),
    ]
}

extension TransactionContents {
    fileprivate static let expiringIn2099: TransactionContents = {
        var contents = TransactionContents()
        contents.expiresDate = UTCDate(2099, 1, 1).timestamp
        return contents
    }()
}

/// Signatures of another form than r ‖ s in 64 bytes (RFC 7518 §3.4), and numbers beyond 1 ..< n.
extension JWSForge {
    static let signatureNumbers: [JWSFault] = [
        JWSFault(
            "signature-in-der", .rejected(.jwsSignatureLengthWrong),
            "The form of certificates' signatures, 70 to 72 bytes.",
            .text { forge in
                forge.signed(forge.header) { forge.pki.leafKey.signature(over: $0, digest: .sha256) }.text
            }),
        JWSFault(
            "signature-of-63-bytes", .rejected(.jwsSignatureLengthWrong), "One byte too few.",
            .text { $0.signed { $0.removeLast() } }),
        JWSFault(
            "signature-of-65-bytes", .rejected(.jwsSignatureLengthWrong), "One byte too many, which some readers drop.",
            .text { $0.signed { $0.append(0) } }),
        JWSFault(
            "signature-twice", .rejected(.jwsSignatureLengthWrong), "The signature, and once more.",
            .text { $0.signed { $0 += $0 } }),
        JWSFault(
            "signature-empty", .rejected(.jwsSignatureLengthWrong), "Nothing after the last dot.",
            .text { $0.signed { $0 = [] } }),
        JWSFault(
            "signature-of-zeros", .rejected(.signatureInvalid),
            "r = s = 0 fits every text for a verifier that forgets their range (CVE-2022-21449).",
            .text { $0.signed { $0 = [UInt8](repeating: 0, count: 64) } }),
        JWSFault(
            "signature-r-zero", .rejected(.signatureInvalid), "r = 0.",
            .text { $0.signed { $0.replaceSubrange(..<32, with: [UInt8](repeating: 0, count: 32)) } }),
        JWSFault(
            "signature-s-zero", .rejected(.signatureInvalid), "s = 0.",
            .text { $0.signed { $0.replaceSubrange(32..., with: [UInt8](repeating: 0, count: 32)) } }),
        JWSFault(
            "signature-r-order", .rejected(.signatureInvalid), "r = n, the order of the curve, which is 0 modulo n.",
            .text { $0.signed { $0.replaceSubrange(..<32, with: P256.order) } }),
        JWSFault(
            "signature-s-order", .rejected(.signatureInvalid), "s = n.",
            .text { $0.signed { $0.replaceSubrange(32..., with: P256.order) } }),
        JWSFault(
            "signature-of-orders", .rejected(.signatureInvalid), "r = s = n.",
            .text { $0.signed { $0 = P256.order + P256.order } }),
        JWSFault(
            "signature-halves-swapped", .rejected(.signatureInvalid), "s ‖ r.",
            .text { $0.signed { $0 = Array($0[32...] + $0[..<32]) } }),
        JWSFault(
            "signature-halves-reversed", .rejected(.signatureInvalid),
            "Both numbers with their least significant byte first.",
            .text { $0.signed { $0 = Array($0[..<32].reversed() + $0[32...].reversed()) } }),
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
