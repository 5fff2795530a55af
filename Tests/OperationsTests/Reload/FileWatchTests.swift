// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Clients
@testable import Settings

/// The timing of reloads; each check is a value.
struct FileWatchTests {
    private static func state(_ number: Int64) -> FileSignature {
        FileSignature(device: 1, inode: 1, size: number, changed: number)
    }

    /// The states of a file at each check after it was read in state 1, and the expected decision.
    private static let stories: [(String, [Int64?], [Bool])] = [
        ("nothing happens", [1, 1, 1], [false, false, false]),
        ("it changes, and stays", [2, 2], [false, true]),
        ("it is being written", [2, 3, 4, 4], [false, false, false, true]),
        ("it changes back", [2, 1, 1], [false, false, false]),
        ("it is missing for a moment", [nil, 1, 1], [false, false, false]),
        ("it is missing for a moment, and differs when it is back", [nil, 2, 2], [false, false, true]),
        ("it is gone", [nil, nil], [false, true]),
    ]

    @Test(arguments: stories)
    func `a file is read again once it has changed and stayed the same for a check`(
        story: String, checks: [Int64?], isTime: [Bool]
    ) {
        var watch = FileWatch(read: ["file": Self.state(1)])
        let told = checks.map { watch.check(["file": $0.map(Self.state)]) }
        #expect(told == isTime, "\(story)")
    }

    @Test func `two changed files are read when both are stable`() {
        var watch = FileWatch(read: ["pepper": Self.state(1), "clients": Self.state(1)])
        let told = [(2, 1), (2, 2), (2, 2)].map { pepper, clients in
            watch.check(["pepper": Self.state(pepper), "clients": Self.state(clients)])
        }
        #expect(told == [false, false, true])
    }

    @Test func `a file that appears is read`() {
        var watch = FileWatch(read: ["file": nil])
        let told = [1, 1].map { watch.check(["file": Self.state($0)]) }
        #expect(told == [false, true])
    }
}
