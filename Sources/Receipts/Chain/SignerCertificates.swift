// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The certificates sent with a signature, and the name of the signer's. Not yet parsed, not yet trusted.
///
/// They come from the set of a PKCS #7 container or the x5c of a JWS header (RFC 7515 §4.1.6).
struct SignerCertificates: ~Escapable {
    /// The bytes that all offsets refer to.
    let bytes: Span<UInt8>
    let encodings: [Range<Int>]
    let signer: SignerIdentifier

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, at encodings: [Range<Int>], signer: SignerIdentifier) {
        self.bytes = bytes
        self.encodings = encodings
        self.signer = signer
    }
}

/// The way the signer's certificate is identified.
enum SignerIdentifier: Hashable, Sendable {
    /// The one with this issuer, a Name's whole encoding, and these adjacent contents of the serial number (RFC 5652
    /// §5.3).
    case issuerAndSerialNumber(issuer: Range<Int>, serialNumber: Range<Int>)
    /// The first one, as in x5c (RFC 7515 §4.1.6).
    case first

    /// The bytes that name the signer; empty for the first one.
    var name: Range<Int> {
        switch self {
        case .issuerAndSerialNumber(let issuer, let serialNumber): issuer.lowerBound..<serialNumber.upperBound
        case .first: 0..<0
        }
    }
}
