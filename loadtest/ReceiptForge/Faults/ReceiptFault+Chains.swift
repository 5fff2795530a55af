// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Chains of correct certificates that do not fit together.
extension FaultForge {
    static let chains: [ReceiptFault] = [
        .rejected("signer-certificate-missing", .signerCertificateMissing)
            .afterSigning { $0.certificates.removeFirst() }
            .because("The certificate that the signer names is not in the container."),
        .rejected("intermediate-missing", .issuerCertificateMissing).afterSigning { $0.certificates.remove(at: 1) }
            .because("The chain breaks after the leaf; a verifier must not fetch the missing certificate."),
        .rejected("lookalike-chain", .anchorUntrusted)
            .container { $0.signed(by: .attackerLeaf, certificates: $0.lookalikeCertificates) }
            .because("The same names, serial numbers and markers, other keys: names prove nothing."),
        .rejected("lookalike-chain-with-genuine-root", .certificateSignatureInvalid)
            .container {
                $0.signed(by: .attackerLeaf, certificates: $0.lookalikeCertificates.dropLast() + [$0.pki.root])
            }
            .because(
                "A forged chain ends in the genuine root, which is public: its fingerprint is right, the signature is not."
            ),
        .rejected("unrelated-certificate", .certificateUnused)
            .afterSigning { $0.certificates.insert($1.bystander, at: 0) }
            .because("The list of certificates is unsigned: with others allowed, one receipt has endless variants."),
        .rejected("decoy-signer-first", .signerCertificateAmbiguous)
            .afterSigning { $0.certificates.insert($1.lookalikeCertificates[0], at: 0) }
            .because("A second certificate claims the signer's issuer and serial number and stands first."),
        .rejected("decoy-signer-last", .signerCertificateAmbiguous)
            .afterSigning { $0.certificates.append($1.lookalikeCertificates[0]) }
            .because("The same decoy at the end: neither the first match nor the last one may win."),
        .rejected("leaf-issued-by-leaf", .issuerNotCA).container { $0.issuedByLeaf }
            .because("Without a check of CA:FALSE, the holder of a leaf could issue further leaves."),
        .rejected("path-length-exceeded", .pathLengthExceeded).container { $0.issuedBySubordinate }
            .because("An authority below the intermediate, whose path length is 0 (RFC 5280 §4.2.1.9)."),
        .rejected("chain-in-a-circle", .pathLengthExceeded).container { $0.issuedInCircle }
            .because("Two authorities that issued each other: following issuers without a limit never ends."),
    ]
}

extension FaultForge {
    fileprivate var bystander: IssuedCertificate {
        var bystander = Chain(pki.keys).leaf
        bystander.subject = TestNames.bystander
        bystander.serialNumber = Array("Bystander".utf8)
        return bystander.signed(by: .intermediate, pki)
    }

    /// A leaf issued by a leaf with both markers, so that only CA:FALSE forbids it.
    fileprivate var issuedByLeaf: SignedDataTemplate {
        var issuer = Chain(pki.keys).leaf
        issuer.extensions.append(.marker(.worldwideDeveloperRelationsMarker))
        var rogue = Chain(pki.keys, leaf: .attackerLeaf).leaf
        rogue.issuer = issuer.subject
        rogue.subject = TestNames.bystander
        let certificates = [rogue.signed(by: .leaf, pki), issuer.signed(by: .intermediate, pki)]
        return signed(by: .attackerLeaf, certificates: certificates + [pki.intermediate, pki.root])
    }

    fileprivate var issuedBySubordinate: SignedDataTemplate {
        let subordinate = authority(TestNames.subordinate, issuer: TestNames.intermediate)
        var leaf = Chain(pki.keys).leaf
        leaf.issuer = TestNames.subordinate
        let certificates = [
            leaf.signed(by: .attackerIntermediate, pki), subordinate.signed(by: .intermediate, pki),
        ]
        return signed(by: .leaf, certificates: certificates + [pki.intermediate, pki.root])
    }

    fileprivate var issuedInCircle: SignedDataTemplate {
        let first = authority(TestNames.subordinate, issuer: TestNames.bystander)
        let second = authority(TestNames.bystander, issuer: TestNames.subordinate)
        var leaf = Chain(pki.keys).leaf
        leaf.issuer = TestNames.subordinate
        return signed(
            by: .leaf, certificates: [leaf, first, second].map { $0.signed(by: .attackerIntermediate, pki) })
    }

    /// Returns a marked authority without a path length, which has the attacker's intermediate key.
    private func authority(_ subject: DistinguishedName, issuer: DistinguishedName) -> CertificateTemplate {
        var template = Chain.lookalike(pki.keys).intermediate
        template.subject = subject
        template.issuer = issuer
        template.replace(with: .certificateAuthority())
        return template
    }
}

extension CertificateTemplate {
    fileprivate func signed(by role: KeyRole, _ pki: ForgedPKI) -> IssuedCertificate {
        signed(by: pki.keys.key(for: role))
    }
}
