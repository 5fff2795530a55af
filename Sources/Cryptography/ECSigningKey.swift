// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// A private key on the curve P-256, which signs as JWS do with ES256 (RFC 7518 §3.4).
///
/// SAFETY (@unchecked Sendable): only `init` writes the key. Signing reads it, with a context for each call.
@safe package final class ECSigningKey: @unchecked Sendable, Hashable {
    private let key: OpaquePointer
    /// The public point: the byte 4 and both coordinates (SEC 1 §2.3.3). Identifies the key.
    package let publicPoint: [UInt8]

    /// The length of a signature: r and s, 32 bytes each.
    package static let signatureByteCount = 64

    /// Reads a key in PEM, as App Store Connect offers it (`-----BEGIN PRIVATE KEY-----`, RFC 5958).
    /// - Returns: nil unless the text holds a private key on P-256, without a passphrase.
    package init?(pem text: [UInt8]) {
        guard let bio = unsafe BIO_new_mem_buf(text, Int32(clamping: text.count)) else { return nil }
        defer {
            unsafe BIO_free(bio)
            ERR_clear_error()
        }
        // SAFETY: a callback that returns 0 stands for no passphrase; without it OpenSSL would ask on the terminal.
        guard let key = unsafe PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in 0 }, nil) else { return nil }
        guard let point = unsafe Self.publicPoint(of: key) else {
            unsafe EVP_PKEY_free(key)
            return nil
        }
        unsafe self.key = key
        publicPoint = point
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Returns the public point; nil for a key that is not on P-256.
    private static func publicPoint(of key: OpaquePointer) -> [UInt8]? {
        var name = [CChar](repeating: 0, count: 32)
        var point = [UInt8](repeating: 0, count: 65)
        var count = 0
        guard unsafe EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1,
            name.prefix(count).elementsEqual("prime256v1".utf8.map { CChar($0) }),
            unsafe EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, &point, point.count, &count) == 1,
            count == point.count, point[0] == 4
        else { return nil }
        return point
    }

    /// Returns r ‖ s over the SHA-256 digest of a message, 64 bytes.
    package func signature(over message: [UInt8]) -> [UInt8] { Self.fixedLength(encodedSignature(over: message)) }

    /// Returns the DER of `ECDSA-Sig-Value ::= SEQUENCE { r INTEGER, s INTEGER }` (RFC 3279 §2.2.3) over the SHA-256
    /// digest of a message.
    package func encodedSignature(over message: [UInt8]) -> ArraySlice<UInt8> {
        let context = unsafe EVP_MD_CTX_new()
        defer { unsafe EVP_MD_CTX_free(context) }
        // The DER of two numbers below the order of P-256 has 72 bytes at most.
        var encoding = [UInt8](repeating: 0, count: 72)
        var count = encoding.count
        let status =
            unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key)
            & EVP_DigestSign(context, &encoding, &count, message, message.count)
        precondition(status == 1, "a private key on P-256 can sign")
        return encoding[..<count]
    }

    /// Returns r and s of an encoded signature in 32 bytes each.
    private static func fixedLength(_ encoding: ArraySlice<UInt8>) -> [UInt8] {
        var rest = encoding.dropFirst(2)
        var numbers: [UInt8] = []
        for _ in 0..<2 {
            let length = Int(rest[rest.startIndex + 1])
            let digits = rest.dropFirst(2).prefix(length).drop { $0 == 0 }
            numbers += [UInt8](repeating: 0, count: signatureByteCount / 2 - digits.count) + digits
            rest = rest.dropFirst(2 + length)
        }
        return numbers
    }

    package static func == (one: ECSigningKey, other: ECSigningKey) -> Bool { one.publicPoint == other.publicPoint }

    package func hash(into hasher: inout Hasher) { hasher.combine(publicPoint) }
}
