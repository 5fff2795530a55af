// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts

/// Shared between tests of signed data.
enum SignedSamples {
    static let forge = JWSForge(pki: TransactionPKI(seed: 1))
    static let pki = forge.pki
    static let xcode = XcodeTransactionPKI(seed: 1)
    static let now = Samples.now
    /// Pins the forged root, as Apple's are.
    static let verifier = ReceiptVerifier.pinning(pki.root, for: [.production, .sandbox])

    static func transaction(_ edit: (inout TransactionContents) -> Void = { _ in }) -> [UInt8] {
        var contents = TransactionContents()
        edit(&contents)
        return pki.jws(contents)
    }

    static func xcodeTransaction(_ edit: (inout TransactionContents) -> Void = { _ in }) -> [UInt8] {
        var contents = TransactionContents.xcode
        edit(&contents)
        return xcode.jws(contents)
    }
}

extension ReceiptVerifier {
    static func pinning(
        _ root: IssuedCertificate, for environments: Set<Environment>,
        onNewChain: @escaping @Sendable (VerifiedChainInfo) -> Void = { _ in }
    ) -> ReceiptVerifier {
        let anchor = TrustAnchor(fingerprint: Fingerprint(of: root.der.span), environments: environments)
        return ReceiptVerifier(trustStore: TrustStore(anchors: [anchor]), onNewChain: onNewChain)
    }

    /// A verifier to whom its operator gave these roots as certificates, beside Apple's.
    static func trusting(_ roots: [IssuedCertificate], for environments: Set<Environment>) throws -> ReceiptVerifier {
        var store = TrustStore.apple
        for root in roots { try store.add(pem: root.pem, environments: environments) }
        return ReceiptVerifier(trustStore: store)
    }

    /// Returns the broken rule; nil for a genuine JWS.
    func brokenRule(ofJWS text: [UInt8], at now: Timestamp = SignedSamples.now) -> Rule? {
        do throws(ReceiptError) {
            _ = try verify(jws: text, at: now)
            return nil
        } catch {
            return error.rule
        }
    }
}
