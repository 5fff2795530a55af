// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// One reusable `EVP_MD_CTX`, set up for one digest, and the DigestInfo (RFC 8017 §9.2) it writes its digests into.
///
/// Fetching an algorithm and allocating a context cost OpenSSL 3 more than hashing a small receipt, so both are done
/// once.
///
/// SAFETY (@unchecked Sendable): one caller at a time has it, because it is reachable only through a `Pool`.
@safe final class DigestContext: @unchecked Sendable {
    private let context: OpaquePointer
    private let algorithm: OpaquePointer
    private let digestInfo: UnsafeMutableBufferPointer<UInt8>
    private let headerCount: Int

    /// Traps where OpenSSL does not offer the digest; `ReceiptVerifier.checkOpenSSL` tells beforehand.
    init(_ digest: DigestAlgorithm) {
        guard let algorithm = unsafe EVP_MD_fetch(nil, digest.opensslName, nil),
            let context = unsafe EVP_MD_CTX_new()
        else { preconditionFailure("OpenSSL offers no \(digest.opensslName)") }
        unsafe self.algorithm = algorithm
        unsafe self.context = context
        let blank = digest.digestInfoHeader + [UInt8](repeating: 0, count: digest.byteCount)
        headerCount = digest.digestInfoHeader.count
        unsafe digestInfo = .allocate(capacity: blank.count)
        _ = unsafe digestInfo.initialize(fromContentsOf: blank)
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
        unsafe EVP_MD_free(algorithm)
        unsafe digestInfo.deallocate()
    }

    /// Lends the digest of these bytes.
    @inline(__always)
    func withDigest<Value>(of bytes: Span<UInt8>, _ body: (Span<UInt8>) -> Value) -> Value {
        withDigestInfo(of: bytes) { body($0.extracting(droppingFirst: headerCount)) }
    }

    /// Lends the DigestInfo of these bytes: the digest's name and the digest, as a signature covers them.
    @inline(__always)
    func withDigestInfo<Value>(of bytes: Span<UInt8>, _ body: (Span<UInt8>) -> Value) -> Value {
        let status = unsafe bytes.withUnsafeBytes { buffer in
            // SAFETY: the digest's bytes follow the header's in `digestInfo`, which was allocated for both.
            unsafe EVP_DigestInit_ex(context, algorithm, nil)
                & EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
                & EVP_DigestFinal_ex(context, digestInfo.baseAddress.map { unsafe $0 + headerCount }, nil)
        }
        precondition(status == 1, "a fetched digest cannot fail on bytes in memory")
        return unsafe body(digestInfo.span)
    }
}

extension DigestAlgorithm {
    var byteCount: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        case .sha384: 48
        }
    }

    var opensslName: String {
        switch self {
        case .sha1: "SHA1"
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        }
    }

    /// What stands before the digest in its DigestInfo (RFC 8017 §9.2, note 1).
    var digestInfoHeader: [UInt8] {
        switch self {
        case .sha1: [0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A, 0x05, 0x00, 0x04, 0x14]
        case .sha256:
            [
                0x30, 0x31, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
                0x04, 0x20,
            ]
        case .sha384:
            [
                0x30, 0x41, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02, 0x05, 0x00,
                0x04, 0x30,
            ]
        }
    }

    /// Whether OpenSSL, as it is configured here, has the digest.
    var isOffered: Bool {
        guard let algorithm = unsafe EVP_MD_fetch(nil, opensslName, nil) else {
            ERR_clear_error()
            return false
        }
        unsafe EVP_MD_free(algorithm)
        return true
    }
}
