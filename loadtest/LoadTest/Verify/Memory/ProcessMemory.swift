// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What the kernel says about this process's memory (proc(5), /proc/PID/status), in bytes.
struct ProcessMemory: Hashable, Sendable {
    /// `VmRSS`: memory in use now.
    let resident: Int
    /// `VmHWM`: the most that was ever in use.
    let peak: Int

    /// Reads the lines of /proc/self/status; nil if one of the two is missing.
    init?(status: String) {
        guard let resident = Self.bytes("VmRSS", in: status), let peak = Self.bytes("VmHWM", in: status) else {
            return nil
        }
        self.resident = resident
        self.peak = peak
    }

    /// This process, now.
    static func current() throws -> ProcessMemory {
        let status = String(decoding: try ByteFile(path: "/proc/self/status").contents(), as: UTF8.self)
        guard let memory = ProcessMemory(status: status) else { throw MemoryError.notReported }
        return memory
    }

    /// A line has the form `VmHWM:      2204 kB`, where kB stands for 1024 bytes.
    private static func bytes(_ name: String, in status: String) -> Int? {
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
    }
}

/// Why memory could not be measured.
enum MemoryError: Error, Hashable, CustomStringConvertible {
    /// The kernel does not report VmRSS and VmHWM.
    case notReported
    /// A file cannot be read; the code is an errno.
    case unreadable(path: String, code: Int32)
    /// The measuring process failed.
    case failed(status: Int32)

    var description: String {
        switch self {
        case .notReported: "/proc/self/status holds no VmRSS and VmHWM; memory cannot be measured on this system."
        case .unreadable(let path, let code): "'\(path)' cannot be read (error \(code))."
        case .failed(let status): "The measuring process failed with exit status \(status)."
        }
    }
}
