// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Resilience
internal import Synchronization

/// A trace and one of its spans: the client's in `traceparent` (W3C Trace Context, https://www.w3.org/TR/trace-context/
/// §3.2), or this gateway's in log lines. Stored as numbers, because most requests need no text of them.
///
/// ```
/// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
/// version    trace-id                     parent-id    trace-flags
/// ```
package struct TraceContext: Hashable, Sendable {
    private let traceHigh: UInt64, traceLow: UInt64
    private let span: UInt64
    /// The flag `sampled` (§3.2.2.5.1): the sender records spans of this trace, or this gateway does.
    package let isSampled: Bool

    /// 32 lowercase hexadecimal digits, not all of them zero.
    package var traceID: String { text(appendTraceID) }
    /// 16 lowercase hexadecimal digits, not all of them zero.
    package var spanID: String { text(appendSpanID) }

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
        let bytes = text.utf8.span, dash = UInt8(ascii: "-")
        guard bytes.count >= Layout.count, bytes[2] == dash, bytes[35] == dash, bytes[52] == dash,
            let version = bytes.hexadecimal(from: Layout.version, digits: 2),
            Self.hasLength(bytes, ofVersion: version), let flags = bytes.hexadecimal(from: Layout.flags, digits: 2),
            let high = bytes.hexadecimal(from: Layout.traceID, digits: 16),
            let low = bytes.hexadecimal(from: Layout.traceID + 16, digits: 16),
            let span = bytes.hexadecimal(from: Layout.parentID, digits: 16)
        else { return nil }
        // §3.2.2.3, §3.2.2.4: all zeros are invalid.
        guard high | low != 0, span != 0 else { return nil }
        (traceHigh, traceLow, self.span) = (high, low, span)
        isSampled = flags & 1 == 1
    }

    /// Continues the client's trace, or starts a new trace, with a new span.
    package init(following sender: TraceContext?, isSampled: Bool = false) {
        let new = NewTraceNumbers.next()
        (traceHigh, traceLow) = sender.map { ($0.traceHigh, $0.traceLow) } ?? (new.high, new.low)
        (span, self.isSampled) = (new.span, isSampled)
    }

    /// The value of `traceparent` that names the span.
    package var traceparent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

    /// A number from 0 to below 1 that belongs to the trace: systems with the same ratio choose the same traces. The
    /// last 56 bits of a trace ID are the random bits (Trace Context level 2, §3.2.2.3).
    var fraction: Double {
        // 53 of these bits: more would be rounded, up to 1.
        Double((traceLow << 8) >> 11) / Double(1 << 53 as UInt64)
    }

    package func appendTraceID(to text: inout [UInt8]) {
        ASCII.append(hexadecimal: traceHigh, to: &text)
        ASCII.append(hexadecimal: traceLow, to: &text)
    }

    package func appendSpanID(to text: inout [UInt8]) { ASCII.append(hexadecimal: span, to: &text) }

    private func text(_ append: (inout [UInt8]) -> Void) -> String {
        var digits: [UInt8] = []
        append(&digits)
        return String(decoding: digits, as: UTF8.self)
    }

    /// §3.2.2: version ff is invalid, version 00 ends with its flags. §4: later versions may continue after a dash.
    private static func hasLength(_ bytes: Span<UInt8>, ofVersion version: UInt64) -> Bool {
        switch version {
        case 0xFF: false
        case 0: bytes.count == Layout.count
        default: bytes.count == Layout.count || bytes[Layout.count] == UInt8(ascii: "-")
        }
    }
}

extension Span<UInt8> {
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

/// Generates trace and span IDs from a counter, mixed with random numbers chosen at the start. They are unique across
/// processes.
private enum NewTraceNumbers {
    private static let high = SplitMixNumbers(), low = SplitMixNumbers(), span = SplitMixNumbers()
    private static let counter = Atomic<UInt64>(0)

    /// Never zero, which means no trace.
    static func next() -> (high: UInt64, low: UInt64, span: UInt64) {
        let place = counter.wrappingAdd(1, ordering: .relaxed).newValue
        return (max(1, high.number(at: place)), max(1, low.number(at: place)), max(1, span.number(at: place)))
    }
}
