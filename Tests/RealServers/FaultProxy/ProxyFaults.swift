// SPDX-License-Identifier: Apache-2.0

/// The faults that a proxy injects; none by default.
public struct ProxyFaults: Hashable, Sendable {
    /// The direction of bytes.
    public enum Direction: Hashable, Sendable {
        /// From the client to the server.
        case requests
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
    var latency = Duration.zero
    /// The directions in which nothing passes. Bytes that arrive wait until this is lifted.
    var stalled: Set<Direction> = []
    /// The maximum size of the pieces that are passed on; nil leaves pieces unchanged.
    var slice: Int?
    /// The end of each connection, once this many bytes of answers passed since it was set.
    var ending: Ending?
    var answerBytesBeforeEnding = 0

    /// Delays each piece.
    public static func latency(_ latency: Duration) -> ProxyFaults { ProxyFaults(latency: latency) }

    /// Blocks these directions.
    public static func stall(_ directions: Set<Direction> = [.requests, .answers]) -> ProxyFaults {
        ProxyFaults(stalled: directions)
    }

    /// Splits everything into small pieces.
    public static func slice(_ bytes: Int) -> ProxyFaults { ProxyFaults(slice: bytes) }

    /// Ends connections early.
    public static func end(_ ending: Ending, afterAnswerBytes bytes: Int) -> ProxyFaults {
        ProxyFaults(ending: ending, answerBytesBeforeEnding: bytes)
    }
}
