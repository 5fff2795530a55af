// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// An RSA key that can sign: the owner of one OpenSSL `EVP_PKEY`.
///
/// Safe because the pointer never leaves this file and `deinit` frees it exactly once. `@unchecked Sendable` because
/// the key is immutable, and OpenSSL allows concurrent use of an unchanged `EVP_PKEY` (openssl-threads(7)).
@safe final class RSAPrivateKey: @unchecked Sendable {
    let material: RSAKeyMaterial
    private let pointer: OpaquePointer

    init(_ material: RSAKeyMaterial) {
        let encoding = material.rsaPrivateKey.encoded
        let decoded = unsafe encoding.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_PrivateKey(EVP_PKEY_RSA, nil, &start, buffer.count)
        }
        guard let decoded = unsafe decoded else { preconditionFailure("OpenSSL rejected the key") }
        self.material = material
        unsafe self.pointer = decoded
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// Signs with RSASSA-PKCS1-v1_5 (RFC 8017 §8.2): no randomness, so the same input gives the same signature.
    func signature(over message: [UInt8], digest: DigestAlgorithm) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("OpenSSL is out of memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: material.modulus.count)
        var count = signature.count
        let began = unsafe EVP_DigestSignInit(context, nil, digest.evp, nil, pointer)
        let signed = unsafe EVP_DigestSign(context, &signature, &count, message, message.count)
        precondition(began == 1 && signed == 1 && count == signature.count, "OpenSSL could not sign")
        return signature
    }
}
