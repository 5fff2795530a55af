// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What a proxy does to everything that passes through it; nothing by itself.
public struct Toxics: Hashable, Sendable {
    /// Which way bytes go.
    public enum Direction: Hashable, Sendable {
        /// From who connected to the server.
        case questions
        /// From the server to who connected.
        case answers
    }

    /// How a connection ends before its time.
    public enum Ending: Hashable, Sendable {
        /// In order (FIN), in the middle of what was being said.
        case truncation
        /// With RST.
        case reset
    }

    /// How long each piece waits before it is passed on.
    public var latency = Duration.zero
    /// Where nothing passes. What comes meanwhile waits, and passes once this is lifted.
    public var stalled: Set<Direction> = []
    /// Each piece is passed on in pieces of so many bytes; nil leaves it whole.
    public var slice: Int?
    /// Each connection ends so, once so many bytes of answers passed since this was set.
    public var ending: (how: Ending, afterAnswerBytes: Int)? {
        get { end.map { ($0.how, $0.afterAnswerBytes) } }
        set { end = newValue.map { End(how: $0.how, afterAnswerBytes: $0.afterAnswerBytes) } }
    }

    private struct End: Hashable {
        let how: Ending
        let afterAnswerBytes: Int
    }

    private var end: End?

    /// None.
    public init() {}

    /// Each piece waits.
    public static func latency(_ latency: Duration) -> Toxics {
        var toxics = Toxics()
        toxics.latency = latency
        return toxics
    }

    /// Nothing passes that way, or neither way.
    public static func stall(_ directions: Set<Direction> = [.questions, .answers]) -> Toxics {
        var toxics = Toxics()
        toxics.stalled = directions
        return toxics
    }

    /// Everything comes in small pieces.
    public static func slice(_ bytes: Int) -> Toxics {
        var toxics = Toxics()
        toxics.slice = bytes
        return toxics
    }

    /// Connections end early.
    public static func end(_ how: Ending, afterAnswerBytes bytes: Int) -> Toxics {
        var toxics = Toxics()
        toxics.ending = (how, bytes)
        return toxics
    }
}
