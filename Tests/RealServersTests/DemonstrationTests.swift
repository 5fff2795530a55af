// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealServers
import Testing
import TestSupport

/// A test that fails on purpose, to show what `.ci/test` makes of it (`.ci/demonstration`).
@Suite(.enabled(if: Demonstration.isRequested)) struct DemonstrationTests {
    @Test func `a demonstration fails as requested`() async throws {
        let redis = try await RealServer.redis()
        switch try #require(Demonstration.requested) {
        case .flake: #expect(try Demonstration.isRepetition() == redis.isRunning)
        case .failure: #expect(redis.port == 6379)
        case .crash: Foundation.kill(getpid(), SIGKILL)
        case .crashAgain:
            if try Demonstration.isRepetition() { Foundation.kill(getpid(), SIGKILL) }
            Issue.record("the first failure")
        case .sanitizer: FileHandle.standardError.write(Data("WARNING: ThreadSanitizer: data race\n".utf8))
        case .server:
            let log = try #require(ServerLog.file(of: "gateway"))
            try Data("WARNING: ThreadSanitizer: data race\n".utf8).write(to: log)
        case .hang: try await Task.sleep(for: .seconds(3600))  // Ended by `.ci/test`.
        }
    }
}

private enum Demonstration: String {
    case flake, failure, crash, sanitizer, server, hang
    case crashAgain = "crash-again"

    static let requested = environment("TEST_DEMONSTRATION").flatMap(Self.init)
    static let isRequested = requested != nil

    /// Returns true from the second call on, of whatever process.
    static func isRepetition() throws -> Bool {
        let mark = URL(filePath: try #require(environment("TEST_RESULTS"))).appending(path: "demonstration")
        defer { try? Data().write(to: mark) }
        return FileManager.default.fileExists(atPath: mark.path)
    }

    private static func environment(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }
}
