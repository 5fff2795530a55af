// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Headers that name another algorithm than ES256. The header decides nothing: Apple signs with ES256 only.
extension JWSForge {
    static let algorithms: [JWSFault] = [
        JWSFault(
            "alg-none", .rejected(.jwsAlgorithmUnsupported),
            "An unsecured JWS (RFC 7515 appendix A.5): no signature at all.",
            .text { forge in forge.signed(forge.header(algorithm: "none")) { _ in [] }.text }),
        JWSFault(
            "alg-none-in-other-case", .rejected(.jwsAlgorithmUnsupported), "A filter for \"none\" overlooks \"nOnE\".",
            .text { forge in forge.signed(forge.header(algorithm: "nOnE")) { _ in [] }.text }),
        JWSFault(
            "alg-none-with-signature", .rejected(.jwsAlgorithmUnsupported),
            "Labelled unsecured, and signed with ES256 nevertheless.",
            .header { header, _ in header["alg"] = "\"none\"" }),
        JWSFault(
            "alg-hs256", .rejected(.jwsAlgorithmUnsupported),
            "An HMAC with the leaf's public key as its secret, which is no secret.",
            .text { forge in forge.signed(forge.header(algorithm: "HS256"), by: forge.keyedHash).text }),
        JWSFault(
            "alg-es384", .rejected(.jwsAlgorithmUnsupported),
            "A certified P-384 leaf that signs with ES384: sound, and nothing that Apple does.",
            .text { $0.signedES384 }),
        JWSFault(
            "alg-rs256", .rejected(.jwsAlgorithmUnsupported), "A certified RSA leaf that signs with RS256.",
            .text { $0.signedRS256 }),
        JWSFault(
            "alg-in-small-letters", .rejected(.jwsAlgorithmUnsupported),
            "\"es256\": names of algorithms are case-sensitive (RFC 7515 §4.1.1).",
            .header { header, _ in header["alg"] = "\"es256\"" }),
        JWSFault(
            "alg-missing", .rejected(.jwsAlgorithmUnsupported), "RFC 7515 §4.1.1: the parameter must be present.",
            .header { header, _ in header["alg"] = nil }),
        JWSFault(
            "alg-is-number", .rejected(.jwsAlgorithmUnsupported), "-7, the number of ES256 in COSE (RFC 9053 §2.1).",
            .header { header, _ in header["alg"] = "-7" }),
        JWSFault(
            "alg-is-list", .rejected(.jwsAlgorithmUnsupported), "A list that contains ES256.",
            .header { header, _ in header["alg"] = #"["ES256","none"]"# }),
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
        let short = digest.hash(Array(pem.utf8))
        let key = pem.utf8.count > 64 ? short : Array(pem.utf8)
        let block = key + [UInt8](repeating: 0, count: 64 - key.count)
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
        JWSFault(
            "jwk", .rejected(.jwsKeyInHeader), "A key in the header itself (RFC 7515 §4.1.3), beside a genuine chain.",
            .header { header, forge in header["jwk"] = forge.jwk }),
        JWSFault(
            "jwk-without-x5c", .rejected(.jwsKeyInHeader),
            "A key in the header in place of the certificates: anyone can sign that.",
            .header { header, forge in
                header["jwk"] = forge.jwk
                header["x5c"] = nil
            }),
        JWSFault(
            "jku", .rejected(.jwsKeyInHeader),
            "The address of a key (RFC 7515 §4.1.2): a verifier that fetches it calls whom the sender wants.",
            .header { header, _ in header["jku"] = #""https://forge.example/keys""# }),
        JWSFault(
            "x5u", .rejected(.jwsKeyInHeader), "The address of a certificate (RFC 7515 §4.1.5).",
            .header { header, _ in header["x5u"] = #""https://forge.example/leaf.pem""# }),
        JWSFault(
            "crit", .rejected(.jwsCriticalParameter),
            "An extension that a verifier must understand (RFC 7515 §4.1.11).",
            .header { header, _ in
                header["crit"] = #"["exp"]"#
                header["exp"] = "4102444800"
            }),
        JWSFault(
            "crit-empty", .rejected(.jwsCriticalParameter), "An empty list, which RFC 7515 §4.1.11 forbids.",
            .header { header, _ in header["crit"] = "[]" }),
        JWSFault(
            "b64-false", .rejected(.jwsCriticalParameter),
            "The payload is said to be unencoded (RFC 7797 §3), so that two readers see two payloads.",
            .header { header, _ in header["b64"] = "false" }),
        JWSFault(
            "b64-false-and-critical", .rejected(.jwsCriticalParameter),
            "The same, marked critical as RFC 7797 §6 requires.",
            .header { header, _ in
                header["b64"] = "false"
                header["crit"] = #"["b64"]"#
            }),
        JWSFault(
            "alg-twice", .rejected(.jwsHeaderParameterDuplicate), "Does the first one count or the last one?",
            .header { header, _ in header.parameters.append(.init("alg", "\"none\"")) }),
        JWSFault(
            "x5c-twice", .rejected(.jwsHeaderParameterDuplicate),
            "Two chains: one is verified, the other one's key is used.",
            .header { header, forge in
                let other = JOSEHeader.x5c(forge.stranger.certificates.map(\.der))
                header.parameters.append(.init("x5c", other))
            }),
        JWSFault(
            "kid-twice", .rejected(.jwsHeaderParameterDuplicate),
            "Parameters without a meaning here must be unique as well (RFC 7515 §4).",
            .header { header, _ in header.parameters += [.init("kid", "\"a\""), .init("kid", "\"b\"")] }),
        JWSFault(
            "alg-twice-one-escaped", .rejected(.jwsHeaderMalformed),
            "The second name is spelled with a \\u escape: different bytes, the same name.",
            .header { header, _ in header.parameters.append(.init(#"\u0061lg"#, "\"none\"")) }),
        JWSFault(
            "header-is-array", .rejected(.jwsHeaderMalformed), "A list in place of an object.",
            .text { forge in forge.signed(rawHeader: Array(#"["ES256"]"#.utf8)) }),
        JWSFault(
            "header-not-json", .rejected(.jwsHeaderMalformed), "An object that never ends.",
            .text { forge in forge.signed(rawHeader: forge.header.json.dropLast()) }),
        JWSFault(
            "bytes-after-header", .rejected(.jwsHeaderMalformed), "A second object behind the header.",
            .text { forge in forge.signed(rawHeader: forge.header.json + Array("{}".utf8)) }),
        JWSFault(
            "header-with-invalid-utf8", .rejected(.jwsHeaderMalformed), "RFC 7515 §4: the header is UTF-8.",
            .text { forge in forge.signed(rawHeader: Array("{\"kid\":\"".utf8) + [0xC3, 0x28] + Array("\"}".utf8)) }),
        JWSFault(
            "hundred-parameters", .rejected(.jwsHeaderMalformed),
            "Genuine headers have two parameters, Xcode's have four.",
            .header { header, _ in header.parameters += (0..<100).map { .init("p\($0)", "0") } }),
    ]
}

extension JWSForge {
    /// An elliptic key of the sender's own (RFC 7518 §6.2).
    fileprivate var jwk: String {
        let point = stranger.leafKey.point.dropFirst()
        let coordinates = [point.prefix(32), point.suffix(32)].map { bytes in
            String(decoding: Base64URLText.encode(Array(bytes)), as: UTF8.self)
        }
        return #"{"kty":"EC","crv":"P-256","x":"\#(coordinates[0])","y":"\#(coordinates[1])"}"#
    }

    fileprivate func signed(rawHeader: some Sequence<UInt8>) -> [UInt8] {
        signed(ForgedJWS(header: Array(rawHeader), payload: contents.payload)).text
    }
}
