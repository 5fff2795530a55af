// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Clients
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
}
