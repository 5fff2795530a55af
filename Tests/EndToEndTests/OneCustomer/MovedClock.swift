// SPDX-License-Identifier: Apache-2.0

import Foundation
import Receipts
import Synchronization
import Testing

/// A clock that a test moves, for a simulated Apple and, through Tests/WallClock, for gateways.
final class MovedClock: Sendable {
    private static let file = "clock"

    private let step = Mutex<Int64>(0)
    private let folder: ScratchFolder

    init(in folder: ScratchFolder) throws {
        self.folder = folder
        try folder.replace(Self.file, with: "+0")
    }

    var now: Timestamp { .now().advanced(by: .seconds(step.withLock { $0 })) }

    /// Moves the clock to this many seconds after the present.
    func move(to seconds: Int64) throws {
        step.withLock { $0 = seconds }
        try folder.replace(Self.file, with: "+\(seconds)")
    }

    /// The environment of a program with this clock.
    var settings: [String: String] {
        [
            "LD_PRELOAD": Program("libWallClock.so").url.path,
            "WALL_CLOCK_STEP": folder.url.appending(path: Self.file).path,
        ]
    }
}
