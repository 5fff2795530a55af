// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

/// A process that a test started, and that only this object signals.
///
/// Not Foundation's `Process`: its children inherit the signals its thread blocks, its `waitUntilExit` was seen to spin
/// for ever on a thread of the concurrency pool, and it reads beyond a buffer once the tests hold over a thousand
/// descriptors.
final class ChildProcess: Sendable {
    private let id: pid_t
    private let status: Mutex<Int32?>

    /// Starts a program. It reads nothing, appends both outputs to a file, blocks and ignores no signal, and inherits
    /// no descriptor.
    /// - Parameter environment: variables added to those of this process.
    /// - Throws: `POSIXError` from the system.
    init(
        _ executable: URL, _ arguments: [String], environment: [String: String] = [:], folder: URL, output: URL
    ) throws {
        var actions = unsafe posix_spawn_file_actions_t(), attributes = posix_spawnattr_t()
        var none = sigset_t(), all = sigset_t(), id: pid_t = 0
        let bound = Self.descriptorBound
        let environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
        // SAFETY: each call gets values that live until after it; the system copies what it keeps.
        let error = unsafe Self.withStrings(["env", "-C", folder.path, executable.path] + arguments) { arguments in
            unsafe Self.withStrings(environment) { environment in
                unsafe sigemptyset(&none)
                unsafe sigfillset(&all)
                unsafe posix_spawn_file_actions_init(&actions)
                unsafe posix_spawnattr_init(&attributes)
                defer {
                    unsafe posix_spawn_file_actions_destroy(&actions)
                    unsafe posix_spawnattr_destroy(&attributes)
                }
                unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
                unsafe posix_spawnattr_setsigmask(&attributes, &none)
                unsafe posix_spawnattr_setsigdefault(&attributes, &all)
                unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
                unsafe posix_spawn_file_actions_addopen(&actions, 1, output.path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
                unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
                for descriptor in 3..<bound { unsafe posix_spawn_file_actions_addclose(&actions, descriptor) }
                return unsafe posix_spawn(&id, "/usr/bin/env", &actions, &attributes, arguments, environment)
            }
        }
        guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EIO) }
        self.id = id
        status = Mutex(nil)
    }

    deinit {
        if isRunning { signal(SIGKILL) }
        wait()
    }

    /// True until it has ended.
    var isRunning: Bool { reap(WNOHANG) == nil }

    /// Sends a signal, unless it has ended.
    func signal(_ number: Int32) {
        status.withLock { if $0 == nil { Foundation.kill(id, number) } }
    }

    /// Waits for the end.
    /// - Returns: the exit status; -1 if a signal ended it.
    @discardableResult
    func wait() -> Int32 { reap(0) ?? -1 }

    private func reap(_ options: Int32) -> Int32? {
        status.withLock { status in
            if let status { return status }
            var word: Int32 = 0
            // SAFETY: the call writes one number.
            guard unsafe waitpid(id, &word, options) == id else { return nil }
            status = word & 0x7f == 0 ? word >> 8 & 0xff : -1
            return status
        }
    }

    /// A bound above all descriptors of this process, with room for those opened meanwhile: sockets of the tests would
    /// otherwise stay open in the child.
    private static var descriptorBound: Int32 {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return (names?.compactMap { Int32($0) }.max() ?? 1024) + 64
    }

    private static func withStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        // SAFETY: each copy is freed after the body.
        let copies = unsafe strings.map { unsafe strdup($0) }
        defer { for index in unsafe copies.indices { unsafe free(copies[index]) } }
        return unsafe body(copies + [nil])
    }
}
