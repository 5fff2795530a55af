// SPDX-License-Identifier: Apache-2.0

/// Applies faults to one signed transaction.
package struct JWSForge: FaultApplying {
    package enum Recipe: Sendable {
        case text(@Sendable (JWSForge) -> [UInt8])
        /// The claims, before anything is encoded.
        case claims(@Sendable (inout TransactionContents) -> Void)
        /// A payload of another kind or form, signed as it stands.
        case payload(@Sendable (JWSForge) -> [UInt8])
        /// The certificates, before their authorities sign them. The root stays the pinned root.
        case chain(@Sendable (inout TransactionChain) -> Void)
        /// Other certificates above the genuine leaf's key, the signer's first.
        case certificates(@Sendable (JWSForge) -> [[UInt8]])
        /// The header, before it is encoded.
        case header(@Sendable (inout JOSEHeader, JWSForge) -> Void)
        /// The text of header and payload, before it is signed.
        case beforeSigning(@Sendable (inout ForgedJWS) -> Void)
        /// The finished parts, after signing.
        case afterSigning(@Sendable (inout ForgedJWS) -> Void)
    }

    package static let faults =
        legitimate + legitimateNotifications + form + base64URL + algorithms + parameters + certificateLists + entries
        + leaves + issuers + signatures + signatureNumbers + payloads + claims + dates + environments + notifications
        + appTransactions

    static let inNotifications = Set(legitimateNotifications + notifications)

    /// The authority whose root a verifier under test must pin.
    package let pki: TransactionPKI
    /// The claims of the sample: a renewal in the sandbox.
    package let contents = TransactionContents()
    /// An authority with the same names that no verifier trusts.
    let stranger = TransactionPKI(seed: 0xA77AC4E2)
    /// RSA keys, where a fault needs an RSA key.
    let keys = KeyRing(seed: 1)
    let p384Leaf = ECPrivateKey(.p384, seed: 1, purpose: "transaction leaf on P-384")

    package init(pki: TransactionPKI) {
        self.pki = pki
    }

    package var wellFormed: [UInt8] { pki.jws(contents) }

    /// Returns the text that a client would send with this fault.
    package func text(with fault: JWSFault) -> [UInt8] {
        switch fault.recipe {
        case .text(let make): make(self)
        case .claims(let edit): pki.jws(edited(contents, by: edit))
        case .payload(let make): pki.jws(make(self))
        case .chain(let edit): signed(JOSEHeader(certificates: chain(edit))).text
        case .certificates(let make): signed(JOSEHeader(certificates: make(self))).text
        case .header(let edit): signed(edited(header) { edit(&$0, self) }).text
        case .beforeSigning(let edit): signed(edited(unsigned, by: edit)).text
        case .afterSigning(let edit): edited(signed(unsigned), by: edit).text
        }
    }
}

extension JWSForge {
    /// Leaf, intermediate, root.
    var x5c: [[UInt8]] { pki.certificates.map(\.der) }

    var header: JOSEHeader { JOSEHeader(certificates: x5c) }

    var unsigned: ForgedJWS { ForgedJWS(header: header.json, payload: contents.payload) }

    func signed(_ jws: ForgedJWS) -> ForgedJWS {
        edited(jws) { pki.sign(&$0) }
    }

    /// Returns the sample under another header.
    func signed(_ header: JOSEHeader) -> ForgedJWS {
        signed(ForgedJWS(header: header.json, payload: contents.payload))
    }

    /// Returns the sample under another header, with a signature that `sign` makes of the signed text.
    func signed(_ header: JOSEHeader, by sign: ([UInt8]) -> [UInt8]) -> ForgedJWS {
        edited(ForgedJWS(header: header.json, payload: contents.payload)) { jws in
            jws.signature = Base64URLText.encode(sign(jws.signingInput))
        }
    }

    /// Returns the sample under a header with this `kid`: genuine, and another header.
    package func signed(keyIdentifier: String) -> [UInt8] {
        signed(edited(header) { $0["kid"] = "\"\(keyIdentifier)\"" }).text
    }

    /// Returns edited certificates below the pinned root.
    func chain(_ edit: (inout TransactionChain) -> Void) -> [[UInt8]] {
        edited(TransactionChain(pki), by: edit).certificates(signedBy: pki)
    }
}

/// The templates below the root of a chain that signs transactions.
package struct TransactionChain: Sendable {
    var leaf: CertificateTemplate
    var intermediate: CertificateTemplate

    init(_ pki: TransactionPKI) {
        leaf = .leaf(key: pki.leafKey, authority: pki.intermediateKey)
        intermediate = .intermediate(key: pki.intermediateKey, authority: pki.rootKey)
    }

    /// Returns leaf, intermediate, root.
    func certificates(signedBy pki: TransactionPKI) -> [[UInt8]] {
        [
            leaf.signed(by: pki.intermediateKey, .sha384).der, intermediate.signed(by: pki.rootKey, .sha384).der,
            pki.root.der,
        ]
    }
}
