// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing

/// Tests issuing only; HTTPClientTests covers the clients that accept or reject these identities.
struct TLSAuthorityTests {
    private static let authority = TLSAuthority(seed: 1)

    @Test func `the same seed issues the same identity from scratch`() {
        let again = TLSAuthority(seed: 1)
        #expect(again.certificatePEM == Self.authority.certificatePEM)
        #expect(again.identity(forHosts: ["localhost"]) == Self.authority.identity(forHosts: ["localhost"]))
    }

    @Test func `another seed makes another authority`() {
        #expect(TLSAuthority(seed: 2).certificatePEM != Self.authority.certificatePEM)
    }

    @Test func `the authority is another one than the one that signs receipts`() {
        #expect(Self.authority.certificatePEM != Samples.pki.rootPEM)
    }

    @Test func `identities for other hosts or another time are other certificates under one key`() {
        let identities = [
            Self.authority.identity(forHosts: ["localhost"]), Self.authority.identity(forHosts: ["127.0.0.1"]),
            Self.authority.expiredIdentity(forHosts: ["localhost"]),
        ]
        #expect(Set(identities.map(\.certificatePEM)).count == identities.count)
        #expect(Set(identities.map(\.privateKeyPEM)).count == 1)
    }
}
