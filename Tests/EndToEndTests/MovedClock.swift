// SPDX-License-Identifier: Apache-2.0

import Foundation
import Receipts
import Synchronization
import Testing

/// A clock that a test moves: `now` is for a simulated Apple, `settings` are for gateways, through Tests/WallClock.
final class MovedClock: Sendable {
    private static let file = "clock"

    /// The environment of a program with this clock.
    let settings: [String: String]
    private let step = Mutex<Int64>(0)
    private let folder: ScratchFolder

    init(in folder: ScratchFolder) throws {
        self.folder = folder
        let library = Program("libWallClock.so").url.path
        try #require(FileManager.default.fileExists(atPath: library))
        settings = ["LD_PRELOAD": library, "WALL_CLOCK_STEP": folder.url.appending(path: Self.file).path]
        try move(to: 0)
    }

    var now: Timestamp { .now().advanced(by: .seconds(step.withLock { $0 })) }

    /// Moves the clock to this many seconds after the present.
    func move(to seconds: Int64) throws {
        step.withLock { $0 = seconds }
        try folder.replace(Self.file, with: "\(seconds)")
    }
}
