// SPDX-License-Identifier: Apache-2.0

import Receipts
import Synchronization
import Testing

@testable import ReceiptForge

/// Tests how intermediates are found, which anchors are accepted, and when a chain is remembered.
struct TransactionReceiptChainTests {
    private static let forge = TransactionReceiptSamples.forge
    private static let receipt = TransactionReceiptSamples.receipt

    private static func verifier(
        _ pem: String, for environments: Set<Receipts.Environment> = [.sandbox]
    ) throws -> ReceiptVerifier {
        var store = try TrustStore.apple(and: Samples.pki.root, for: environments)
        try store.add(intermediatesPEM: pem)
        return ReceiptVerifier(trustStore: store)
    }

    @Test func `without its intermediate a leaf has no issuer`() throws {
        let verifier = try ReceiptVerifier.trustingSamples()
        #expect(verifier.brokenRule(ofTransactionReceipt: Self.receipt) == .issuerCertificateMissing)
    }

    @Test func `an intermediate is not trusted by itself`() throws {
        var store = TrustStore.apple
        try store.add(intermediatesPEM: Self.forge.intermediatesPEM)
        let verifier = ReceiptVerifier(trustStore: store)
        #expect(verifier.brokenRule(ofTransactionReceipt: Self.receipt) == .issuerCertificateMissing)
    }

    @Test func `an intermediate below another root with the same name is not trusted`() throws {
        var store = try TrustStore.apple(and: Samples.otherPKI.root, for: [.sandbox])
        try store.add(intermediatesPEM: Self.forge.intermediatesPEM)
        let verifier = ReceiptVerifier(trustStore: store)
        #expect(verifier.brokenRule(ofTransactionReceipt: Self.receipt) == .certificateSignatureInvalid)
    }

    @Test(
        arguments: [
            ([.sandbox], nil), ([.production], nil), ([.production, .sandbox], nil), ([.sandbox, .xcode], nil),
            ([.xcode], .environmentNotAllowed), ([.localTesting], .environmentNotAllowed),
        ] as [(Set<Receipts.Environment>, Rule?)])
    func `the anchor must sign for production or sandbox`(
        environments: Set<Receipts.Environment>, broken: Rule?
    ) throws {
        let verifier = try TransactionReceiptSamples.verifier(for: environments)
        for _ in 1...2 { #expect(verifier.brokenRule(ofTransactionReceipt: Self.receipt) == broken) }
    }

    @Test(arguments: [(3, nil), (4, .certificateSignatureInvalid)] as [(UInt8, Rule?)])
    func `of intermediates with one name, four are tried`(namesakes: UInt8, broken: Rule?) throws {
        let others = (0..<namesakes).map { Self.forge.namesakeOfIntermediate($0).pem }.joined()
        let verifier = try Self.verifier(others + Self.forge.pki.intermediatesPEM)
        #expect(verifier.brokenRule(ofTransactionReceipt: Self.receipt) == broken)
    }

    @Test func `a chain is reported once, and only for a verified signature`() throws {
        let seen = Mutex<[VerifiedChainInfo]>([])
        let verifier = try TransactionReceiptSamples.verifier { chain in seen.withLock { $0.append(chain) } }
        let broken = try #require(TransactionReceiptFault(named: "signature-bit-flipped"))
        #expect(verifier.brokenRule(ofTransactionReceipt: Self.forge.evidence(with: broken)) == .signatureInvalid)
        #expect(seen.withLock { $0 }.isEmpty)
        for version: UInt8 in [4, 3, 4] {
            let receipt = Self.forge.pki.sign(Self.forge.contents, version: version)
            #expect(verifier.brokenRule(ofTransactionReceipt: receipt) == nil)
        }
        let chains = seen.withLock { $0 }
        #expect(chains.count == 1)
        #expect(chains.first?.belowAnchor.map(\.fingerprint) == Self.fingerprints(Samples.pki.certificates.dropLast()))
        #expect(chains.map(\.anchor.fingerprint) == Self.fingerprints([Samples.pki.root]))
    }

    private static func fingerprints(_ certificates: some Sequence<IssuedCertificate>) -> [Fingerprint] {
        certificates.map { Fingerprint(of: $0.der.span) }
    }

    @Test func `a remembered chain of version 2 is of no use in version 3, nor the reverse`() throws {
        let verifier = try TransactionReceiptSamples.verifier(acceptsVersion2: true)
        for version: UInt8 in 2...4 {
            let receipt = Self.forge.pki.sign(Self.forge.contents, version: version)
            #expect(verifier.brokenRule(ofTransactionReceipt: receipt) == nil)
        }
        for name in ["version-2-certificate-in-version-3", "version-3-certificate-in-version-2"] {
            let fault = try #require(TransactionReceiptFault(named: name))
            #expect(verifier.brokenRule(ofTransactionReceipt: Self.forge.evidence(with: fault)) == .leafMarkerMissing)
        }
    }

    @Test func `more leaves than are remembered are still verified`() throws {
        let verifier = try TransactionReceiptSamples.verifier()
        let receipts = (1...80).map { number in
            Self.forge.signed(by: .leaf) { $0.serialNumber = [UInt8(number)] }.encoded
        }
        for _ in 1...2 {
            for receipt in receipts { #expect(verifier.brokenRule(ofTransactionReceipt: receipt) == nil) }
        }
    }

    @Test(
        arguments: [
            ("", .noCertificate), ("-----BEGIN CERTIFICATE-----", .unterminatedPEM),
            (
                "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----",
                .certificateUnusable(.certificateMalformed)
            ),
        ] as [(String, TrustAnchorError)])
    func `each fault of a file of intermediates is named`(text: String, error: TrustAnchorError) {
        var store = TrustStore.apple
        #expect(throws: error) { try store.add(intermediatesPEM: text) }
    }
}

extension TransactionReceiptForge {
    /// An intermediate with the name of the one above the sample's leaf, and another key.
    fileprivate func namesakeOfIntermediate(_ number: UInt8) -> IssuedCertificate {
        var template = CertificateTemplate.intermediate(
            key: pki.keys.key(for: .attackerIntermediate), authority: pki.keys.key(for: .root))
        template.serialNumber = [number + 100]
        return template.signed(by: pki.keys.key(for: .root))
    }
}
