// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A file read with as much memory as it has bytes and no more, so that reading it leaves no trace in the peak.
struct ByteFile {
    let path: String

    /// For files that the kernel makes up while they are read, whose size it gives as 0.
    private static let smallestCapacity = 16_384

    func contents() throws(MemoryError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY)
        guard descriptor >= 0 else { throw .unreadable(path: path, code: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .unreadable(path: path, code: errno) }
        return Self.read(descriptor, capacity: max(Self.smallestCapacity, status.st_size))
    }

    private static func read(_ descriptor: Int32, capacity: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            // SAFETY: `read` writes at most the bytes that are left behind `count`.
            var received = 0
            repeat {
                received = unsafe Glibc.read(descriptor, buffer.baseAddress?.advanced(by: count), capacity - count)
                count += max(0, received)
            } while received > 0
        }
    }
}
