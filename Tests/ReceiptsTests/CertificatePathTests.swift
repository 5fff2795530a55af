// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import ReceiptForge

/// Tests the number of certificates before the anchor, and which of several anchors ends a path.
struct CertificatePathTests {
    @Test(arguments: [1, 2, 3, 4], [true, false])
    func `a path has at most four certificates before its anchor`(authorities: Int, listsRoot: Bool) throws {
        let receipt = Samples.forge.receipt(authorities: authorities, listsRoot: listsRoot)
        let broken = try ReceiptVerifier.trustingSamples().brokenRule(of: receipt)
        #expect(broken == (authorities < 4 ? nil : .pathLengthExceeded))
    }

    @Test(arguments: [[0, 1], [1, 0]])
    func `each of two roots with one subject closes the chains that leave it out`(order: [Int]) throws {
        let authorities = [Samples.pki, Samples.otherPKI]
        var store = TrustStore(anchors: [])
        for index in order { try store.add(pem: authorities[index].rootPEM, environments: [.sandbox]) }
        for authority in authorities {
            #expect(ReceiptVerifier(trustStore: store).brokenRule(of: authority.rootlessReceipt) == nil)
        }
    }

    @Test func `the environments are those of the root that signed, not of its namesake`() throws {
        var store = TrustStore(anchors: [])
        try store.add(pem: Samples.otherPKI.rootPEM, environments: [.production])
        try store.add(pem: Samples.pki.rootPEM, environments: [.sandbox])
        let verifier = ReceiptVerifier(trustStore: store)
        #expect(verifier.brokenRule(of: Samples.pki.rootlessReceipt) == nil)
        #expect(verifier.brokenRule(of: Samples.otherPKI.rootlessReceipt) == .environmentNotAllowed)
    }

    @Test(arguments: [(3, nil), (4, .certificateSignatureInvalid)] as [(UInt8, Rule?)])
    func `of roots with one subject, four are tried`(namesakes: UInt8, broken: Rule?) throws {
        var store = TrustStore(anchors: [])
        for number in 0..<namesakes {
            store.add(try TrustAnchor(der: Samples.forge.namesakeOfRoot(number), environments: [.sandbox]))
        }
        try store.add(pem: Samples.pki.rootPEM, environments: [.sandbox])
        #expect(ReceiptVerifier(trustStore: store).brokenRule(of: Samples.pki.rootlessReceipt) == broken)
    }
}

extension ForgedPKI {
    /// A sandbox receipt without the root among its certificates.
    fileprivate var rootlessReceipt: [UInt8] {
        var container = container(signing: Samples.contents.payload)
        container.certificates.removeLast()
        return container.encoded
    }
}
