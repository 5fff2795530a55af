// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// The owner of one read-only memory `BIO`.
///
/// SAFETY: the BIO does not copy; whoever makes a reader keeps the bytes alive as long. `deinit` frees the BIO once.
@safe final class MemoryReader {
    let pointer: OpaquePointer

    @unsafe init(borrowing bytes: UnsafeBufferPointer<UInt8>) {
        guard let reader = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else {
            preconditionFailure("OpenSSL is out of memory")
        }
        unsafe pointer = reader
    }

    deinit {
        unsafe BIO_free(pointer)
    }
}
