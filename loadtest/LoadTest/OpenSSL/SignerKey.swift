// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

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

    private init(owning pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    /// The same numbers in a key that shares no memory with this one. OpenSSL takes a lock of the key for each
    /// verification, and threads that share a key hand that lock's memory to and fro.
    func copied() -> SignerKey {
        guard let key = unsafe EVP_PKEY_dup(pointer) else { preconditionFailure("OpenSSL cannot copy a public key") }
        return unsafe SignerKey(owning: key)
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }
}
