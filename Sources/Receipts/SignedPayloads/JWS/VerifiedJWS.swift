// SPDX-License-Identifier: Apache-2.0

package import JSON

/// A JWS whose chain and signature were verified. Only a `ReceiptVerifier` creates one.
///
/// It proves who signed the payload, not yet what the payload means or when it was signed.
public struct VerifiedJWS: Sendable, Confidential {
    /// The signed payload: a JSON object in UTF-8, with all claims as Apple wrote them.
    public let payload: [UInt8]
    /// SHA-256 of the signed text: header and payload, without the signature. ES256 signatures can be changed without
    /// the key.
    public let identity: Fingerprint
    let chain: CertificateChain

    /// Returns the claims at these places in the payload, and the claims with these names. Reads the payload once more.
    package func claims(at places: [Int], orNamed names: Set<String> = []) -> [JSONValue.Member] {
        // Verification has read the same bytes.
        let members = (try? JSONValue(parsing: payload))?.members ?? []
        let places = Set(places)
        return members.enumerated().filter { place, member in
            places.contains(place) || member.name.string.map(names.contains) ?? false
        }.map(\.element)
    }

    /// Contains no byte of the payload.
    public var description: String { "VerifiedJWS(\(payload.count) bytes)" }
}

extension ReceiptVerifier {
    /// Verifies a JWS in compact serialization (RFC 7515): its header, its signer's chain and its signature. Nothing of
    /// the payload is read before they hold.
    func verifySignature(ofJWS text: Span<UInt8>) throws(ReceiptError) -> VerifiedJWS {
        let jws = try CompactJWS(text, limits: limits)
        let header = SignerCertificates(text, at: [jws.header], signer: .first)
        let known = headers.chain(of: header)
        let chain: CertificateChain
        if let known { chain = known } else { chain = try self.chain(ofHeader: text.extracting(jws.header)) }
        let identity = try checkSignature(of: jws, in: text, by: chain.key)
        if known == nil, headers.insert(chain, of: header) { onNewChain(chain.info) }
        return VerifiedJWS(payload: try Self.decode(text.extracting(jws.payload)), identity: identity, chain: chain)
    }

    private static func decode(_ part: Span<UInt8>) throws(ReceiptError) -> [UInt8] {
        guard let bytes = Base64URLDecoder.decode(part) else { throw ReceiptError(.jwsBase64URLInvalid) }
        return bytes
    }

    private func chain(ofHeader text: Span<UInt8>) throws(ReceiptError) -> CertificateChain {
        let json = try Self.decode(text)
        let header = try JWSHeader(json.span)
        let count = header.encodings.count
        guard count == Self.x5cCount || trustStore.hasOperatorsAnchors else { throw ReceiptError(.x5cCountWrong) }
        let certificates = SignerCertificates(header.certificates.span, at: header.encodings, signer: .first)
        let chain = try CertificateChain(
            certificates, for: SignerPurpose(algorithm: .es256), trustStore: trustStore, verified: verifiedCertificates)
        guard count == Self.x5cCount || !chain.isPinned else { throw ReceiptError(.x5cCountWrong) }
        return chain
    }

    private static let signatureByteCount = 64

    /// Apple's headers have leaf, intermediate and root.
    private static let x5cCount = 3

    /// Checks the signature, r ‖ s of 64 bytes (RFC 7518 §3.4).
    /// - Returns: SHA-256 of the signed text.
    private func checkSignature(
        of jws: CompactJWS, in text: Span<UInt8>, by key: PublicKey
    ) throws(ReceiptError) -> Fingerprint {
        let signature = try Self.decode(text.extracting(jws.signature))
        guard signature.count == Self.signatureByteCount else { throw ReceiptError(.jwsSignatureLengthWrong) }
        guard let digest = key.digest(of: text.extracting(jws.signingInput), signedES256: signature.span) else {
            throw ReceiptError(.signatureInvalid)
        }
        return digest
    }
}

/// A JWS in compact serialization (RFC 7515 §7.1), as ranges of its text. Not yet verified.
struct CompactJWS {
    let header: Range<Int>
    let payload: Range<Int>
    let signature: Range<Int>

    /// The text that is signed: header and payload with the dot between them (RFC 7515 §5.1).
    var signingInput: Range<Int> { header.lowerBound..<payload.upperBound }

    init(_ text: Span<UInt8>, limits: Limits) throws(ReceiptError) {
        guard text.count <= limits.maximumJWSBytes else { throw ReceiptError(.jwsTooLarge) }
        let dot = UInt8(ascii: ".")
        guard let first = text.firstIndex(of: dot, from: 0), let second = text.firstIndex(of: dot, from: first + 1),
            text.firstIndex(of: dot, from: second + 1) == nil
        else { throw ReceiptError(.jwsNotCompact) }
        guard first <= limits.maximumJWSHeaderBytes else { throw ReceiptError(.jwsTooLarge) }
        header = 0..<first
        payload = first + 1..<second
        signature = second + 1..<text.count
    }
}
