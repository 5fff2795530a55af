// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Which cores this process uses: the first of its own for what is measured, the second for itself.
struct Cores: Hashable, Sendable {
    /// Of this process when it began.
    let all: [Int]

    static let ofThisProcess = Cores(all: RunResult.Environment.current().allowedCores)

    /// Where measured servers run; nil if there is only one core, which all then share.
    var server: Int? { all.count > 1 ? all[0] : nil }
    /// Where load comes from.
    var generator: Int? { all.count > 1 ? all[1] : nil }

    /// Keeps all threads of this process, and those they start, to the generator's core.
    func useGenerators() async throws {
        if let generator { try await use("\(generator)") }
    }

    /// Takes all cores again, for work that is not measured.
    func useAll() async throws {
        if all.count > 1 { try await use(all.map(String.init).joined(separator: ",")) }
    }

    private func use(_ list: String) async throws {
        var finished = try await taskset(list)
        // A thread that ends while all of them are gone through makes it fail.
        for _ in 1..<Self.attempts where finished.status != 0 { finished = try await taskset(list) }
        guard finished.status == 0 else { throw BenchError.notPinned(said: finished.errors) }
    }

    private static let attempts = 5

    private func taskset(_ list: String) async throws -> FinishedProgram {
        try await FinishedProgram.run(
            "taskset", ["--all-tasks", "--cpu-list", "--pid", list, "\(ThisProgram.processIdentifier)"])
    }
}
