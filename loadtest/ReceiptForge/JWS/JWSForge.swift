// SPDX-License-Identifier: Apache-2.0

/// Applies faults to one signed transaction.
package struct JWSForge: FaultApplying {
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

    package var ordinary: [UInt8] { wellFormed }
}

/// The steps at which a fault makes its difference. All later steps are correct.
extension JWSFault {
    func text(_ make: @escaping Make<JWSForge, [UInt8]>) -> Self { evidence(make) }

    /// The claims, before anything is encoded.
    func claims(_ edit: @escaping Edit<TransactionContents>) -> Self {
        text { $0.pki.jws($0.edited($0.contents, by: edit)) }
    }

    /// A payload of another kind or form, signed as it stands.
    func payload(_ make: @escaping Make<JWSForge, [UInt8]>) -> Self { text { $0.pki.jws(make($0)) } }

    /// Claims of another kind.
    func claims<Contents: SignedContents>(of contents: Contents, _ edit: @escaping Edit<Contents> = { _ in }) -> Self {
        payload { $0.edited(contents, by: edit).payload }
    }

    /// The certificates, before their authorities sign them. The root stays the pinned root.
    func chain(_ edit: @escaping Edit<TransactionChain>) -> Self { certificates { $0.chain(edit) } }

    func chain(_ edit: @escaping @Sendable (inout TransactionChain, JWSForge) -> Void) -> Self {
        certificates { forge in forge.chain { edit(&$0, forge) } }
    }

    /// Other certificates above the genuine leaf's key, the signer's first.
    func certificates(_ make: @escaping Make<JWSForge, [[UInt8]]>) -> Self {
        text { $0.signed(JOSEHeader(certificates: make($0))).text }
    }

    /// The header, before it is encoded.
    func header(_ edit: @escaping @Sendable (inout JOSEHeader, JWSForge) -> Void) -> Self {
        text { forge in forge.signed(forge.edited(forge.header) { edit(&$0, forge) }).text }
    }

    func header(_ edit: @escaping Edit<JOSEHeader>) -> Self { header { header, _ in edit(&header) } }

    /// The bytes of the header.
    func rawHeader(_ make: @escaping Make<JWSForge, [UInt8]>) -> Self {
        text { $0.signed(ForgedJWS(header: make($0), payload: $0.contents.payload)).text }
    }

    /// The finished parts, after signing.
    func afterSigning(_ edit: @escaping @Sendable (inout ForgedJWS, JWSForge) -> Void) -> Self {
        text { forge in forge.edited(forge.signed(forge.unsigned)) { edit(&$0, forge) }.text }
    }
}

extension JWSForge {
    /// Leaf, intermediate, root.
    var x5c: [[UInt8]] { pki.certificates.map(\.der) }

    var header: JOSEHeader { JOSEHeader(certificates: x5c) }

    var unsigned: ForgedJWS { ForgedJWS(header: header.json, payload: contents.payload) }

    func signed(_ jws: ForgedJWS) -> ForgedJWS { jws.signed(by: pki.sign) }

    /// Returns the sample under another header.
    func signed(_ header: JOSEHeader) -> ForgedJWS { signed(header, by: pki.sign) }

    /// Returns the sample under another header, with a signature that `sign` makes of the signed text.
    func signed(_ header: JOSEHeader, by sign: ([UInt8]) -> [UInt8]) -> ForgedJWS {
        ForgedJWS(header: header.json, payload: contents.payload).signed(by: sign)
    }

    /// Returns the sample under a header with this `kid`: genuine, and another header.
    package func signed(keyIdentifier: String) -> [UInt8] {
        signed(edited(header) { $0["kid"] = "\"\(keyIdentifier)\"" }).text
    }

    /// Returns edited certificates below the pinned root.
    func chain(_ edit: (inout TransactionChain) -> Void) -> [[UInt8]] {
        let chain = Chain(root: pki.rootKey, intermediate: pki.intermediateKey, leaf: pki.leafKey, digest: .sha384)
        return edited(chain, by: edit).certificates.dropLast().map(\.der) + [pki.root.der]
    }
}

/// A chain that signs transactions.
typealias TransactionChain = Chain<ECPrivateKey>
