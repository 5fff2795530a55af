// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

/// Tests that a root signs only for its environments, whatever the receipt's type.
struct EnvironmentTests {
    @Test(
        arguments: [
            ("Production", .production), ("ProductionVPP", .production), ("ProductionSandbox", .sandbox),
            ("ProductionVPPSandbox", .sandbox), ("Sandbox", .sandbox), ("Xcode", .xcode),
        ] as [(String, Environment)])
    func `a receipt is genuine exactly where its root may sign`(receiptType: String, environment: Environment) throws {
        let receipt = Samples.forge.receipt { $0.receiptType = receiptType }
        for environments in Self.bindings {
            let verifier = try ReceiptVerifier.trustingSamples(for: environments)
            if environments.contains(environment) {
                let verified = try verifier.verify(receipt, at: Samples.now)
                #expect(verified.environment == environment && verified.receiptType == receiptType)
            } else {
                #expect(verifier.brokenRule(of: receipt) == .environmentNotAllowed)
            }
        }
    }

    @Test(arguments: ["production", "Production ", "ProductionVpp", "sandbox", "Sandbox ", "PROD", "XcodeXcode", "P"])
    func `an unknown type is not guessed at`(receiptType: String) throws {
        let receipt = Samples.forge.receipt { $0.receiptType = receiptType }
        let verifier = try ReceiptVerifier.trustingSamples(for: Set(Environment.allCases))
        #expect(verifier.brokenRule(of: receipt) == .receiptTypeUnknown)
    }

    /// Every subset of the three environments.
    private static let bindings: [Set<Environment>] = (0..<8).map { bits in
        Set(Environment.allCases.enumerated().filter { bits >> $0.offset & 1 == 1 }.map(\.element))
    }
}
