// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// `receipt-loadtest apple` in a process of its own, on free ports of this machine.
struct RunningSimulator: RunningProgram {
    let productionURL: String
    let sandboxURL: String
    private let program: ChildProgram

    /// Starts the simulator with the authority of the default seed, and waits until it listens.
    static func start(scenario: String) async throws -> RunningSimulator {
        let arguments = ["apple", "--scenario", scenario]
        let program = try ChildProgram(ThisProgram.path, arguments, reading: .standardOutput)
        var urls: [Substring: String] = [:]
        let places = try await Startup.wait(for: program, at: ThisProgram.path) { line -> [Substring: String]? in
            let words = line.split(separator: " ")
            if words.count == 2 { urls[words[0]] = String(words[1]) }
            return urls.count == 2 ? urls : nil
        }
        return RunningSimulator(
            productionURL: places["production"] ?? "", sandboxURL: places["sandbox"] ?? "", program: program)
    }

    func stop() async {
        await program.stop()
    }
}
