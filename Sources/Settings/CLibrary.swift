// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// What the server takes from the C library, in the one file that knows its names on each platform.
package enum CLibrary {
    /// `errno` for a port on which somebody else listens.
    package static let addressInUse = EADDRINUSE
    /// `errno` for an address that this machine does not have.
    package static let addressNotAvailable = EADDRNOTAVAIL
    /// `errno` for a port that this user may not have.
    package static let permissionDenied = EACCES

    /// Whether somebody sees what is written to standard output.
    package static var isStandardOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// A random number, minus the logarithm of one that is evenly spread between 0 and 1: 1 on average.
    @Sendable package static func exponential() -> Double { -log(1 - Double.random(in: 0..<1)) }

    /// The bytes of a page of memory.
    package static var pageBytes: Double { Double(sysconf(Int32(_SC_PAGESIZE))) }

    /// Has the allocator map every large block by itself, so that its memory goes back to the system when it is freed. glibc
    /// does so at first, but raises the size from which it does with each such block that is freed (mallopt(3)): after a
    /// few large bodies their memory would stay with the process, in pieces.
    package static func mapLargeBlocks() {
        // SAFETY: the symbol is looked up in what is linked already, and glibc is the only library with this function: it
        // takes two integers and returns one. Its header is not part of Swift's module for glibc.
        guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
        let mallopt = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
        let mmapThreshold: Int32 = -3
        _ = mallopt(mmapThreshold, largeBlockBytes)
    }

    /// Twice the largest request that is ordinary (`BodyBudget.ordinaryBodyBytes`).
    private static let largeBlockBytes: Int32 = 256 << 10

    /// The ticks in which the system counts a process's time, in a second.
    package static var ticksPerSecond: Double { Double(sysconf(Int32(_SC_CLK_TCK))) }

    /// The CPU time of this process, in seconds. POSIX: `CLOCKS_PER_SEC` is one million everywhere.
    package static var processorSeconds: Double { Double(clock()) / 1e6 }

    /// What tells the state of a file from others, through symbolic links; nil if there is none.
    static func signature(ofFile path: String) -> FileSignature? {
        var found = stat()
        // SAFETY: both pointers are valid for the call, and `stat` fills the whole structure or returns an error.
        guard unsafe stat(path, &found) == 0 else { return nil }
        #if canImport(Darwin)
            let changed = found.st_ctimespec
        #else
            let changed = found.st_ctim
        #endif
        return FileSignature(
            device: UInt64(truncatingIfNeeded: found.st_dev), inode: UInt64(found.st_ino), size: Int64(found.st_size),
            changed: Int64(changed.tv_sec) * 1_000_000_000 + Int64(changed.tv_nsec))
    }

    /// Writes bytes to standard error, and waits until somebody takes them. What cannot be written is lost.
    @Sendable package static func writeToStandardError(_ bytes: [UInt8]) {
        var written = 0
        while written < bytes.count {
            // SAFETY: the pointer is valid for the call, and `rest.count` bytes lie behind it.
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                return unsafe write(STDERR_FILENO, rest.baseAddress, rest.count)
            }
            guard count > 0 || errno == EINTR else { return }
            written += max(0, count)
        }
    }
}
