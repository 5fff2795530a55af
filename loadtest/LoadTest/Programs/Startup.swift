// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Reads where a program listens from what it says.
enum Startup {
    /// How long a program may take to begin.
    private static let patience = Duration.seconds(60)

    /// Stops a program that does not say everything in time.
    ///
    /// - Parameter read: takes the next line, and returns what was looked for once it is complete.
    static func wait<Place>(
        for program: ChildProgram, at path: String, read: (String) -> Place?
    ) async throws -> Place {
        let watchdog = Task {
            try await Task.sleep(for: patience)
            await program.stop()
        }
        defer { watchdog.cancel() }
        var last = ""
        for await line in program.lines {
            if let place = read(line) { return place }
            last = line
        }
        await program.stop()
        try Task.checkCancellation()
        throw ProgramError.notListening(path: path, said: last)
    }
}
