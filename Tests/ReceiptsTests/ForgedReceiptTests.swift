// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

/// Runs every fault of the forge through the verifier.
struct ForgedReceiptTests {
    static let forge = FaultForge(pki: ForgedPKI(seed: 1))
    static let now = Timestamp(millisecondsSince1970: 1_790_000_000_000)

    static let verifier: ReceiptVerifier = {
        var trustStore = TrustStore.apple
        guard (try? trustStore.add(pem: forge.pki.rootPEM, environments: [.sandbox])) != nil else {
            preconditionFailure("the forge's root is no trust anchor")
        }
        return ReceiptVerifier(trustStore: trustStore)
    }()

    @Test(arguments: ReceiptFault.allCases)
    func `each fault gets the answer it is named for`(_ fault: ReceiptFault) {
        #expect(Self.answer(to: Self.forge.evidence(with: fault).base64) == fault.expected)
    }

    @Test func `a receipt cut short anywhere is no receipt`() {
        let receipt = Self.forge.wellFormed
        for count in receipt.indices {
            #expect(throws: ReceiptError.self) { try Self.verifier.verify(Array(receipt[..<count]), at: Self.now) }
        }
    }

    static func answer(to text: String) -> ExpectedAnswer {
        do throws(Base64Error) {
            let bytes = try Base64.decode(text)
            do throws(ReceiptError) {
                _ = try verifier.verify(bytes, at: now)
                return .genuine
            } catch {
                return .rejected(error.rule)
            }
        } catch {
            return .badRequest(error.fault)
        }
    }
}
