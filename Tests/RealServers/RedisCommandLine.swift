// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import TestSupport

extension RealServer {
    /// Returns the answer of a Redis through `redis-cli`, with other bytes than UTF-8 replaced; an error is thrown.
    @discardableResult
    public func ask(_ words: String...) throws -> String { try ask(words) }

    /// Returns the answer of a Redis through `redis-cli`, with other bytes than UTF-8 replaced; an error is thrown.
    @discardableResult
    public func ask(_ words: [String]) throws -> String {
        let output = folder.appending(path: "answer-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: output) }
        let process = try ChildProcess(
            try Self.find("redis-cli"), ["-h", "127.0.0.1", "-p", "\(port)", "-e"] + words, folder: folder,
            output: output)
        let status = process.wait()
        let text = String(decoding: try Data(contentsOf: output), as: UTF8.self).trimmingCharacters(in: .newlines)
        guard status == 0 else { throw Fault.refused(words.joined(separator: " "), with: text) }
        return text
    }

    /// Repeats a command until its answer is right.
    public func ask(
        _ words: String..., until isRight: (String) -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + Patience.forEvent
        while true {
            let answer = (try? ask(words)) ?? ""
            if isRight(answer) { return }
            guard ContinuousClock.now < deadline else {
                throw Fault.refused(words.joined(separator: " "), with: answer)
            }
            // The interval of a poll: Redis does not announce its state, and each poll starts a process.
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
