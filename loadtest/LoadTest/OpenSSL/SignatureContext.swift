// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// The owner of one `EVP_PKEY_CTX`, set up once to verify RSASSA-PKCS1-v1_5 signatures over SHA-256 digests
/// (RFC 8017 §8.2.2).
///
/// SAFETY: belongs to one thread, because it is not Sendable. The context holds a reference of its own to the key.
@safe final class SignatureContext {
    private let pointer: OpaquePointer

    init(_ key: SignerKey) {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil),
            unsafe EVP_PKEY_verify_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1,
            unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_sha256()) == 1
        else { preconditionFailure("OpenSSL cannot verify RSA signatures over SHA-256") }
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
