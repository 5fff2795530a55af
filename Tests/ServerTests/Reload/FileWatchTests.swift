// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Settings

/// When files are read again; the looks are values here.
struct FileWatchTests {
    private static func state(_ number: Int64) -> FileSignature {
        FileSignature(device: 1, inode: 1, size: number, changed: number)
    }

    /// What is seen at each look, of one file that was read in state 1; and whether each look says that it is time.
    private static let stories: [(String, [Int64?], [Bool])] = [
        ("nothing happens", [1, 1, 1], [false, false, false]),
        ("it changes, and stays", [2, 2], [false, true]),
        ("it is being written", [2, 3, 4, 4], [false, false, false, true]),
        ("it changes back", [2, 1, 1], [false, false, false]),
        ("it is away for a moment", [nil, 1, 1], [false, false, false]),
        ("it is away for a moment, and another when it is back", [nil, 2, 2], [false, false, true]),
        ("it is gone", [nil, nil], [false, true]),
    ]

    @Test(arguments: stories)
    func `a file is read again once it has changed and stayed the same for a look`(
        story: String, looks: [Int64?], isTime: [Bool]
    ) {
        var watch = FileWatch(read: ["file": Self.state(1)])
        let told = looks.map { watch.look(["file": $0.map(Self.state)]) }
        #expect(told == isTime, "\(story)")
    }

    @Test func `of two files that change, the second is waited for as well`() {
        var watch = FileWatch(read: ["pepper": Self.state(1), "clients": Self.state(1)])
        let told = [(2, 1), (2, 2), (2, 2)].map { pepper, clients in
            watch.look(["pepper": Self.state(pepper), "clients": Self.state(clients)])
        }
        #expect(told == [false, false, true])
    }

    @Test func `what was not there, and appears, is read`() {
        var watch = FileWatch(read: ["file": nil])
        let told = [1, 1].map { watch.look(["file": Self.state($0)]) }
        #expect(told == [false, true])
    }
}
