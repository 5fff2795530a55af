// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// The owner of one `X509`.
///
/// SAFETY: the pointer is used in this folder only, no longer than its owner lives, and `deinit` frees it once.
@safe final class X509Certificate {
    let pointer: OpaquePointer

    /// Reads a certificate in DER; nil if OpenSSL does not take it for one.
    init?(der: [UInt8]) {
        let decoded = unsafe der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return unsafe d2i_X509(nil, &cursor, buffer.count)
        }
        guard let decoded = unsafe decoded else { return nil }
        unsafe pointer = decoded
    }

    deinit {
        unsafe X509_free(pointer)
    }
}
