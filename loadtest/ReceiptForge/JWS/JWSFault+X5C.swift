// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Lists of certificates that are no leaf, intermediate and pinned root.
extension JWSForge {
    static let certificateLists: [JWSFault] = [
        .rejected("x5c-missing", .x5cMissing).header { $0["x5c"] = nil }
            .because("No certificates: Apple's library for local testing signs like this."),
        .rejected("x5c-is-text", .x5cMissing).x5c { "\"\(Base64Encoder.text($0.x5c[0]))\"" }
            .because("One text in place of a list (RFC 7515 §4.1.6)."),
        .rejected("x5c-empty", .x5cMissing).x5c { _ in "[]" }
            .because("A list of no certificates."),
        .rejected("x5c-of-one", .x5cCountWrong).belowOperatorsRoot(.rejected(.issuerCertificateMissing))
            .certificates { [$0.x5c[0]] }
            .because("The leaf alone; a verifier must not fetch the others."),
        .rejected("x5c-of-two", .x5cCountWrong).belowOperatorsRoot(.genuine).certificates { Array($0.x5c.prefix(2)) }
            .because("Without the root, which libraries with a root of their own never miss."),
        .rejected("x5c-of-four", .x5cCountWrong).belowOperatorsRoot(.rejected(.certificateUnused))
            .certificates { $0.x5c + [$0.x5c[1]] }
            .because("A fourth certificate behind the root."),
        .rejected("x5c-of-a-thousand", .x5cEntryMalformed)
            .x5c { _ in JOSEHeader.array(Array(repeating: "MAA=", count: 1_000)) }
            .because("Many small entries cost time before anything is verified."),
        .rejected("x5c-out-of-order", .x5cOrderWrong).certificates { [$0.x5c[0], $0.x5c[2], $0.x5c[1]] }
            .because("The root before the intermediate (RFC 7515 §4.1.6: each certifies the one before it)."),
        .rejected("x5c-with-leaf-second", .certificateUnused).certificates { [$0.x5c[1], $0.x5c[0], $0.x5c[2]] }
            .because("The intermediate in the signer's place."),
        .rejected("root-reissued", .anchorUntrusted).belowOperatorsRoot(.genuine)
            .certificates { Array($0.x5c.prefix(2)) + [$0.pki.reissuedRoot.der] }
            .because(
                "Another certificate with the pinned root's name and key: other bytes. Apple's libraries ignore the third entry."
            ),
        .rejected("root-of-another-authority", .anchorUntrusted)
            .certificates { Array($0.x5c.prefix(2)) + [$0.stranger.root.der] }
            .because("The root of an authority with the same name, which never signed the intermediate."),
        .rejected("root-is-garbage", .certificateMalformed)
            .certificates { Array($0.x5c.prefix(2)) + [Array("no certificate".utf8)] }
            .because("Bytes that are no certificate in the root's place."),
        .rejected("intermediate-in-place-of-root", .issuerCertificateMissing).belowOperatorsRoot(
            .rejected(.certificateUnused)
        )
        .certificates { [$0.x5c[0], $0.x5c[1], $0.x5c[1]] }
        .because("The intermediate twice, and no root."),
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
        .rejected("x5c-entry-in-base64url", .x5cEntryMalformed)
            .x5c { forge in forge.entries { $0.replacing("+", with: "-").replacing("/", with: "_") } }
            .because("RFC 7515 §4.1.6: base64, not base64url."),
        .rejected("x5c-entry-with-newlines", .x5cEntryMalformed)
            .x5c { forge in forge.entries { Base64Encoder.lines($0, width: 64, separator: "\\n") } }
            .because("Lines of 64 characters, as in PEM."),
        .rejected("x5c-entry-with-space", .x5cEntryMalformed).x5c { forge in forge.entries { $0 + " " } }
            .because("A space at the end, which lenient decoders skip."),
        .rejected("x5c-entry-without-padding", .x5cEntryMalformed)
            .x5c { forge in forge.paddedEntries { $0.replacing("=", with: "") } }
            .because("Base64 without its `=`."),
        .rejected("x5c-entry-in-pem", .x5cEntryMalformed)
            .x5c { forge in forge.entries { "-----BEGIN CERTIFICATE-----\\n\($0)\\n-----END CERTIFICATE-----" } }
            .because("With the lines that begin and end PEM."),
        .rejected("x5c-entry-is-number", .x5cEntryMalformed).x5c { "[\"\(Base64Encoder.text($0.x5c[0]))\",1,2]" }
            .because("A number among the texts."),
        .rejected("x5c-entry-empty", .x5cEntryMalformed)
            .x5c { JOSEHeader.array($0.x5c.prefix(2).map(Base64Encoder.text) + [""]) }
            .because("An empty text in the root's place."),
        .rejected("bytes-after-leaf", .certificateMalformed).certificates { [$0.x5c[0] + [0]] + $0.x5c.dropFirst() }
            .because("A byte after the leaf's DER, inside the base64: one certificate has endless spellings."),
        .rejected("bytes-after-root", .certificateMalformed).certificates { $0.x5c.dropLast() + [$0.x5c[2] + [0]] }
            .because("A byte after the root's DER."),
    ]
}

extension JWSFault {
    /// The value of x5c, before the header is encoded.
    fileprivate func x5c(_ make: @escaping Make<JWSForge, String>) -> Self { header { $0["x5c"] = make($1) } }
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
