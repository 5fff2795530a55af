// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Settings

struct TrustRootTests {
    private static let root = TrustRoot(path: "root.pem", environments: [.sandbox])

    @Test func `a root that cannot sign receipts is rejected at configuration`() throws {
        let elliptic = TransactionPKI(seed: 1).root.pem
        let problems = #expect(throws: ConfigurationProblems.self) {
            try TrustStore(adding: [Self.root]) { _ in elliptic }
        }
        #expect(problems?.problems.first?.description.contains("elliptic") == true)
        let rsa = ForgedPKI(seed: 1).rootPEM
        #expect(try TrustStore(adding: [Self.root]) { _ in rsa }.anchors.contains { $0.expires != nil })
    }
}
