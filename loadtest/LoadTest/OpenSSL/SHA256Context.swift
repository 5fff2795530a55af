// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// The owner of one `EVP_MD_CTX` and of the `EVP_MD` it is used with, both made once: OpenSSL 3 takes longer to fetch an
/// algorithm than to hash a small receipt.
///
/// SAFETY: belongs to one thread, because it is not Sendable; `deinit` frees both once.
@safe final class SHA256Context {
    /// 32 bytes.
    typealias Digest = InlineArray<32, UInt8>

    private let context: OpaquePointer
    private let algorithm: OpaquePointer

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
