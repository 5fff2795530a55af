// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The faults that a proxy injects; none by default.
public struct Toxics: Hashable, Sendable {
    /// The direction of bytes.
    public enum Direction: Hashable, Sendable {
        /// From the client to the server.
        case questions
        /// From the server to the client.
        case answers
    }

    /// The premature end of a connection.
    public enum Ending: Hashable, Sendable {
        /// With FIN, in the middle of the data.
        case truncation
        /// With RST.
        case reset
    }

    /// The delay of each piece.
    public var latency = Duration.zero
    /// The directions in which nothing passes. Bytes that arrive wait until this is lifted.
    public var stalled: Set<Direction> = []
    /// The maximum size of the pieces that are passed on; nil leaves pieces unchanged.
    public var slice: Int?
    /// The end of each connection, once this many bytes of answers passed since it was set.
    public var ending: (how: Ending, afterAnswerBytes: Int)? {
        get { end.map { ($0.how, $0.afterAnswerBytes) } }
        set { end = newValue.map { End(how: $0.how, afterAnswerBytes: $0.afterAnswerBytes) } }
    }

    private struct End: Hashable {
        let how: Ending
        let afterAnswerBytes: Int
    }

    private var end: End?

    /// Creates toxics without any fault.
    public init() {}

    /// Delays each piece.
    public static func latency(_ latency: Duration) -> Toxics {
        var toxics = Toxics()
        toxics.latency = latency
        return toxics
    }

    /// Blocks these directions.
    public static func stall(_ directions: Set<Direction> = [.questions, .answers]) -> Toxics {
        var toxics = Toxics()
        toxics.stalled = directions
        return toxics
    }

    /// Splits everything into small pieces.
    public static func slice(_ bytes: Int) -> Toxics {
        var toxics = Toxics()
        toxics.slice = bytes
        return toxics
    }

    /// Ends connections early.
    public static func end(_ how: Ending, afterAnswerBytes bytes: Int) -> Toxics {
        var toxics = Toxics()
        toxics.ending = (how, bytes)
        return toxics
    }
}
