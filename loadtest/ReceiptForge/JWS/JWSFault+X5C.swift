// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Lists of certificates that are no leaf, intermediate and pinned root.
extension JWSForge {
    static let certificateLists: [JWSFault] = [
        JWSFault(
            "x5c-missing", .rejected(.x5cMissing),
            "No certificates: Apple's library for local testing signs like this.",
            .header { header, _ in header["x5c"] = nil }),
        JWSFault(
            "x5c-is-text", .rejected(.x5cMissing), "One text in place of a list (RFC 7515 §4.1.6).",
            .header { header, forge in header["x5c"] = "\"\(Base64Encoder.text(forge.x5c[0]))\"" }),
        JWSFault(
            "x5c-empty", .rejected(.x5cMissing), "A list of no certificates.",
            .header { header, _ in header["x5c"] = "[]" }),
        JWSFault(
            "x5c-of-one", .rejected(.x5cCountWrong), belowOperatorsRoot: .rejected(.issuerCertificateMissing),
            "The leaf alone; a verifier must not fetch the others.", .certificates { [$0.x5c[0]] }),
        JWSFault(
            "x5c-of-two", .rejected(.x5cCountWrong), belowOperatorsRoot: .genuine,
            "Without the root, which libraries with a root of their own never miss.",
            .certificates { Array($0.x5c.prefix(2)) }),
        JWSFault(
            "x5c-of-four", .rejected(.x5cCountWrong), belowOperatorsRoot: .rejected(.certificateUnused),
            "A fourth certificate behind the root.", .certificates { $0.x5c + [$0.x5c[1]] }),
        JWSFault(
            "x5c-of-a-thousand", .rejected(.x5cEntryMalformed),
            "Many small entries cost time before anything is verified.",
            .header { header, _ in header["x5c"] = JOSEHeader.array(Array(repeating: "MAA=", count: 1_000)) }),
        JWSFault(
            "x5c-out-of-order", .rejected(.x5cOrderWrong),
            "The root before the intermediate (RFC 7515 §4.1.6: each certifies the one before it).",
            .certificates { [$0.x5c[0], $0.x5c[2], $0.x5c[1]] }),
        JWSFault(
            "x5c-with-leaf-second", .rejected(.certificateUnused), "The intermediate in the signer's place.",
            .certificates { [$0.x5c[1], $0.x5c[0], $0.x5c[2]] }),
        JWSFault(
            "root-reissued", .rejected(.anchorUntrusted), belowOperatorsRoot: .genuine,
            "Another certificate with the pinned root's name and key: other bytes. Apple's libraries ignore the third entry.",
            .certificates { Array($0.x5c.prefix(2)) + [$0.pki.reissuedRoot.der] }),
        JWSFault(
            "root-of-another-authority", .rejected(.anchorUntrusted),
            "The root of an authority with the same name, which never signed the intermediate.",
            .certificates { Array($0.x5c.prefix(2)) + [$0.stranger.root.der] }),
        JWSFault(
            "root-is-garbage", .rejected(.certificateMalformed), "Bytes that are no certificate in the root's place.",
            .certificates { Array($0.x5c.prefix(2)) + [Array("no certificate".utf8)] }),
        JWSFault(
            "intermediate-in-place-of-root", .rejected(.issuerCertificateMissing),
            belowOperatorsRoot: .rejected(.certificateUnused), "The intermediate twice, and no root.",
            .certificates { [$0.x5c[0], $0.x5c[1], $0.x5c[1]] }),
    ]
}

extension TransactionPKI {
    /// Another certificate with the root's name and key, as authorities issue them when a root is renewed.
    package var reissuedRoot: IssuedCertificate {
        var template = CertificateTemplate.root(key: rootKey)
        template.serialNumber = [7]
        return template.signed(by: rootKey, .sha384)
    }
}

/// Entries of x5c that are not the base64 of one certificate.
extension JWSForge {
    static let entries: [JWSFault] = [
        JWSFault(
            "x5c-entry-in-base64url", .rejected(.x5cEntryMalformed), "RFC 7515 §4.1.6: base64, not base64url.",
            .header { header, forge in
                header["x5c"] = forge.entries { $0.replacing("+", with: "-").replacing("/", with: "_") }
            }),
        JWSFault(
            "x5c-entry-with-newlines", .rejected(.x5cEntryMalformed), "Lines of 64 characters, as in PEM.",
            .header { header, forge in
                header["x5c"] = forge.entries { Base64Encoder.lines($0, width: 64, separator: "\\n") }
            }),
        JWSFault(
            "x5c-entry-with-space", .rejected(.x5cEntryMalformed), "A space at the end, which lenient decoders skip.",
            .header { header, forge in header["x5c"] = forge.entries { $0 + " " } }),
        JWSFault(
            "x5c-entry-without-padding", .rejected(.x5cEntryMalformed), "Base64 without its `=`.",
            .header { header, forge in
                header["x5c"] = forge.paddedEntries { $0.replacing("=", with: "") }
            }),
        JWSFault(
            "x5c-entry-in-pem", .rejected(.x5cEntryMalformed), "With the lines that begin and end PEM.",
            .header { header, forge in
                header["x5c"] = forge.entries { "-----BEGIN CERTIFICATE-----\\n\($0)\\n-----END CERTIFICATE-----" }
            }),
        JWSFault(
            "x5c-entry-is-number", .rejected(.x5cEntryMalformed), "A number among the texts.",
            .header { header, forge in header["x5c"] = "[\"\(Base64Encoder.text(forge.x5c[0]))\",1,2]" }),
        JWSFault(
            "x5c-entry-empty", .rejected(.x5cEntryMalformed), "An empty text in the root's place.",
            .header { header, forge in
                header["x5c"] = JOSEHeader.array(forge.x5c.prefix(2).map(Base64Encoder.text) + [""])
            }),
        JWSFault(
            "bytes-after-leaf", .rejected(.certificateMalformed),
            "A byte after the leaf's DER, inside the base64: one certificate has endless spellings.",
            .certificates { [$0.x5c[0] + [0]] + $0.x5c.dropFirst() }),
        JWSFault(
            "bytes-after-root", .rejected(.certificateMalformed), "A byte after the root's DER.",
            .certificates { $0.x5c.dropLast() + [$0.x5c[2] + [0]] }),
    ]
}

extension JWSForge {
    /// Returns x5c with each entry's base64 rewritten.
    fileprivate func entries(_ rewrite: (String) -> String) -> String {
        JOSEHeader.array(x5c.map { rewrite(Base64Encoder.text($0)) })
    }

    /// Returns x5c with each entry's base64 rewritten, below a leaf whose length takes padding.
    fileprivate func paddedEntries(_ rewrite: (String) -> String) -> String {
        var certificates = x5c
        // The length of an ECDSA signature in DER is a matter of chance.
        while certificates[0].count % 3 == 0 { certificates = chain { $0.leaf.serialNumber.append(1) } }
        return JOSEHeader.array(certificates.map { rewrite(Base64Encoder.text($0)) })
    }
}
