// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Texts that are no JWS in compact serialization (RFC 7515 §7.1), or a second spelling of a JWS.
extension JWSForge {
    static let form: [JWSFault] = [
        .rejected("two-parts", .jwsNotCompact).text { $0.unsigned.signingInput }
            .because("Header and payload without a signature: an unsecured JWS that lost its last dot."),
        .rejected("four-parts", .jwsNotCompact).text { $0.wellFormed + Array(".e30".utf8) }
            .because("A fourth part, which a reader that takes the first three ignores."),
        .rejected("five-parts", .jwsNotCompact).text { $0.wellFormed + Array(".e30.e30".utf8) }
            .because("The number of parts of an encrypted JWE (RFC 7516 §7.1)."),
        .rejected("json-serialization", .jwsNotCompact).text { $0.flattened }
            .because("The flattened JSON serialization (RFC 7515 §7.2.2), properly signed."),
        .rejected("empty-text", .jwsNotCompact).text { _ in [] }
            .because("An empty string, as from a client without a transaction."),
        .rejected("header-empty", .jwsHeaderMalformed).rawHeader { _ in [] }
            .because("Nothing before the first dot."),
        .rejected("text-too-large", .jwsTooLarge)
            .claims { $0 = $0.adding("\"filler\":\"\(String(repeating: "x", count: 300_000))\"") }
            .because("A payload of 300 kB: a genuine notification has 19 kB."),
        .rejected("header-too-large", .jwsTooLarge)
            .header { $0["filler"] = "\"\(String(repeating: "x", count: 45_000))\"" }
            .because("A header of 60 kB, which would be decoded before anything is verified."),
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
            .rejected("\(part)-padded", .jwsBase64URLInvalid).text { $0.rewriting(part) { $0 + "==" } }
                .because("With `=`, which RFC 7515 §2 omits: one JWS has several texts."),
            .rejected("\(part)-in-base64-alphabet", .jwsBase64URLInvalid)
                .text { $0.rewriting(part) { $0.replacing("-", with: "+").replacing("_", with: "/") } }
                .because("With `+` and `/` in place of `-` and `_`, which Apple's libraries accept."),
            .rejected("\(part)-with-newline", .jwsBase64URLInvalid)
                .text { $0.rewriting(part) { $0.prefix(40) + "\n" + $0.dropFirst(40) } }
                .because("With a newline inside, which lenient decoders skip."),
            .rejected("\(part)-with-space", .jwsBase64URLInvalid)
                .text { $0.rewriting(part) { $0.dropLast() + " " + $0.suffix(1) } }
                .because("With a space before its last character."),
            .rejected("\(part)-with-unused-bits", .jwsBase64URLInvalid)
                .text { $0.rewriting(part, \.withUnusedBit) }
                .because("RFC 4648 §3.5: unused bits must be zero, or sixteen texts decode to the same bytes."),
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
    fileprivate func rewriting(_ part: JWSPart, _ edit: (String) -> String) -> [UInt8] {
        var header = header
        header["kid"] = "\"???\""
        let payload = contents.adding("\"note\":\"???\"").payload
        var jws = ForgedJWS(header: header.json.spacedToOneRest, payload: payload.spacedToOneRest)
        func rewrite(_ bytes: inout [UInt8]) { bytes = Array(edit(String(decoding: bytes, as: UTF8.self)).utf8) }
        if part == .header { rewrite(&jws.header) }
        if part == .payload { rewrite(&jws.payload) }
        repeat {
            jws = signed(jws)
        } while !jws.signature.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        if part == .signature { rewrite(&jws.signature) }
        return jws.text
    }
}

extension [UInt8] {
    /// A JSON text with spaces after it, up to one byte more than a multiple of three: two characters encode that byte.
    fileprivate var spacedToOneRest: [UInt8] {
        self + [UInt8](repeating: UInt8(ascii: " "), count: (4 - count % 3) % 3)
    }
}
