// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

struct FaultTests {
    private static let forge = FaultForge(pki: Samples.pki)
    /// Every fault once, because the large ones take time.
    private static let evidence = Dictionary(
        uniqueKeysWithValues: ReceiptFault.allCases.map { ($0.name, forge.evidence(with: $0).base64) })

    @Test(arguments: [
        ReceiptFault.allCases.map(\.name), JWSFault.allCases.map(\.name), TransactionReceiptFault.allCases.map(\.name),
    ])
    func `names are unique and in kebab case`(names: [String]) {
        #expect(Set(names).count == names.count)
        for name in names { #expect(name.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "-" }, "\(name)") }
    }

    @Test func `a fault is found by its name`() {
        #expect(ReceiptFault(named: "leaf-without-marker")?.expected == .rejected(.leafMarkerMissing))
        #expect(JWSFault(named: "crit")?.expected == .rejected(.jwsCriticalParameter))
        #expect(ReceiptFault(named: "no-such-fault") == nil && JWSFault(named: "no-such-fault") == nil)
    }

    @Test func `the bytes of every fault differ from those of every other fault and of an ordinary receipt`() {
        let texts = Self.evidence.values + [ForgedEvidence.der(Self.forge.wellFormed).base64]
        #expect(Set(texts).count == ReceiptFault.allCases.count + 1)
    }

    @Test func `faults are made alike from scratch`() {
        let again = FaultForge(pki: ForgedPKI(seed: 1))
        for fault in ReceiptFault.allCases {
            #expect(again.evidence(with: fault).base64 == Self.evidence[fault.name], "\(fault)")
        }
    }

    /// Expectations are the caller's, not the receipt's; the depth limit only guards the BER form.
    private static let brokenByNoFaultAlone: Set<String> = [
        "bundle_id_mismatch", "app_version_mismatch", "device_hash_mismatch", "der_too_deep",
    ]

    @Test func `every rule a receipt can break alone is broken by some fault`() {
        let broken = Set(
            ReceiptFault.allCases.map(\.expected.reason) + JWSFault.allCases.map(\.expected.reason)
                + TransactionReceiptFault.allCases.map(\.expected.reason))
        let rules = Set(Rule.allCases.map(\.rawValue) + Base64Error.Fault.allCases.map(\.rawValue))
        #expect(rules.subtracting(broken.compactMap(\.self)) == Self.brokenByNoFaultAlone)
    }

    @Test func `the confused signature is the one of the genuine payload`() throws {
        let genuine = Self.forge.wellFormed
        let content = try #require(OpenSSLVerifier.samples.signedContent(of: genuine))
        let fault = try #require(ReceiptFault(named: "signed-attributes-confusion"))
        guard case .der(let confused) = Self.forge.evidence(with: fault) else { return }
        // The same signature, and its payload under the tag of signedAttrs, which is read as a SET.
        #expect(confused.suffix(256) == genuine.suffix(256))
        #expect(confused.firstRange(of: [0xA0] + content.dropFirst()) != nil)
        #expect(confused.firstRange(of: content) == nil)
    }
}
