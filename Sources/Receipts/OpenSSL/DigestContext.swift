// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// One reusable `EVP_MD_CTX`, set up for one digest.
///
/// Fetching an algorithm and allocating a context cost OpenSSL 3 more than hashing a small receipt, so both are done
/// once.
///
/// SAFETY (@unchecked Sendable): one caller at a time has it, because it is reachable only through a `Pool`.
@safe final class DigestContext: @unchecked Sendable {
    private let context: OpaquePointer
    private let algorithm: OpaquePointer
    private let result: UnsafeMutableBufferPointer<UInt8>

    init(_ digest: DigestAlgorithm) {
        guard let algorithm = unsafe EVP_MD_fetch(nil, digest.opensslName, nil),
            let context = unsafe EVP_MD_CTX_new()
        else { preconditionFailure("OpenSSL offers no \(digest.opensslName)") }
        unsafe self.algorithm = algorithm
        unsafe self.context = context
        unsafe result = .allocate(capacity: digest.byteCount)
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
        unsafe EVP_MD_free(algorithm)
        unsafe result.deallocate()
    }

    /// Lends the digest of these bytes.
    @inline(__always)
    func withDigest<Value>(of bytes: Span<UInt8>, _ body: (Span<UInt8>) -> Value) -> Value {
        let status = unsafe bytes.withUnsafeBytes { buffer in
            unsafe EVP_DigestInit_ex(context, algorithm, nil)
                & EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
                & EVP_DigestFinal_ex(context, result.baseAddress, nil)
        }
        precondition(status == 1, "a fetched digest cannot fail on bytes in memory")
        return unsafe body(result.span)
    }
}

extension DigestAlgorithm {
    var byteCount: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        }
    }

    var opensslName: String {
        switch self {
        case .sha1: "SHA1"
        case .sha256: "SHA256"
        }
    }
}
