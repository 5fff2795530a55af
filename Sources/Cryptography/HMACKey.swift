// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// A key of HMAC-SHA256 (RFC 2104).
///
/// The states after the inner and the outer pad are computed once: a code then costs two blocks of SHA-256 instead of
/// four.
///
/// SAFETY (@unchecked Sendable): only `init` writes the two states. Copying a state reads it.
@safe package final class HMACKey: @unchecked Sendable {
    private let inner: OpaquePointer
    private let outer: OpaquePointer

    package static let codeByteCount = 32
    private static let blockByteCount = 64

    /// Creates a key of any length. A key longer than 64 bytes is replaced by its digest (RFC 2104 §2).
    package init(_ key: [UInt8]) {
        let short = key.count > Self.blockByteCount ? HashFunction.sha256.digest(of: key) : key
        let block = short + [UInt8](repeating: 0, count: Self.blockByteCount - short.count)
        unsafe inner = Self.state(after: block.map { $0 ^ 0x36 })
        unsafe outer = Self.state(after: block.map { $0 ^ 0x5C })
    }

    deinit {
        unsafe EVP_MD_CTX_free(inner)
        unsafe EVP_MD_CTX_free(outer)
    }

    private static func state(after block: [UInt8]) -> OpaquePointer {
        guard let context = unsafe EVP_MD_CTX_new(),
            unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1,
            unsafe EVP_DigestUpdate(context, block, block.count) == 1
        else { preconditionFailure("OpenSSL offers SHA-256, as is checked at the start") }
        return unsafe context
    }

    /// Returns the code of a message, 32 bytes.
    package func code(for message: Span<UInt8>) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Self.codeByteCount) { buffer, count in
            unsafe write(message, to: buffer)
            count = Self.codeByteCount
        }
    }

    /// Compares a code with a message's code in constant time. A code of another length is not valid.
    package func isValid(_ code: [UInt8], for message: Span<UInt8>) -> Bool {
        guard code.count == Self.codeByteCount else { return false }
        return unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.codeByteCount) { expected in
            unsafe write(message, to: expected)
            return unsafe CRYPTO_memcmp(expected.baseAddress, code, Self.codeByteCount) == 0
        }
    }

    /// Writes the code to a buffer of 32 bytes.
    private func write(_ message: Span<UInt8>, to code: UnsafeMutableBufferPointer<UInt8>) {
        let context = unsafe EVP_MD_CTX_new()
        defer { unsafe EVP_MD_CTX_free(context) }
        let status = unsafe message.withUnsafeBytes { message in
            // SAFETY: both codes have 32 bytes; the second replaces the first once that is hashed.
            unsafe EVP_MD_CTX_copy_ex(context, inner) & EVP_DigestUpdate(context, message.baseAddress, message.count)
                & EVP_DigestFinal_ex(context, code.baseAddress, nil) & EVP_MD_CTX_copy_ex(context, outer)
                & EVP_DigestUpdate(context, code.baseAddress, Self.codeByteCount)
                & EVP_DigestFinal_ex(context, code.baseAddress, nil)
        }
        precondition(status == 1, "a started digest cannot fail on bytes in memory")
    }

    /// Derives 32 bytes for one purpose from a secret, by HKDF-SHA256 without salt (RFC 5869 §2).
    package static func derive(from secret: [UInt8], for purpose: String) -> [UInt8] {
        let extracted = HMACKey([]).code(for: secret.span)
        // The only block: T(1) = HMAC(PRK, info | 1).
        return HMACKey(extracted).code(for: (Array(purpose.utf8) + [1]).span)
    }
}
