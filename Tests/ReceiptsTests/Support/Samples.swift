// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts

/// Shared between tests. Finding primes takes time, so each key is made once.
enum Samples {
    static let forge = ForgedReceiptTests.forge
    static let pki = forge.pki
    static let otherPKI = ForgedPKI(seed: 2)
    static let xcode = XcodePKI(seed: 1)
    /// A sandbox receipt with two periods of one subscription.
    static let contents = forge.contents
    static let receipt = forge.wellFormed
    static let xcodeReceipt = xcode.signLikeXcode(contents)
    static let created = Timestamp(contents.creationDate)
    static let now = ForgedReceiptTests.now
}

extension Timestamp {
    init(_ date: UTCDate) {
        self.init(millisecondsSince1970: date.secondsSince1970 * 1000)
    }

    static func seconds(_ seconds: Int64) -> Timestamp {
        Timestamp(millisecondsSince1970: seconds * 1000)
    }
}

extension TrustStore {
    static func apple(and root: IssuedCertificate, for environments: Set<Environment>) throws -> TrustStore {
        var store = TrustStore.apple
        store.add(try TrustAnchor(der: root.der, environments: environments))
        return store
    }
}

extension ReceiptVerifier {
    static func trustingSamples(
        for environments: Set<Environment> = [.sandbox], policy: VerificationPolicy = VerificationPolicy(),
        limits: Limits = Limits()
    ) throws -> ReceiptVerifier {
        let store = try TrustStore.apple(and: Samples.pki.root, for: environments)
        return ReceiptVerifier(trustStore: store, policy: policy, limits: limits)
    }

    /// Returns the broken rule; nil for a genuine receipt.
    func brokenRule(of receipt: [UInt8], at now: Timestamp = Samples.now) -> Rule? {
        do throws(ReceiptError) {
            _ = try verify(receipt, at: now)
            return nil
        } catch {
            return error.rule
        }
    }
}
