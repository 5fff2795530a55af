// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Clients
@testable import ServerTestSupport
@testable import Settings

struct TrustRootTests {
    private static let root = TrustRoot(path: "root.pem", environments: [.sandbox])

    @Test(arguments: [
        TransactionPKI(seed: 1).root.pem, XcodeTransactionPKI(seed: 1).rootPEM, ForgedPKI(seed: 1).rootPEM,
    ])
    func `roots of receipts and of signed transactions are trusted`(pem: String) throws {
        let store = try TrustStore(adding: [Self.root]) { _ in pem }
        #expect(store.anchors.count == TrustStore.apple.anchors.count + 1)
        #expect(store.anchors.last?.environments == [.sandbox] && store.anchors.last?.expires != nil)
    }

    @Test(
        arguments: [
            ("a.pem", [.sandbox]), ("a.pem=LocalTesting", [.localTesting]),
            ("a.pem=Xcode+LocalTesting", [.xcode, .localTesting]),
            ("a.pem=Production+Sandbox", [.production, .sandbox]),
        ] as [(String, Set<Environment>)])
    func `a root is bound to the environments that it names`(text: String, environments: Set<Environment>) throws {
        let root = try TrustRoot(configuration: text)
        #expect(root.path == "a.pem" && root.environments == environments)
        #expect(try TrustRoot(configuration: root.configurationText) == root)
    }

    @Test(arguments: ["a.pem=", "a.pem=localtesting", "a.pem=Local", "a.pem=Sandbox+", "=Xcode", ""])
    func `an unknown environment is rejected`(text: String) {
        #expect(throws: ConfigurationValueFault.self) { try TrustRoot(configuration: text) }
    }

    @Test func `an intermediate is no root, and neither is any other text`() throws {
        let intermediate = TransactionPKI(seed: 1).certificates[1].pem
        for pem in [intermediate, "", "-----BEGIN CERTIFICATE-----\n"] {
            #expect(throws: ConfigurationProblems.self) { try TrustStore(adding: [Self.root]) { _ in pem } }
        }
    }

    // MARK: - Messages

    @Test func `every faulty root is reported with its setting, all at once`() {
        let settings = ["GATEWAY_TRUST_ROOTS": "a.pem,b.pem=Xcode,c.pem", "GATEWAY_TRUST_INTERMEDIATES": "d.pem"]
        let files = ["b.pem": "no certificate\n", "c.pem": ForgedPKI(seed: 1).rootPEM]
        let none = "contains no PEM certificate (no line '-----BEGIN CERTIFICATE-----')"
        #expect(
            configurationProblems(settings, files: files) == [
                "GATEWAY_TRUST_ROOTS: a.pem does not exist", "GATEWAY_TRUST_ROOTS: b.pem \(none)",
                "GATEWAY_TRUST_INTERMEDIATES: d.pem does not exist",
            ])
        let file = "gateway:\n  trust_roots: [roots/a.pem]\n"
        #expect(
            configurationProblems(files: ["etc/gateway.yaml": file], path: "etc/gateway.yaml") == [
                "gateway.trust_roots (etc/gateway.yaml:2): etc/roots/a.pem does not exist"
            ])
    }

    @Test(
        arguments: [
            (
                [0x30, 0x82, 0x03, 0xFF],
                "is DER, and must be PEM; convert a certificate with: openssl x509 -inform DER "
            ),
            ([0x30, 0x81, 0xFF], "is DER, and must be PEM"), ([0x30, 0xFF], "is not UTF-8"), ([0xFF], "is not UTF-8"),
        ] as [([UInt8], String)])
    func `a certificate in DER is told how to become PEM`(bytes: [UInt8], fault: String) throws {
        let folder = try TemporaryFolder(), file = try folder.write(bytes, to: "root.cer")
        let problems = #expect(throws: ConfigurationProblems.self) {
            try TrustStore(adding: [TrustRoot(path: file, environments: [.sandbox])])
        }
        let description = try #require(problems?.problems.first?.description)
        #expect(description.hasPrefix("gateway.trust_roots: \(file) \(fault)"), "\(description)")
    }
}
