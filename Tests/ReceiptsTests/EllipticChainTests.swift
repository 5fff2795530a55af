// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ReceiptForge
@testable import Receipts

private typealias Element = ReceiptForge.DERNode

/// Chains as in the x5c of a signed transaction: no container, P-384 above P-256.
struct EllipticChainTests {
    private static let pki = TransactionPKI(seed: 1)
    private static let x5c = pki.certificates.map(\.der)
    private static let store = trusting(pki.root)
    private static let message = Array("header.payload".utf8)

    private static func trusting(_ root: ReceiptForge.IssuedCertificate) -> TrustStore {
        TrustStore(anchors: [TrustAnchor(fingerprint: Fingerprint(of: root.der.span), environments: [.sandbox])])
    }

    // MARK: Genuine chains

    @Test func `a chain of P-384 and P-256 leads from its signer to a root that is known by its fingerprint`() throws {
        let chain = try CertificateChain(x5c: Self.x5c, trustStore: Self.store)
        #expect(chain.environments == [.sandbox])
        #expect(chain.info.belowAnchor.map(\.fingerprint) == Self.x5c.prefix(2).map { Fingerprint(of: $0.span) })
        #expect(chain.info.anchor.fingerprint == Fingerprint(of: Self.pki.root.der.span))
        #expect(chain.validity.notBefore == Timestamp(UTCDate(2016, 1, 1)))
        #expect(try chain.key.verifies(Self.pki.sign(Self.message), over: Self.message, .es256))
    }

    @Test func `an elliptic root that an operator trusts closes a chain that leaves it out`() throws {
        var store = TrustStore(anchors: [])
        try store.add(pem: Self.pki.root.pem, environments: [.production])
        let chain = try CertificateChain(x5c: Self.x5c.dropLast(), trustStore: store)
        #expect(chain.environments == [.production] && chain.info.belowAnchor.count == 2)
    }

    @Test func `an elliptic certificate that signs for Xcode is its own chain`() throws {
        let certificate = XcodeTransactionPKI(seed: 1).certificate.der
        let anchor = TrustAnchor(fingerprint: Fingerprint(of: certificate.span), environments: [.xcode])
        let chain = try CertificateChain(x5c: [certificate], trustStore: TrustStore(anchors: [anchor]))
        #expect(chain.environments == [.xcode] && chain.info.belowAnchor.isEmpty)
    }

    @Test(arguments: [ReceiptForge.SigningDigest.sha256, .sha384], [ECPrivateKey.Curve.p256, .p384])
    func `either digest goes with either curve`(digest: ReceiptForge.SigningDigest, curve: ECPrivateKey.Curve) throws {
        let root = ECPrivateKey(curve, seed: 3, purpose: "root"), key = ECPrivateKey(curve, seed: 3, purpose: "key")
        let certificates = [
            CertificateTemplate.leaf(key: Self.pki.leafKey, authority: key).signed(by: key, digest),
            CertificateTemplate.intermediate(key: key, authority: root).signed(by: root, digest),
            CertificateTemplate.root(key: root).signed(by: root, digest),
        ]
        let chain = try CertificateChain(x5c: certificates.map(\.der), trustStore: Self.trusting(certificates[2]))
        #expect(try chain.key.verifies(Self.pki.sign(Self.message), over: Self.message, .es256))
    }

    // MARK: Forged chains

    @Test func `an intermediate that another key signed is refused`() {
        let stranger = TransactionPKI(seed: 2)
        let intermediate = CertificateTemplate.intermediate(key: Self.pki.intermediateKey, authority: Self.pki.rootKey)
        let forged = intermediate.signed(by: stranger.rootKey, .sha384).der
        #expect(Self.brokenRule([Self.x5c[0], forged, Self.x5c[2]]) == .certificateSignatureInvalid)
        let lookalike = stranger.certificates.map(\.der)
        #expect(Self.brokenRule(lookalike) == .anchorUntrusted)
        #expect(Self.brokenRule([lookalike[0], lookalike[1], Self.x5c[2]]) == .certificateSignatureInvalid)
        #expect(Self.brokenRule([lookalike[0], Self.x5c[1], Self.x5c[2]]) == .certificateSignatureInvalid)
    }

    @Test(arguments: [0, 1], [0, 3, 40])
    func `a flipped bit of a certificate's signature is noticed`(certificate: Int, fromEnd place: Int) {
        var x5c = Self.x5c
        x5c[certificate][x5c[certificate].count - 1 - place] ^= 0x10
        #expect(Self.brokenRule(x5c) == .certificateSignatureInvalid)
    }

    @Test func `a certificate's signature has one form`() {
        func broken(_ edit: @escaping @Sendable ([UInt8]) -> [UInt8]) -> Rule? {
            let key = OddKey(key: Self.pki.intermediateKey, edit: edit)
            return Self.brokenRule([Self.leaf(signedBy: key)] + Self.x5c.dropFirst())
        }
        #expect(broken { $0 } == nil)
        #expect(broken { $0 + [0] } == .certificateSignatureInvalid)
        #expect(broken { $0.dropLast() } == .certificateSignatureInvalid)
        #expect(broken { [0x30, 0x81] + $0.dropFirst() } == .certificateSignatureInvalid)
        for other in [[], [0x30, 6, 2, 1, 0, 2, 1, 0], [UInt8](repeating: 1, count: 96)] {
            #expect(broken { _ in other } == .certificateSignatureInvalid)
        }
    }

    @Test(arguments: [OID.sha256WithRSAEncryption, .sha1WithRSAEncryption])
    func `a certificate that an elliptic key signed says so`(algorithm: ReceiptForge.OID) {
        let key = OddKey(key: Self.pki.intermediateKey, algorithm: AlgorithmIdentifier(algorithm))
        #expect(Self.brokenRule([Self.leaf(signedBy: key)] + Self.x5c.dropFirst()) == .keyAlgorithmMismatch)
    }

    @Test(arguments: [
        OID.sha384WithRSAEncryption, .ecPublicKey, [1, 2, 840, 10045, 4, 1], [1, 2, 840, 10045, 4, 3, 4],
    ])
    func `certificates are signed with algorithms that Apple uses`(algorithm: ReceiptForge.OID) {
        let key = OddKey(key: Self.pki.intermediateKey, algorithm: AlgorithmIdentifier(algorithm, parameters: nil))
        let broken = Self.brokenRule([Self.leaf(signedBy: key)] + Self.x5c.dropFirst())
        #expect(broken == .certificateSignatureAlgorithmUnsupported)
    }

    @Test(arguments: [OID.ecdsaWithSHA256, .ecdsaWithSHA384])
    func `a certificate's digest is the one its algorithm names`(algorithm: ReceiptForge.OID) {
        let named = AlgorithmIdentifier(algorithm, parameters: nil)
        let digests: [ReceiptForge.SigningDigest] = [.sha256, .sha384]
        let leaves = digests.map { Self.leaf(signedBy: OddKey(key: Self.pki.intermediateKey, algorithm: named), $0) }
        let broken = leaves.map { Self.brokenRule([$0] + Self.x5c.dropFirst()) }
        #expect(broken.count { $0 == nil } == 1 && broken.count { $0 == .certificateSignatureInvalid } == 1)
    }

    @Test(arguments: [0, 1])
    func `a key on another curve is refused wherever it stands`(place: Int) {
        let curve = AlgorithmIdentifier(.ecPublicKey, parameters: OID.secp256k1.element)
        let info = Element.sequence(curve.element, .bitString([0x04] + [UInt8](repeating: 1, count: 64)))
        let pki = Self.pki
        var leaf = CertificateTemplate.leaf(key: pki.leafKey, authority: pki.intermediateKey)
        var intermediate = CertificateTemplate.intermediate(key: pki.intermediateKey, authority: pki.rootKey)
        if place == 0 { leaf.subjectPublicKeyInfo = info } else { intermediate.subjectPublicKeyInfo = info }
        let certificates = [
            leaf.signed(by: pki.intermediateKey, .sha384), intermediate.signed(by: pki.rootKey, .sha384),
        ]
        #expect(Self.brokenRule(certificates.map(\.der) + [Self.x5c[2]]) == .curveUnsupported)
    }

    @Test func `the keys of a chain are of the kind that the signature takes`() throws {
        let rsa = Samples.pki.certificates.map(\.der)
        let store = try TrustStore.apple(and: Samples.pki.root, for: [.sandbox])
        #expect(CertificateChain.brokenRule(x5c: rsa, for: .sha256WithRSA, trustStore: store) == nil)
        #expect(CertificateChain.brokenRule(x5c: rsa, for: .es256, trustStore: store) == .keyAlgorithmMismatch)
        for algorithm in [SignatureAlgorithm.sha1WithRSA, .sha256WithRSA] {
            let broken = CertificateChain.brokenRule(x5c: Self.x5c, for: algorithm, trustStore: Self.store)
            #expect(broken == .keyAlgorithmMismatch)
        }
        // An RSA leaf that Apple's elliptic intermediate never signed: rejected before any signature is verified.
        let leaf = CertificateTemplate.leaf(key: Samples.pki.keys.key(for: .leaf), authority: Self.pki.intermediateKey)
        let forged = leaf.signed(by: Self.pki.rootKey, .sha384).der
        for algorithm in [SignatureAlgorithm.sha256WithRSA, .es256] {
            let x5c = [forged] + Self.x5c.dropFirst()
            #expect(
                CertificateChain.brokenRule(x5c: x5c, for: algorithm, trustStore: Self.store) == .keyAlgorithmMismatch)
        }
    }

    @Test func `elliptic certificates need both markers too`() {
        let pki = Self.pki
        var leaf = CertificateTemplate.leaf(key: pki.leafKey, authority: pki.intermediateKey)
        leaf.remove(.receiptSigningMarker)
        var intermediate = CertificateTemplate.intermediate(key: pki.intermediateKey, authority: pki.rootKey)
        intermediate.remove(.worldwideDeveloperRelationsMarker)
        let unmarked = [leaf.signed(by: pki.intermediateKey).der, intermediate.signed(by: pki.rootKey).der]
        #expect(Self.brokenRule([unmarked[0], Self.x5c[1], Self.x5c[2]]) == .leafMarkerMissing)
        #expect(Self.brokenRule([Self.x5c[0], unmarked[1], Self.x5c[2]]) == .intermediateMarkerMissing)
    }

    // MARK: Lists

    @Test func `the first certificate is the signer's, and each of the others has its place`() {
        #expect(Self.brokenRule([Self.x5c[0], Self.x5c[2], Self.x5c[1]]) == .x5cOrderWrong)
        #expect(Self.brokenRule([Self.x5c[1], Self.x5c[0], Self.x5c[2]]) == .certificateUnused)
        #expect(Self.brokenRule(Self.x5c + [Self.x5c[0]]) == .certificateUnused)
        #expect(Self.brokenRule([Self.x5c[0], Self.x5c[2]]) == .issuerCertificateMissing)
        #expect(Self.brokenRule([]) == .signerCertificateMissing)
    }

    @Test func `a list longer than any path is not even read`() {
        let junk = [[UInt8]](repeating: [0xFF], count: 6)
        #expect(Self.brokenRule(junk) == .certificateMalformed)
        #expect(Self.brokenRule(junk + [[0xFF]]) == .certificateUnused)
    }

    @Test func `bytes after a certificate are refused`() {
        #expect(Self.brokenRule([Self.x5c[0], Self.x5c[1] + [0], Self.x5c[2]]) == .certificateMalformed)
    }

    @Test func `a cached list has the same certificates, split alike, with the same signer`() throws {
        let chain = try CertificateChain(x5c: Self.x5c, trustStore: Self.store), cache = ChainCache()
        let bytes = Self.x5c.flatMap(\.self), ranges = Self.x5c.rangesWhenJoined
        let isNew = cache.insert(chain, of: SignerCertificates(bytes.span, at: ranges, signer: .first))
        let isNewAgain = cache.insert(chain, of: SignerCertificates(bytes.span, at: ranges, signer: .first))
        #expect(isNew && !isNewAgain)
        func isKnown(_ bytes: [UInt8], _ ranges: [Range<Int>], _ signer: SignerIdentifier = .first) -> Bool {
            cache.chain(of: SignerCertificates(bytes.span, at: ranges, signer: signer)) != nil
        }
        let moved = ranges.map { $0.lowerBound + 100..<$0.upperBound + 100 }
        #expect(isKnown(bytes, ranges) && isKnown([UInt8](repeating: 7, count: 100) + bytes, moved))
        let joined = [ranges[0], ranges[1].lowerBound..<ranges[2].upperBound]
        let shifted = [ranges[0].dropLast(), ranges[1].lowerBound - 1..<ranges[1].upperBound, ranges[2]]
        for other in [joined, shifted, ranges.dropLast(), ranges.reversed(), ranges + [0..<0]] {
            #expect(!isKnown(bytes, other))
        }
        #expect(!isKnown(bytes, ranges, .issuerAndSerialNumber(issuer: 0..<1, serialNumber: 1..<2)))
    }

    private static func brokenRule(_ x5c: [[UInt8]]) -> Rule? {
        CertificateChain.brokenRule(x5c: x5c, trustStore: store)
    }

    private static func leaf(signedBy key: OddKey, _ digest: ReceiptForge.SigningDigest = .sha384) -> [UInt8] {
        CertificateTemplate.leaf(key: pki.leafKey, authority: pki.intermediateKey).signed(by: key, digest).der
    }
}

/// A key whose signatures have another algorithm or another form than they should.
private struct OddKey: PrivateKey {
    let key: ECPrivateKey
    var algorithm: AlgorithmIdentifier?
    var edit: @Sendable ([UInt8]) -> [UInt8] = { $0 }

    var subjectPublicKeyInfo: ReceiptForge.DERNode { key.subjectPublicKeyInfo }
    var keyIdentifier: [UInt8] { key.keyIdentifier }

    func signatureAlgorithm(_ digest: ReceiptForge.SigningDigest) -> AlgorithmIdentifier {
        algorithm ?? key.signatureAlgorithm(digest)
    }

    func signature(over message: [UInt8], digest: ReceiptForge.SigningDigest) -> [UInt8] {
        edit(key.signature(over: message, digest: digest))
    }
}
