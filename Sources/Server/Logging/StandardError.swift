// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif
/// The process's standard error.
enum StandardError {
    /// Writes bytes; one call for one line keeps lines of several threads apart. What cannot be written is lost.
    @Sendable static func write(_ bytes: [UInt8]) {
        var written = 0
        while written < bytes.count {
            // SAFETY: the pointer is valid for the call, and `bytes.count - written` bytes lie behind it.
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Self.write(STDERR_FILENO, UnsafeRawBufferPointer(rebasing: buffer[written...]))
            }
            guard count > 0 || errno == EINTR else { return }
            written += max(0, count)
        }
    }

    private static func write(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
        #if canImport(Glibc)
            unsafe Glibc.write(descriptor, buffer.baseAddress, buffer.count)
        #elseif canImport(Musl)
            unsafe Musl.write(descriptor, buffer.baseAddress, buffer.count)
        #else
            unsafe Darwin.write(descriptor, buffer.baseAddress, buffer.count)
        #endif
    }
}
