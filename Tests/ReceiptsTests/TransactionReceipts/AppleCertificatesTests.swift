// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Receipts

/// Tests the certificates that are shipped because transaction receipts do not carry them.
struct AppleCertificatesTests {
    /// The fingerprints and ends of validity of Apple's list, and the markers of the versions.
    private static let intermediates: [(index: Int, fingerprint: String, end: String, marker: Marker)] = [
        (
            0, "447ad65484610f20fdc33804c8597a1e208fbe4ef9c5653485cc7d3df730c016", "2016-05-18T18:31:30Z",
            .storeIntermediate
        ),
        (
            1, "ce057691d730f89ca25e916f7335f4c8a15713dcd273a658c024023f8eb809c2", "2023-02-07T21:48:47Z",
            .intermediate
        ),
        (
            2, "53fd008278e5a595fe1e908ae9c5e5675f26243264a5a6438c023e3ce2870760", "2030-12-10T00:00:00Z",
            .intermediate
        ),
    ]

    @Test func `the root is Apple's first anchor`() throws {
        let root = try TrustAnchor(der: AppleCertificates.root, environments: [])
        #expect(root.fingerprint == TrustStore.apple.anchors[0].fingerprint)
        #expect(root.expires?.description == "2035-02-09T21:40:36Z")
    }

    @Test func `there is an intermediate for each version`() {
        #expect(AppleCertificates.intermediates.count == Self.intermediates.count)
    }

    @Test(arguments: intermediates) func `an intermediate is the named one`(
        index: Int, fingerprint: String, end: String, marker: Marker
    ) throws {
        let certificate = try OwnedCertificate(AppleCertificates.intermediates[index])
        let name = Fingerprint(of: certificate.bytes.span).description
        #expect(name == fingerprint)
        #expect(certificate.fields.validity.notAfter.description == end)
        #expect(certificate.fields.extensions.markers == [marker] && certificate.fields.extensions.isCA)
    }

    @Test(arguments: intermediates.indices) func `an intermediate was issued by the root`(index: Int) throws {
        let root = try OwnedCertificate(AppleCertificates.root)
        let certificate = try OwnedCertificate(AppleCertificates.intermediates[index])
        let key = try root.fields.publicKey.publicKey(in: root.bytes.span)
        let (bytes, fields) = (certificate.bytes, certificate.fields)
        let algorithm = try #require(fields.signatureAlgorithm)
        #expect(bytes[fields.issuer] == root.bytes[root.fields.subject])
        #expect(try key.verifies(Array(bytes[fields.signature]), over: Array(bytes[fields.tbsCertificate]), algorithm))
    }
}
