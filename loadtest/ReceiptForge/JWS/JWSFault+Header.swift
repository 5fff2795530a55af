// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Headers that name another algorithm than ES256. The header decides nothing: Apple signs with ES256 only.
extension JWSForge {
    static let algorithms: [JWSFault] = [
        .rejected("alg-none", .jwsAlgorithmUnsupported)
            .text { forge in forge.signed(forge.header(algorithm: "none")) { _ in [] }.text }
            .because("An unsecured JWS (RFC 7515 appendix A.5): no signature at all."),
        .rejected("alg-none-in-other-case", .jwsAlgorithmUnsupported)
            .text { forge in forge.signed(forge.header(algorithm: "nOnE")) { _ in [] }.text }
            .because("A filter for \"none\" overlooks \"nOnE\"."),
        .rejected("alg-none-with-signature", .jwsAlgorithmUnsupported).header { $0["alg"] = "\"none\"" }
            .because("Labelled unsecured, and signed with ES256 nevertheless."),
        .rejected("alg-hs256", .jwsAlgorithmUnsupported)
            .text { forge in forge.signed(forge.header(algorithm: "HS256"), by: forge.keyedHash).text }
            .because("An HMAC with the leaf's public key as its secret, which is no secret."),
        .rejected("alg-es384", .jwsAlgorithmUnsupported).text { $0.signedES384 }
            .because("A certified P-384 leaf that signs with ES384: sound, and nothing that Apple does."),
        .rejected("alg-rs256", .jwsAlgorithmUnsupported).text { $0.signedRS256 }
            .because("A certified RSA leaf that signs with RS256."),
        .rejected("alg-in-small-letters", .jwsAlgorithmUnsupported).header { $0["alg"] = "\"es256\"" }
            .because("\"es256\": names of algorithms are case-sensitive (RFC 7515 §4.1.1)."),
        .rejected("alg-missing", .jwsAlgorithmUnsupported).header { $0["alg"] = nil }
            .because("RFC 7515 §4.1.1: the parameter must be present."),
        .rejected("alg-is-number", .jwsAlgorithmUnsupported).header { $0["alg"] = "-7" }
            .because("-7, the number of ES256 in COSE (RFC 9053 §2.1)."),
        .rejected("alg-is-list", .jwsAlgorithmUnsupported).header { $0["alg"] = #"["ES256","none"]"# }
            .because("A list that contains ES256."),
    ]
}

extension JWSForge {
    fileprivate func header(algorithm: String) -> JOSEHeader {
        edited(header) { $0["alg"] = "\"\(algorithm)\"" }
    }

    /// HMAC-SHA-256 (RFC 2104) with the leaf's public key, as PEM, for a key.
    fileprivate func keyedHash(_ message: [UInt8]) -> [UInt8] {
        let pem = PEMEncoder.text(pki.leafKey.subjectPublicKeyInfo.encoded, label: "PUBLIC KEY")
        let digest = SigningDigest.sha256
        // A key that is longer than a block is hashed first.
        let block = digest.hash(Array(pem.utf8)) + [UInt8](repeating: 0, count: 32)
        return digest.hash(block.map { $0 ^ 0x5C } + digest.hash(block.map { $0 ^ 0x36 } + message))
    }

    fileprivate var signedES384: [UInt8] {
        let certificates = chain { $0.leaf.subjectPublicKeyInfo = p384Leaf.subjectPublicKeyInfo }
        let header = edited(JOSEHeader(certificates: certificates)) { $0["alg"] = "\"ES384\"" }
        return signed(header) { p384Leaf.fixedLengthSignature(over: $0, digest: .sha384) }.text
    }

    fileprivate var signedRS256: [UInt8] {
        let key = keys.key(for: .leaf)
        let certificates = chain { $0.leaf.subjectPublicKeyInfo = key.subjectPublicKeyInfo }
        let header = edited(JOSEHeader(certificates: certificates)) { $0["alg"] = "\"RS256\"" }
        return signed(header) { key.signature(over: $0, digest: .sha256) }.text
    }
}

/// Parameters that bring a key or change the meaning of other parameters, and headers of another form.
extension JWSForge {
    static let parameters: [JWSFault] = [
        .rejected("jwk", .jwsKeyInHeader).header { $0["jwk"] = $1.jwk }
            .because("A key in the header itself (RFC 7515 §4.1.3), beside a genuine chain."),
        .rejected("jwk-without-x5c", .jwsKeyInHeader)
            .header { header, forge in
                header["jwk"] = forge.jwk
                header["x5c"] = nil
            }
            .because("A key in the header in place of the certificates: anyone can sign that."),
        .rejected("jku", .jwsKeyInHeader).header { $0["jku"] = #""https://forge.example/keys""# }
            .because("The address of a key (RFC 7515 §4.1.2): a verifier that fetches it calls whom the sender wants."),
        .rejected("x5u", .jwsKeyInHeader).header { $0["x5u"] = #""https://forge.example/leaf.pem""# }
            .because("The address of a certificate (RFC 7515 §4.1.5)."),
        .rejected("crit", .jwsCriticalParameter)
            .header { header in
                header["crit"] = #"["exp"]"#
                header["exp"] = "4102444800"
            }
            .because("An extension that a verifier must understand (RFC 7515 §4.1.11)."),
        .rejected("crit-empty", .jwsCriticalParameter).header { $0["crit"] = "[]" }
            .because("An empty list, which RFC 7515 §4.1.11 forbids."),
        .rejected("b64-false", .jwsCriticalParameter).header { $0["b64"] = "false" }
            .because("The payload is said to be unencoded (RFC 7797 §3), so that two readers see two payloads."),
        .rejected("b64-false-and-critical", .jwsCriticalParameter)
            .header { header in
                header["b64"] = "false"
                header["crit"] = #"["b64"]"#
            }
            .because("The same, marked critical as RFC 7797 §6 requires."),
        .rejected("alg-twice", .jwsHeaderParameterDuplicate).header { $0.parameters.append(.init("alg", "\"none\"")) }
            .because("Does the first one count or the last one?"),
        .rejected("x5c-twice", .jwsHeaderParameterDuplicate)
            .header { header, forge in
                let other = JOSEHeader.x5c(forge.stranger.certificates.map(\.der))
                header.parameters.append(.init("x5c", other))
            }
            .because("Two chains: one is verified, the other one's key is used."),
        .rejected("kid-twice", .jwsHeaderParameterDuplicate)
            .header { $0.parameters += [.init("kid", "\"a\""), .init("kid", "\"b\"")] }
            .because("Parameters without a meaning here must be unique as well (RFC 7515 §4)."),
        .rejected("alg-twice-one-escaped", .jwsHeaderMalformed)
            .header { $0.parameters.append(.init(#"\u0061lg"#, "\"none\"")) }
            .because("The second name is spelled with a \\u escape: different bytes, the same name."),
        .rejected("header-is-array", .jwsHeaderMalformed).rawHeader { _ in Array(#"["ES256"]"#.utf8) }
            .because("A list in place of an object."),
        .rejected("header-not-json", .jwsHeaderMalformed).rawHeader { $0.header.json.dropLast() }
            .because("An object that never ends."),
        .rejected("bytes-after-header", .jwsHeaderMalformed).rawHeader { $0.header.json + Array("{}".utf8) }
            .because("A second object behind the header."),
        .rejected("header-with-invalid-utf8", .jwsHeaderMalformed)
            .rawHeader { _ in Array("{\"kid\":\"".utf8) + [0xC3, 0x28] + Array("\"}".utf8) }
            .because("RFC 7515 §4: the header is UTF-8."),
        .rejected("hundred-parameters", .jwsHeaderMalformed)
            .header { $0.parameters += (0..<100).map { .init("p\($0)", "0") } }
            .because("Genuine headers have two parameters, Xcode's have four."),
    ]
}

extension JWSForge {
    /// An elliptic key of the sender's own (RFC 7518 §6.2).
    fileprivate var jwk: String {
        let point = stranger.leafKey.point.dropFirst()
        let coordinates = [point.prefix(32), point.suffix(32)].map { Base64.encodeURL(Array($0)) }
        return #"{"kty":"EC","crv":"P-256","x":"\#(coordinates[0])","y":"\#(coordinates[1])"}"#
    }
}
