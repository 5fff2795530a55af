// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import JSON

/// Which trace a request belongs to, as its sender says in `traceparent` (W3C Trace Context,
/// https://www.w3.org/TR/trace-context/ §3.2):
///
/// ```
/// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
/// version    trace-id                     parent-id    trace-flags
/// ```
struct TraceContext: Hashable, Sendable {
    /// 32 lowercase hexadecimal digits, not all of them zero.
    let traceID: String
    /// The sender's span: 16 lowercase hexadecimal digits, not all of them zero.
    let parentID: String

    /// Where the parts of version 00 stand, in bytes.
    private enum Layout {
        static let version = 0..<2
        static let traceID = 3..<35
        static let parentID = 36..<52
        static let flags = 53..<55
        static let dashes = [2, 35, 52]
        static let count = 55
    }

    /// What the header of a request says; nil if it says nothing, nothing valid, or several things.
    init?(_ fields: HTTPFields) {
        let values = fields[values: .traceparent]
        guard values.count == 1 else { return nil }
        self.init(traceparent: values[0])
    }

    /// Reads a value of `traceparent`; nil for one that is to be ignored.
    init?(traceparent text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= Layout.count, Layout.dashes.allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            [Layout.version, Layout.traceID, Layout.parentID, Layout.flags].allSatisfy({ range in
                bytes[range].allSatisfy(\.isLowercaseHexadecimal)
            }), Self.hasLength(bytes)
        else { return nil }
        guard let traceID = Self.identifier(bytes[Layout.traceID]),
            let parentID = Self.identifier(bytes[Layout.parentID])
        else { return nil }
        (self.traceID, self.parentID) = (traceID, parentID)
    }

    /// §3.2.2: version ff is invalid. Version 00 ends with its flags; later ones may go on behind another dash (§4).
    private static func hasLength(_ bytes: [UInt8]) -> Bool {
        switch String(decoding: bytes[Layout.version], as: UTF8.self) {
        case "ff": false
        case "00": bytes.count == Layout.count
        default: bytes.count == Layout.count || bytes[Layout.count] == UInt8(ascii: "-")
        }
    }

    /// §3.2.2.3, §3.2.2.4: all zeros are invalid.
    private static func identifier(_ digits: ArraySlice<UInt8>) -> String? {
        digits.allSatisfy { $0 == UInt8(ascii: "0") } ? nil : String(decoding: digits, as: UTF8.self)
    }
}

extension UInt8 {
    /// Whether it is one of `0123456789abcdef`.
    fileprivate var isLowercaseHexadecimal: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
    }
}

/// What the log lines of one request say of its trace.
struct TraceIDs: Hashable, Sendable {
    /// The trace: 32 lowercase hexadecimal digits.
    let traceID: String
    /// What this gateway does in it: 16 lowercase hexadecimal digits.
    let spanID: String

    /// The trace of the sender, or a new one, and a new span in it.
    init(following context: TraceContext?) {
        traceID = context?.traceID ?? Self.random(words: 2)
        spanID = Self.random(words: 1)
    }

    /// The span that a tracer has begun.
    init(span: TraceContext) {
        (traceID, spanID) = (span.traceID, span.parentID)
    }

    /// Never all zeros.
    private static func random(words: Int) -> String {
        ASCII.hexadecimal(
            (0..<words).flatMap { _ in
                let word = UInt64.random(in: 1 ... .max)
                return (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) }
            })
    }
}
