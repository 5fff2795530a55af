// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

struct TrustStoreTests {
    private static let pem = Samples.pki.rootPEM
    private static let otherPEM = Samples.otherPKI.rootPEM
    private static let fingerprint = Fingerprint(of: Samples.pki.root.der.span)
    private static let otherFingerprint = Fingerprint(of: Samples.otherPKI.root.der.span)

    @Test func `Apple's roots sign for production and sandbox`() {
        #expect(TrustStore.apple.anchors.count == 3)
        #expect(TrustStore.apple.anchors.allSatisfy { $0.environments == [.production, .sandbox] })
        let first = TrustStore.apple.anchors[0].fingerprint.description
        #expect(first == "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024")
    }

    @Test(arguments: ["\n", "\r\n", "\r"]) func `line endings do not matter`(ending: String) throws {
        let store = try Self.store(Self.pem.replacing("\n", with: ending))
        #expect(store.anchors.map(\.fingerprint) == [Self.fingerprint])
    }

    @Test func `a file may hold several certificates, and text around them`() throws {
        let text = "# ours\n\(Self.pem)\nsubject: other\n\t \(Self.otherPEM)-----END CERTIFICATE-----\nthe end"
        #expect(try Self.store(text).anchors.map(\.fingerprint) == [Self.fingerprint, Self.otherFingerprint])
    }

    @Test func `lines may be indented, long or short`() throws {
        let body = Self.pem.split(separator: "\n").dropFirst().dropLast().joined()
        let oneLine = "-----BEGIN CERTIFICATE-----\n\(body)\n-----END CERTIFICATE-----"
        let indented = Self.pem.split(separator: "\n").map { "  \t\($0)\t " }.joined(separator: "\n\n")
        for text in [oneLine, indented] {
            #expect(try Self.store(text).anchors.map(\.fingerprint) == [Self.fingerprint])
        }
    }

    @Test(
        arguments: [
            ("nothing", "", .noCertificate), ("text", "hello\nworld", .noCertificate),
            ("a private key", Samples.pki.leafKeyPEM, .noCertificate),
            ("no end", String(pem.dropLast(30)), .unterminatedPEM),
            ("a beginning only", "-----BEGIN CERTIFICATE-----", .unterminatedPEM),
            ("a block inside a block", "-----BEGIN CERTIFICATE-----\nAAAA\n" + pem, .unterminatedPEM),
            ("an end only", "-----END CERTIFICATE-----", .noCertificate),
            ("an intermediate", Samples.pki.intermediate.pem, .notSelfIssued),
            ("a root and a leaf", pem + Samples.pki.leaf.pem, .notSelfIssued),
        ] as [(String, String, TrustAnchorError)])
    func `each fault of a file of roots is named`(name: String, text: String, error: TrustAnchorError) {
        #expect(throws: error) { try Self.store(text) }
    }

    @Test(arguments: ["", "AAA", "AA*A", "AA-A", "AB=="]) func `a block that is no base64 says why`(body: String) {
        let text = "-----BEGIN CERTIFICATE-----\n\(body)\n-----END CERTIFICATE-----\n"
        #expect {
            try Self.store(text)
        } throws: { error in
            guard case .malformedPEM = error as? TrustAnchorError else { return false }
            return true
        }
    }

    @Test(arguments: ["AAAA", "MAA="]) func `a block that is no certificate says so`(body: String) {
        let text = "-----BEGIN CERTIFICATE-----\n\(body)\n-----END CERTIFICATE-----\n"
        #expect(throws: TrustAnchorError.certificateUnusable(.certificateMalformed)) { try Self.store(text) }
    }

    @Test func `a root with a weak key is refused when it is added`() {
        #expect(throws: TrustAnchorError.certificateUnusable(.keyTooSmall)) {
            try TrustAnchor(der: Samples.forge.weakRoot, environments: [.sandbox])
        }
    }

    @Test func `nothing is added from a file with a fault`() {
        var store = TrustStore(anchors: [])
        #expect(throws: TrustAnchorError.self) {
            try store.add(pem: Self.pem + "-----BEGIN CERTIFICATE-----\n", environments: [.sandbox])
        }
        #expect(store.anchors.isEmpty)
    }

    @Test func `the same root gains environments`() throws {
        var store = TrustStore(anchors: [TrustAnchor(fingerprint: Self.fingerprint, environments: [.production])])
        try store.add(pem: Self.pem, environments: [.sandbox])
        try store.add(pem: Self.otherPEM, environments: [.xcode])
        #expect(store.anchors.map(\.environments) == [[.production, .sandbox], [.xcode]])
    }

    @Test func `stores are equal if they trust the same certificates for the same environments`() throws {
        let root = Samples.pki.root
        let sandbox = try TrustStore.apple(and: root, for: [.sandbox])
        let same = try TrustStore.apple(and: root, for: [.sandbox])
        #expect(sandbox == same && sandbox != .apple)
        let wider = try TrustStore.apple(and: root, for: [.sandbox, .production])
        let other = try TrustStore.apple(and: Samples.otherPKI.root, for: [.sandbox])
        #expect(sandbox != wider && sandbox != other)
        var more = sandbox
        try more.add(intermediatesPEM: TransactionReceiptSamples.forge.intermediatesPEM)
        #expect(more != sandbox && more.anchors == sandbox.anchors && !more.hasIntermediates(of: sandbox))
    }

    @Test func `the operator's roots are listed with the environments of Apple's that they may sign for`() throws {
        let store = try TrustStore.apple(and: Samples.pki.root, for: [.sandbox, .production, .xcode])
        let expected: Set = [
            OperatorsRoot(Self.fingerprint, .sandbox), OperatorsRoot(Self.fingerprint, .production),
        ]
        #expect(store.operatorsRoots == expected && TrustStore.apple.operatorsRoots.isEmpty)
    }

    @Test func `a root known by its fingerprint alone closes a chain once its certificate is added`() throws {
        let rootless = Samples.forge.receipt(certificateOrder: [0, 1])
        var store = TrustStore(anchors: [TrustAnchor(fingerprint: Self.fingerprint, environments: [.sandbox])])
        #expect(ReceiptVerifier(trustStore: store).brokenRule(of: Samples.receipt) == nil)
        #expect(ReceiptVerifier(trustStore: store).brokenRule(of: rootless) == .issuerCertificateMissing)
        try store.add(pem: Self.pem, environments: [])
        #expect(ReceiptVerifier(trustStore: store).brokenRule(of: rootless) == nil)
    }

    @Test(arguments: [
        "", "00", String(repeating: "0", count: 63), String(repeating: "0", count: 65),
        String(repeating: "0", count: 63) + "g", String(repeating: "0", count: 62) + "é",
        String(repeating: "0", count: 63) + " ",
    ])
    func `what is no fingerprint is not read`(text: String) {
        #expect(Fingerprint(hexadecimal: text) == nil)
    }

    @Test func `a fingerprint is read in either case and printed in lower case`() throws {
        let text = String(repeating: "00ffA1B2", count: 8)
        let fingerprint = try #require(Fingerprint(hexadecimal: text))
        #expect(fingerprint.description == text.lowercased())
        #expect(Fingerprint(hexadecimal: text.uppercased()) == fingerprint)
    }

    @Test func `a fingerprint is a SHA-256 digest`() {
        // FIPS 180-2, appendix B.1, and the digest of nothing.
        let abc = Fingerprint(of: Array("abc".utf8).span).description
        #expect(abc == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        let empty = Fingerprint(of: [UInt8]().span).description
        #expect(empty == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }

    private static func store(_ pem: String) throws(TrustAnchorError) -> TrustStore {
        var store = TrustStore(anchors: [])
        try store.add(pem: pem, environments: [.sandbox])
        return store
    }
}
