// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The functions of the C library that the server uses, with their names on each platform.
package enum CLibrary {
    package static let addressInUse = EADDRINUSE
    package static let addressNotAvailable = EADDRNOTAVAIL
    package static let permissionDenied = EACCES

    package static var isStandardInputTerminal: Bool { isatty(STDIN_FILENO) == 1 }
    package static var isStandardOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Returns an exponentially distributed random number with mean 1.
    @Sendable package static func exponential() -> Double { -log(1 - Double.random(in: 0..<1)) }

    /// The time of the system's clock (`CLOCK_REALTIME`), in nanoseconds since 1970.
    package static var nanosecondsSince1970: Int64 {
        var time = timespec()
        // SAFETY: the pointer to a local variable is used only during the call.
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    package static var pageBytes: Double { Double(sysconf(Int32(_SC_PAGESIZE))) }

    /// Makes the allocator map every large block separately, so that freeing it returns the memory to the system. glibc
    /// raises its threshold with each such block that is freed (mallopt(3)); after a few large bodies it would keep
    /// their memory.
    package static func mapLargeBlocks() {
        // SAFETY: the symbol is looked up among linked libraries; only glibc has this function, which takes two
        // integers and returns an integer. Swift's glibc module does not include its header.
        guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
        let mallopt = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
        let mmapThreshold: Int32 = -3
        _ = mallopt(mmapThreshold, largeBlockBytes)
    }

    /// Twice the largest ordinary request (`BodyBudget.ordinaryBodyBytes`).
    private static let largeBlockBytes: Int32 = 256 << 10

    /// The commit of a program from `make dist`, nil in others. `.ci/dist/binary` links it in as a C string, so that a new
    /// commit compiles nothing again.
    package static var linkedCommit: String? {
        // SAFETY: only `.ci/dist/binary` defines this symbol, as a constant text that ends with a zero byte.
        unsafe dlsym(nil, "receipt_gateway_commit").map {
            unsafe String(cString: $0.assumingMemoryBound(to: CChar.self))
        }
    }

    package static func environment(_ name: String) -> String? {
        // SAFETY: the text ends with a zero byte, and is copied before anything could change the environment.
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// Ends the process with a message on standard error.
    package static func end(withStatus status: Int32, _ message: String) -> Never {
        var line = message + "\n"
        // SAFETY: the bytes are read during the call only.
        line.withUTF8 { _ = unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
        exit(status)
    }

    /// Starts the running program anew in the same process and with the same arguments, with a variable in its
    /// environment. Returns only if that is not possible.
    package static func startAnew(setting name: String, to value: String) {
        // SAFETY: the texts end with a zero byte, and are copied; the arguments are the process's own, and end with a null
        // pointer.
        guard unsafe setenv(name, value, 1) == 0 else { return }
        _ = unsafe execv("/proc/self/exe", CommandLine.unsafeArgv)
    }

    /// Returns the ends of a new pipe, which `startAnew` does not keep; nil if the process can open no more descriptors.
    package static func openPipe() -> (readEnd: CInt, writeEnd: CInt)? {
        var ends: [CInt] = [-1, -1]
        // SAFETY: the array has room for the two descriptors.
        guard unsafe pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Returns false if the byte was not taken.
    package static func writeByte(to descriptor: CInt) -> Bool {
        var byte: UInt8 = 0
        // SAFETY: the pointer to a local variable is used only during the call.
        return unsafe write(descriptor, &byte, 1) == 1
    }

    package static func closeDescriptor(_ descriptor: CInt) { close(descriptor) }

    /// The clock ticks per second of the system's process times.
    package static var ticksPerSecond: Double { Double(sysconf(Int32(_SC_CLK_TCK))) }

    /// The CPU time of this process in seconds. POSIX defines `CLOCKS_PER_SEC` as one million.
    package static var processorSeconds: Double { Double(clock()) / 1e6 }

    /// Returns the signature of a file, following symbolic links; nil if there is none.
    package static func signature(ofFile path: String) -> FileSignature? {
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

    /// Reads a file up to its end or a number of bytes; nil if it cannot be read.
    /// - Parameter path: nil for standard input.
    package static func bytes(ofFile path: String?, maximum: Int) -> [UInt8]? {
        // SAFETY: the text ends with a zero byte.
        let descriptor = path.map { unsafe open($0, O_RDONLY | O_CLOEXEC) } ?? STDIN_FILENO
        guard descriptor >= 0 else { return nil }
        defer { if path != nil { close(descriptor) } }
        var bytes: [UInt8] = [], part = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count < maximum {
            // SAFETY: the pointer is valid for the call, and `part.count` bytes follow it.
            let count = unsafe part.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { bytes += part[..<count] }
            if count == 0 { return bytes }
            guard count > 0 || errno == EINTR else { return nil }
        }
        return Array(bytes.prefix(maximum))
    }

    /// Creates a file with these permissions, or fewer if the process has a umask.
    /// - Returns: the reason why there is no new file, in words of the system; nil after success.
    package static func createFile(_ path: String, _ bytes: [UInt8], permissions: UInt16) -> String? {
        // SAFETY: the text ends with a zero byte.
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(permissions))
        guard descriptor >= 0 else { return systemError }
        var error = writeAll(bytes, to: descriptor) ? nil : systemError
        // Some file systems report a full disk only here.
        if close(descriptor) != 0, error == nil { error = systemError }
        if error != nil { removeFile(path) }
        return error
    }

    /// Creates a folder that only its owner and group may enter, unless there is one.
    package static func createFolder(_ path: String) -> String? {
        // SAFETY: the text ends with a zero byte.
        unsafe mkdir(path, 0o750) == 0 || errno == EEXIST ? nil : systemError
    }

    package static func removeFile(_ path: String) {
        // SAFETY: the text ends with a zero byte.
        _ = unsafe unlink(path)
    }

    /// The last error of this thread, in words.
    private static var systemError: String {
        // SAFETY: the text ends with a zero byte, and is copied at once.
        unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "error \(errno)"
    }

    /// Returns the reason why a file cannot be read, in words that follow its path.
    package static func readingFault(ofFile path: String) -> String {
        let process = "this process (user ID \(geteuid()))"
        var found = stat()
        // SAFETY: both pointers are valid for the call, and the path ends with a zero byte.
        guard unsafe stat(path, &found) == 0 else {
            return errno == EACCES ? "is in a folder that \(process) may not open" : "does not exist"
        }
        if found.st_mode & S_IFMT == S_IFDIR { return "is a directory; name a file in it" }
        if found.st_mode & S_IFMT != S_IFREG { return "is no regular file" }
        // SAFETY: the path ends with a zero byte.
        if unsafe access(path, R_OK) == 0 { return "cannot be read" }
        return "may not be read by \(process); change the file's permissions"
    }

    /// Parses an address into its bytes, in network order (inet_pton(3)); nil for anything else. Leading zeros of an
    /// IPv4 number, which other parsers read as octal, are rejected.
    static func addressBytes(_ text: String, isIPv6: Bool) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        // SAFETY: the text ends with a zero byte, and the buffer has the size of the family's addresses.
        let result = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, buffer.baseAddress)
        }
        return result == 1 ? bytes : nil
    }

    /// Writes what `print` has buffered for standard output.
    package static func flushStandardOutput() { fflush(nil) }

    /// Writes bytes to standard error and blocks until they are taken. Bytes that cannot be written are lost.
    @Sendable package static func writeToStandardError(_ bytes: [UInt8]) {
        _ = writeAll(bytes, to: STDERR_FILENO)
    }

    /// Writes all bytes and blocks until they are taken.
    /// - Returns: false, and the reason in `errno`, if some cannot be written.
    private static func writeAll(_ bytes: [UInt8], to descriptor: CInt) -> Bool {
        var written = 0
        while written < bytes.count {
            // SAFETY: the pointer is valid for the call, and `rest.count` bytes follow it.
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                return unsafe write(descriptor, rest.baseAddress, rest.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            written += count
        }
        return true
    }
}

/// The identity of a file's state, known without reading it. Another file in its place, as after Kubernetes switches
/// symbolic links, has another inode.
package struct FileSignature: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    package let size: Int64
    /// The last change of content or permissions, in nanoseconds since 1970.
    let changed: Int64
}
