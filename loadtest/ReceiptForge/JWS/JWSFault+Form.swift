// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Texts that are no JWS in compact serialization (RFC 7515 §7.1), or a second spelling of a JWS.
extension JWSForge {
    static let form: [JWSFault] = [
        JWSFault(
            "two-parts", .rejected(.jwsNotCompact),
            "Header and payload without a signature: an unsecured JWS that lost its last dot.",
            .text { $0.unsigned.signingInput }),
        JWSFault(
            "four-parts", .rejected(.jwsNotCompact),
            "A fourth part, which a reader that takes the first three ignores.",
            .text { $0.wellFormed + Array(".e30".utf8) }),
        JWSFault(
            "five-parts", .rejected(.jwsNotCompact), "The number of parts of an encrypted JWE (RFC 7516 §7.1).",
            .text { $0.wellFormed + Array(".e30.e30".utf8) }),
        JWSFault(
            "json-serialization", .rejected(.jwsNotCompact),
            "The flattened JSON serialization (RFC 7515 §7.2.2), properly signed.", .text { $0.flattened }),
        JWSFault(
            "empty-text", .rejected(.jwsNotCompact), "An empty string, as from a client without a transaction.",
            .text { _ in [] }),
        JWSFault(
            "header-empty", .rejected(.jwsHeaderMalformed), "Nothing before the first dot.",
            .beforeSigning { $0.header = [] }),
        JWSFault(
            "text-too-large", .rejected(.jwsTooLarge), "A payload of 300 kB: a genuine notification has 19 kB.",
            .claims { $0 = $0.adding("\"filler\":\"\(String(repeating: "x", count: 300_000))\"") }),
        JWSFault(
            "header-too-large", .rejected(.jwsTooLarge),
            "A header of 60 kB, which would be decoded before anything is verified.",
            .header { header, _ in header["filler"] = "\"\(String(repeating: "x", count: 45_000))\"" }),
    ]
}

extension JWSForge {
    fileprivate var flattened: [UInt8] {
        let jws = signed(unsigned)
        let members = [("payload", jws.payload), ("protected", jws.header), ("signature", jws.signature)]
        let texts = members.map { "\"\($0)\":\"\(String(decoding: $1, as: UTF8.self))\"" }
        return Array("{\(texts.joined(separator: ","))}".utf8)
    }
}

/// Second spellings of the three parts. Header and payload are signed as they stand: the signature fits.
extension JWSForge {
    static let base64URL: [JWSFault] = JWSPart.allCases.flatMap { part in
        [
            JWSFault(
                "\(part)-padded", .rejected(.jwsBase64URLInvalid),
                "With `=`, which RFC 7515 §2 omits: one JWS has several texts.",
                .text { $0.rewriting(part) { $0 + Array("==".utf8) } }),
            JWSFault(
                "\(part)-in-base64-alphabet", .rejected(.jwsBase64URLInvalid),
                "With `+` and `/` in place of `-` and `_`, which Apple's libraries accept.",
                .text { $0.rewriting(part) { $0.map(\.inBase64Alphabet) } }),
            JWSFault(
                "\(part)-with-newline", .rejected(.jwsBase64URLInvalid),
                "With a newline inside, which lenient decoders skip.",
                .text { $0.rewriting(part) { $0.prefix(40) + [UInt8(ascii: "\n")] + $0.dropFirst(40) } }),
            JWSFault(
                "\(part)-with-space", .rejected(.jwsBase64URLInvalid), "With a space before its last character.",
                .text { $0.rewriting(part) { $0.dropLast() + [UInt8(ascii: " ")] + $0.suffix(1) } }),
            JWSFault(
                "\(part)-with-unused-bits", .rejected(.jwsBase64URLInvalid),
                "RFC 4648 §3.5: unused bits must be zero, or sixteen texts decode to the same bytes.",
                .text { $0.rewriting(part) { $0.dropLast() + [$0[$0.count - 1].withUnusedBit] } }),
        ]
    }
}

private enum JWSPart: String, CaseIterable, CustomStringConvertible {
    case header, payload, signature

    var description: String { rawValue }
}

extension JWSForge {
    /// Returns the sample with one part spelled differently. Before that, each part has two unused groups of bits and a
    /// character in which the two alphabets differ.
    fileprivate func rewriting(_ part: JWSPart, _ edit: ([UInt8]) -> [UInt8]) -> [UInt8] {
        var header = header
        header["kid"] = "\"???\""
        let payload = contents.adding("\"note\":\"???\"").payload
        var jws = ForgedJWS(header: header.json.spacedToOneRest, payload: payload.spacedToOneRest)
        switch part {
        case .header: jws.header = edit(jws.header)
        case .payload: jws.payload = edit(jws.payload)
        case .signature: break
        }
        repeat { pki.sign(&jws) } while !jws.signature.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        if part == .signature { jws.signature = edit(jws.signature) }
        return jws.text
    }
}

extension [UInt8] {
    /// A JSON text with spaces after it, up to one byte more than a multiple of three: two characters encode that byte.
    fileprivate var spacedToOneRest: [UInt8] {
        self + [UInt8](repeating: UInt8(ascii: " "), count: (4 - count % 3) % 3)
    }
}

extension UInt8 {
    fileprivate var inBase64Alphabet: UInt8 {
        switch self {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: self
        }
    }

    /// The next character of the alphabet: the lowest unused bit is one.
    fileprivate var withUnusedBit: UInt8 {
        guard let value = Base64URLText.alphabet.firstIndex(of: self) else { return self }
        return Base64URLText.alphabet[value | 1]
    }
}
