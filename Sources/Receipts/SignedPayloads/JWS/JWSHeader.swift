// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// The header of a JWS (RFC 7515 §4), which must name ES256 and carry the signer's certificates. Not yet verified.
struct JWSHeader {
    /// The certificates of x5c in DER, concatenated.
    private(set) var certificates: [UInt8] = []
    /// The range of each certificate, the signer's first.
    private(set) var encodings: [Range<Int>] = []
    private var isES256 = false

    /// The limits of a header, which is read before anything is verified.
    private enum Limits {
        static let parameters = 16
        /// Beyond the longest chain of an operator's root.
        static let certificates = 8
        /// Texts in x5c, beyond which no more are read.
        static let texts = 64
    }

    private static let rules = ObjectReader.Rules(
        malformed: .jwsHeaderMalformed, duplicate: .jwsHeaderParameterDuplicate, tooMany: .jwsHeaderMalformed,
        maximumMembers: Limits.parameters)

    /// Reads the header's JSON, after base64url.
    init(_ text: Span<UInt8>) throws(ReceiptError) {
        var reader = try ObjectReader(text, rules: Self.rules, notObject: .jwsHeaderMalformed)
        while let name = try reader.nextName() {
            try readParameter(named: text.extracting(name), from: &reader)
        }
        guard isES256 else { throw ReceiptError(.jwsAlgorithmUnsupported) }
        guard !encodings.isEmpty else { throw ReceiptError(.x5cMissing) }
    }

    /// Reads a parameter that has a meaning here (RFC 7515 §4.1, RFC 7797 §3), and skips others, such as `typ` and `kid`.
    private mutating func readParameter(
        named name: Span<UInt8>, from reader: inout ObjectReader
    ) throws(ReceiptError) {
        switch name.copy(0..<min(name.count, 5)) {
        case Array("alg".utf8):
            guard try reader.nextType() == .string else { throw ReceiptError(.jwsAlgorithmUnsupported) }
            let algorithm = try reader.read { json throws(JSONFault) in try json.unescaped(try json.string()) }
            isES256 = algorithm == Array("ES256".utf8)
        case Array("x5c".utf8): try readCertificates(from: &reader)
        // A key of the sender's choice.
        case Array("jwk".utf8), Array("jku".utf8), Array("x5u".utf8): throw ReceiptError(.jwsKeyInHeader)
        // A header with them means something else than it seems to.
        case Array("crit".utf8), Array("b64".utf8): throw ReceiptError(.jwsCriticalParameter)
        default: try reader.skip()
        }
    }

    /// Reads x5c (RFC 7515 §4.1.6): an array of base64 texts, not base64url.
    private mutating func readCertificates(from reader: inout ObjectReader) throws(ReceiptError) {
        guard try reader.nextType() == .array else { throw ReceiptError(.x5cMissing) }
        let found = try? reader.read { json throws(JSONFault) in try json.strings(maximumCount: Limits.texts) }
        guard let texts = found else { throw ReceiptError(.x5cEntryMalformed) }
        guard texts.count <= Limits.certificates else { throw ReceiptError(.x5cCountWrong) }
        for text in texts {
            let encoded = try reader.read { json throws(JSONFault) in try json.unescaped(text) }
            guard let der = try? Base64.decode(encoded.span), Base64.encodedCount(of: der.count) == encoded.count else {
                throw ReceiptError(.x5cEntryMalformed)
            }
            encodings.append(certificates.count..<certificates.count + der.count)
            certificates += der
        }
    }
}
