// SPDX-License-Identifier: Apache-2.0

/// The names of the forged authorities: like the genuine names in length and shape, but clearly for tests.
enum TestNames {
    static let root = DistinguishedName(
        .country("US"), .organization("Forge Inc."), .unit("Receipt Forge Test Authority"),
        .commonName("Receipt Forge Test Root CA"))
    static let intermediate = DistinguishedName(
        .commonName("Receipt Forge Test Developer Relations Certification Authority"),
        .unit("T5"), .organization("Forge Inc."), .country("US"))
    static let leaf = DistinguishedName(
        .commonName("Receipt Forge Test App Store Receipt Signing"),
        .unit("Receipt Forge Test Relations"), .organization("Forge Inc."), .country("US"))
    static let subordinate = DistinguishedName(
        .commonName("Receipt Forge Test Subordinate CA"), .organization("Forge Inc."), .country("US"))
    static let bystander = DistinguishedName(
        .commonName("Receipt Forge Test Bystander"), .organization("Forge Inc."), .country("US"))
    static let storeIntermediate = DistinguishedName(
        .country("US"), .organization("Forge Inc."), .unit("Receipt Forge Test Authority"),
        .commonName("Receipt Forge Test Store Certification Authority"))
    static let storeLeaf = DistinguishedName(
        .commonName("Receipt Forge Test Purchase Receipt"), .unit("Receipt Forge Test Store"),
        .organization("Forge Inc."), .country("US"))
    static let xcode = DistinguishedName(
        .commonName("StoreKit Test Forge"), .organization("StoreKit Test Forge"), .unit("StoreKit Test Forge"),
        .country("US"), .email("StoreKit"))
    static let xcodeTransactions = DistinguishedName(
        .commonName("StoreKit Test Forge in Xcode"), .organization("StoreKit Test Forge in Xcode"))
    static let tlsAuthority = DistinguishedName(.commonName("Receipt Forge Test TLS CA"), .organization("Forge Inc."))
    static let tlsServer = DistinguishedName(.commonName("Receipt Forge Test Server"), .organization("Forge Inc."))

    /// `example` addresses never resolve (RFC 2606).
    static let policyStatement = "https://forge.example/certificateauthority/"
    static let policyNotice = """
        This certificate was minted by Receipt Forge for tests and benchmarks of receipt verification. It stands for \
        nobody, guarantees nothing, and nobody should rely on it outside of a test.
        """
    static let ocspAddress = "http://ocsp.forge.example/ocsp03-test-developer"
    static let issuerAddress = "http://certs.forge.example/test.der"
    static let revocationAddress = "http://crl.forge.example/test-root.crl"
}
