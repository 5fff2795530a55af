// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// Somebody else's server, on a port of this machine; it is there once it accepts connections.
struct ListeningProgram: RunningProgram {
    let port: Int
    let program: ChildProgram

    /// How long a server may take to begin.
    private static let patience = Duration.seconds(20)
    private static let pause = Duration.milliseconds(10)

    /// Starts a program by name.
    ///
    /// - Parameter core: the only core it may use; nil for those that this process has.
    static func start(
        _ name: String, _ arguments: [String], port: Int, core: Int? = nil
    ) async throws -> ListeningProgram {
        let path = try InstalledProgram.path(name)
        let program = try ChildProgram(path, arguments, core: core, reading: .standardError)
        let end = ContinuousClock.now + patience
        do {
            while await !FreePort.isTaken(port) {
                guard program.isRunning, ContinuousClock.now < end else {
                    throw ProgramError.notListening(path: path, said: await program.lastWords())
                }
                try await Task.sleep(for: pause)
            }
        } catch {
            await program.stop()
            throw error
        }
        return ListeningProgram(port: port, program: program)
    }

    func stop() async {
        await program.stop()
    }
}

/// Programs of the system.
enum InstalledProgram {
    /// Debian keeps servers outside the usual path.
    private static let servers = ["/usr/local/sbin", "/usr/sbin", "/sbin"]

    /// Where a program lies; a path stays what it is.
    static func path(_ name: String) throws(ProgramError) -> String {
        guard !name.contains("/") else { return name }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let places = (folders + servers).map { "\($0)/\(name)" }
        guard let place = places.first(where: FileManager.default.isExecutableFile) else {
            throw .notInstalled(name)
        }
        return place
    }
}
