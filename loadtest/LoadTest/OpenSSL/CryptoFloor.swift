// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// The owner of one `EVP_MD_CTX` and of the `EVP_MD` it is used with, both made once: OpenSSL 3 takes longer to fetch an
/// algorithm than to hash a small receipt.
///
/// SAFETY: belongs to one thread, because it is not Sendable; `deinit` frees both once.
@safe final class SHA256Context {
    /// 32 bytes.
    typealias Digest = InlineArray<32, UInt8>

    private let context, algorithm: OpaquePointer

    init() {
        guard let algorithm = unsafe EVP_MD_fetch(nil, "SHA256", nil), let context = unsafe EVP_MD_CTX_new() else {
            preconditionFailure("OpenSSL offers no SHA-256")
        }
        unsafe self.algorithm = algorithm
        unsafe self.context = context
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
        unsafe EVP_MD_free(algorithm)
    }

    func digest(of bytes: [UInt8]) -> Digest {
        var digest = Digest(repeating: 0)
        var output = digest.mutableSpan
        let status = unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe EVP_DigestInit_ex(context, algorithm, nil)
                & EVP_DigestUpdate(context, bytes, bytes.count)
                & EVP_DigestFinal_ex(context, output.baseAddress, nil)
        }
        precondition(status == 1, "a fetched digest cannot fail on bytes in memory")
        return digest
    }
}

/// The owner of one `EVP_PKEY_CTX`, set up once to verify signatures over SHA-256 digests: RSASSA-PKCS1-v1_5 (RFC 8017
/// §8.2.2) or ECDSA, as the key is.
///
/// SAFETY: belongs to one thread, because it is not Sendable. The context holds a reference of its own to the key.
@safe final class SignatureContext {
    private let pointer: OpaquePointer

    init(_ key: SignerKey) {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil),
            unsafe EVP_PKEY_verify_init(context) == 1,
            unsafe !key.isRSA || EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1,
            unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_sha256()) == 1
        else { preconditionFailure("OpenSSL cannot verify signatures over SHA-256") }
        unsafe pointer = context
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(pointer)
    }

    func verifies(_ signature: [UInt8], over digest: SHA256Context.Digest) -> Bool {
        let status = unsafe digest.span.withUnsafeBufferPointer { digest in
            unsafe EVP_PKEY_verify(pointer, signature, signature.count, digest.baseAddress, digest.count)
        }
        // A refusal leaves its story in the thread's error queue.
        if status != 1 { ERR_clear_error() }
        return status == 1
    }
}

/// The owner of one `EVP_PKEY` that holds a signer's public key.
///
/// SAFETY (@unchecked Sendable): the key is not changed after it is made, and OpenSSL lets many threads use such a key
/// (openssl-threads(7)). The pointer is used in this folder only and `deinit` frees it once.
@safe final class SignerKey: @unchecked Sendable {
    let pointer: OpaquePointer

    /// The key a certificate binds; nil if OpenSSL cannot read it.
    init?(of certificate: X509Certificate) {
        // X509_get_pubkey hands out a reference of the caller's own.
        guard let key = unsafe X509_get_pubkey(certificate.pointer) else { return nil }
        unsafe pointer = key
    }

    /// The Ed25519 key with these bytes; nil if OpenSSL does not accept them.
    init?(ed25519 bytes: [UInt8]) {
        guard let key = unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
        else { return nil }
        unsafe pointer = key
    }

    private init(owning pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    /// Verifies a signature over a message, with a context made for it: over its SHA-256, unless the key is of Ed25519.
    func verifies(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("OpenSSL is out of memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        let digest = unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_ED25519 ? nil : EVP_sha256()
        guard unsafe EVP_DigestVerifyInit(context, nil, digest, nil, pointer) == 1,
            unsafe EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        else {
            ERR_clear_error()
            return false
        }
        return true
    }

    var isRSA: Bool { unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_RSA }

    /// Returns the same key without shared memory. OpenSSL takes a lock of the key for each verification, and threads
    /// that share a key hand that lock's memory to and fro.
    func copied() -> SignerKey {
        guard let key = unsafe EVP_PKEY_dup(pointer) else { preconditionFailure("OpenSSL cannot copy a public key") }
        return unsafe SignerKey(owning: key)
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }
}
