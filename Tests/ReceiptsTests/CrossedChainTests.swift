// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import ReceiptForge

/// Two authorities whose certificates have the same names, as if a test PKI imitated Apple's.
struct CrossedChainTests {
    private static let test = ForgedPKI(seed: 1)
    private static let production = ForgedPKI(seed: 2)
    private static let now = Timestamp(millisecondsSince1970: 1_790_000_000_000)

    private static func verifier() throws -> ReceiptVerifier {
        var trustStore = TrustStore.apple
        try trustStore.add(pem: test.rootPEM, environments: [.sandbox])
        try trustStore.add(pem: production.rootPEM, environments: [.production])
        return ReceiptVerifier(trustStore: trustStore)
    }

    private static let contents: ReceiptContents = {
        var contents = ReceiptContents(bundleID: "com.example.crossed", creationDate: UTCDate(2024, 3, 1))
        contents.receiptType = "Production"
        return contents
    }()

    @Test(arguments: [false, true])
    func `a leaf known below one root is not trusted below another root's intermediate`(_ isWarm: Bool) throws {
        let verifier = try Self.verifier()
        if isWarm {
            var sandbox = Self.contents
            sandbox.receiptType = "ProductionSandbox"
            #expect(try verifier.verify(Self.test.sign(sandbox), at: Self.now).environment == .sandbox)
            #expect(try verifier.verify(Self.production.sign(Self.contents), at: Self.now).environment == .production)
        }
        let crossed = Self.test.container(
            signing: Self.contents.payload,
            certificates: [Self.test.leaf, Self.production.intermediate, Self.production.root], digest: .sha256)
        #expect(throws: ReceiptError(.certificateSignatureInvalid)) {
            try verifier.verify(crossed.encoded, at: Self.now)
        }
    }
}
