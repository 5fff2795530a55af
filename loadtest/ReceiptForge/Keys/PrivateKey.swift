// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL
internal import Synchronization

/// A key that signs certificates and is certified.
protocol PrivateKey: Sendable {
    /// `SubjectPublicKeyInfo ::= SEQUENCE { algorithm, subjectPublicKey BIT STRING }` (RFC 5280 §4.1)
    var subjectPublicKeyInfo: DERNode { get }
    /// The SHA-1 of the subject public key's bytes (RFC 5280 §4.2.1.2, method 1).
    var keyIdentifier: [UInt8] { get }

    /// Returns the algorithm of this key's signatures over the digest.
    func signatureAlgorithm(_ digest: SigningDigest) -> AlgorithmIdentifier
    func signature(over message: [UInt8], digest: SigningDigest) -> [UInt8]
}

/// A private key of OpenSSL: the owner of one `EVP_PKEY`.
///
/// Safe because the pointer never leaves this file and `deinit` frees it exactly once. `@unchecked Sendable` because
/// the key is immutable, and OpenSSL allows concurrent use of an unchanged `EVP_PKEY` (openssl-threads(7)).
@safe final class SigningKey: @unchecked Sendable {
    private let pointer: OpaquePointer

    /// Reads a key of this type, `EVP_PKEY_RSA` or `EVP_PKEY_EC`, from its own structure.
    init(_ type: Int32, _ structure: DERNode) {
        let encoding = structure.encoded
        let decoded = unsafe encoding.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_PrivateKey(type, nil, &start, buffer.count)
        }
        guard let decoded = unsafe decoded else { preconditionFailure("OpenSSL rejected the key") }
        unsafe pointer = decoded
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// Signs with RSASSA-PKCS1-v1_5 (RFC 8017 §8.2), without randomness: the same input gives the same signature. Or
    /// with ECDSA, in DER (RFC 3279 §2.2.3): OpenSSL draws a random number, so each signature differs.
    func signature(over message: [UInt8], digest: SigningDigest) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("OpenSSL is out of memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        var count = Int(unsafe EVP_PKEY_get_size(pointer))
        var signature = [UInt8](repeating: 0, count: count)
        let began = unsafe EVP_DigestSignInit(context, nil, digest.evp, nil, pointer)
        let signed = unsafe EVP_DigestSign(context, &signature, &count, message, message.count)
        precondition(began == 1 && signed == 1 && count <= signature.count, "OpenSSL could not sign")
        return Array(signature.prefix(count))
    }

    /// Checks a signature in the form of `signature(over:digest:)`.
    func isValid(_ signature: [UInt8], over message: [UInt8], digest: SigningDigest) -> Bool {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("OpenSSL is out of memory") }
        defer {
            unsafe EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        guard unsafe EVP_DigestVerifyInit(context, nil, digest.evp, nil, pointer) == 1 else { return false }
        return unsafe EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// Returns the public point of an elliptic key: the byte 4 and both coordinates (RFC 5480 §2.2).
    func point(coordinateBytes: Int) -> [UInt8] {
        var point = [UInt8](repeating: 0, count: 1 + 2 * coordinateBytes)
        var count = 0
        let status = unsafe EVP_PKEY_get_octet_string_param(
            pointer, OSSL_PKEY_PARAM_PUB_KEY, &point, point.count, &count)
        precondition(status == 1 && count == point.count && point[0] == 0x04, "OpenSSL returned no uncompressed point")
        return point
    }
}

/// The purpose of a key. Each has its own random stream, so keys can be made in any order.
enum KeyRole: String, Sendable, Hashable {
    case root, intermediate, leaf
    /// Keys that the trusted root never certified.
    case attackerRoot, attackerIntermediate, attackerLeaf
    /// A leaf key below the smallest safe size.
    case shortLeaf
    /// A leaf key with the exponent that made signature forgery practical (Bleichenbacher, CRYPTO 2006 rump session).
    case smallExponentLeaf
    case xcode
    /// The signer of transaction receipts of version 2, with 1024 bits, and its issuer.
    case storeLeaf, storeIntermediate
    /// Test servers, and the authority that certifies them.
    case tlsAuthority, tlsServer
}

/// Creates each key once, on first use: finding primes is by far the slowest part of forging.
final class KeyRing: Sendable {
    private let seed: UInt64
    private let keys = Mutex<[KeyRole: RSAPrivateKey]>([:])

    init(seed: UInt64) {
        self.seed = seed
    }

    func key(for role: KeyRole) -> RSAPrivateKey {
        keys.withLock { keys in
            if let key = keys[role] { return key }
            var generator = SplitMix64(seed: seed, purpose: "key " + role.rawValue)
            let bits = role == .shortLeaf || role == .storeLeaf ? 1024 : 2048
            let exponent: UInt64 = role == .smallExponentLeaf ? 3 : 65_537
            let key = RSAPrivateKey(bits: bits, publicExponent: exponent, using: &generator)
            keys[role] = key
            return key
        }
    }
}

/// The digests of receipts' signatures. Apple used SHA-1 until January 2024 and uses SHA-256 now, and SHA-384 for the
/// certificates of transactions; MD5 exists to be rejected.
package enum SigningDigest: String, Sendable, Hashable, CaseIterable {
    /// 128 bits, broken.
    case md5
    /// 160 bits; in every receipt issued before August 2023.
    case sha1
    case sha256
    case sha384

    /// The digest, and the algorithm of RSA signatures over it (RFC 8017 appendix A.2.4).
    var identifiers: (digest: OID, withRSAEncryption: OID) {
        switch self {
        case .md5: (.md5, .md5WithRSAEncryption)
        case .sha1: (.sha1, .sha1WithRSAEncryption)
        case .sha256: (.sha256, .sha256WithRSAEncryption)
        case .sha384: (.sha384, .sha384WithRSAEncryption)
        }
    }

    package func hash(_ message: [UInt8]) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        // Safe: OpenSSL writes at most EVP_MAX_MD_SIZE bytes and reads exactly `message.count`.
        let status = unsafe EVP_Digest(message, message.count, &output, &count, evp, nil)
        precondition(status == 1, "OpenSSL rejected digest \(rawValue)")
        return Array(output.prefix(Int(count)))
    }

    /// OpenSSL's constant for this algorithm; static, never freed.
    var evp: OpaquePointer? { unsafe EVP_get_digestbyname(rawValue) }
}
