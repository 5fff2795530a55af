// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Synchronization

/// The trace of a request, from the sender's `traceparent` (W3C Trace Context, https://www.w3.org/TR/trace-context/
/// §3.2):
///
/// ```
/// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
/// version    trace-id                     parent-id    trace-flags
/// ```
package struct TraceContext: Hashable, Sendable {
    fileprivate let trace: TraceNumber
    fileprivate let parent: UInt64

    /// 32 lowercase hexadecimal digits, not all of them zero.
    var traceID: String { trace.text }
    /// The sender's span: 16 lowercase hexadecimal digits, not all of them zero.
    var parentID: String { String(hexadecimal: parent) }

    /// The byte offsets of the parts of version 00.
    private enum Layout {
        static let version = 0
        static let traceID = 3
        static let parentID = 36
        static let flags = 53
        static let count = 55
    }

    /// Parses a value of `traceparent`; nil if it must be ignored.
    package init?(traceparent text: String) {
        let bytes = text.utf8.span
        guard bytes.count >= Layout.count, bytes.hasDashes(at: 2, 35, 52),
            let version = bytes.hexadecimal(from: Layout.version, digits: 2),
            Self.hasLength(bytes, ofVersion: version), bytes.hexadecimal(from: Layout.flags, digits: 2) != nil,
            let high = bytes.hexadecimal(from: Layout.traceID, digits: 16),
            let low = bytes.hexadecimal(from: Layout.traceID + 16, digits: 16),
            let parent = bytes.hexadecimal(from: Layout.parentID, digits: 16)
        else { return nil }
        // §3.2.2.3, §3.2.2.4: all zeros are invalid.
        guard high | low != 0, parent != 0 else { return nil }
        trace = TraceNumber(high: high, low: low)
        self.parent = parent
    }

    /// Checks the length. §3.2.2: version ff is invalid. Version 00 ends with its flags; later ones may continue after
    /// a dash (§4).
    private static func hasLength(_ bytes: Span<UInt8>, ofVersion version: UInt64) -> Bool {
        switch version {
        case 0xFF: false
        case 0: bytes.count == Layout.count
        default: bytes.count == Layout.count || bytes[Layout.count] == UInt8(ascii: "-")
        }
    }
}

extension Span<UInt8> {
    fileprivate func hasDashes(at first: Int, _ second: Int, _ third: Int) -> Bool {
        let dash = UInt8(ascii: "-")
        return self[first] == dash && self[second] == dash && self[third] == dash
    }

    /// Parses lower-case hexadecimal digits; nil for other characters.
    fileprivate func hexadecimal(from start: Int, digits: Int) -> UInt64? {
        var number: UInt64 = 0
        for index in start..<start + digits {
            switch self[index] {
            case let digit where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit):
                number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
            case let digit where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(digit):
                number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }
}

private struct TraceNumber: Hashable, Sendable {
    let high: UInt64, low: UInt64

    /// 32 lowercase hexadecimal digits.
    var text: String { String(hexadecimal: high) + String(hexadecimal: low) }
}

extension String {
    /// 16 lowercase hexadecimal digits.
    fileprivate init(hexadecimal number: UInt64) {
        var digits: [UInt8] = []
        ASCII.append(hexadecimal: number, to: &digits)
        self.init(decoding: digits, as: UTF8.self)
    }
}

/// The trace and span IDs in a request's log lines. Stored as numbers, because most requests need no text of them.
package struct TraceIDs: Hashable, Sendable {
    private let trace: TraceNumber
    private let span: UInt64

    /// The trace ID: 32 lowercase hexadecimal digits.
    package var traceID: String { trace.text }
    /// The span ID of this gateway: 16 lowercase hexadecimal digits.
    package var spanID: String { String(hexadecimal: span) }

    /// Continues the sender's trace, or starts a new one, with a new span.
    package init(following context: TraceContext?) {
        let new = NewTraceNumbers.next()
        trace = context?.trace ?? new.trace
        span = new.span
    }

    /// Uses the span a tracer has begun.
    package init(span: TraceContext) {
        trace = span.trace
        self.span = span.parent
    }

    package func appendTraceID(to text: inout [UInt8]) {
        ASCII.append(hexadecimal: trace.high, to: &text)
        ASCII.append(hexadecimal: trace.low, to: &text)
    }

    package func appendSpanID(to text: inout [UInt8]) {
        ASCII.append(hexadecimal: span, to: &text)
    }
}

/// Generates trace and span IDs from a counter, mixed with random numbers chosen at the start. They are unique across
/// processes and need no system call. They are no secrets: the next can be computed from enough of them.
private enum NewTraceNumbers {
    private static let high = Start(), low = Start(), span = Start()
    private static let counter = Atomic<UInt64>(0)

    static func next() -> (trace: TraceNumber, span: UInt64) {
        let number = counter.wrappingAdd(1, ordering: .relaxed).newValue
        return (TraceNumber(high: high.mixed(number), low: low.mixed(number)), span.mixed(number))
    }

    /// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014), which maps each count to
    /// a different number.
    private struct Start {
        private let first = UInt64.random(in: .min ... .max)

        /// Never zero, which means no trace.
        func mixed(_ count: UInt64) -> UInt64 {
            var number = first &+ count &* 0x9E37_79B9_7F4A_7C15
            number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
            number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
            return max(1, number ^ (number >> 31))
        }
    }
}
