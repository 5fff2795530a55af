// SPDX-License-Identifier: Apache-2.0

/// One finished piece of work in a trace (https://opentelemetry.io/docs/specs/otel/trace/api/#span).
package struct TraceSpan: Sendable {
    /// The raw values are the numbers of OTLP.
    package enum Kind: Int, Sendable {
        case `internal` = 1
        case server, client, producer, consumer
    }

    let name: String
    let kind: Kind
    let context: TraceContext
    /// The span that caused it; nil for the first span of a trace.
    let parent: TraceContext?
    /// Nanoseconds since 1970.
    let start: Int64
    let end: Int64
    let details: SpanDetails
}

/// The details of a span. Names follow OpenTelemetry's semantic conventions. Values never contain client input, except
/// the request ID.
package struct SpanDetails: Sendable {
    enum Value: Hashable, Sendable {
        case text(String)
        case number(Int)
    }

    private(set) var attributes: [(name: String, value: Value)] = []
    private(set) var isError = false
    /// The spans of other traces that caused this one.
    package var links: [TraceContext] = []

    package init() {}

    /// Adds an attribute; nothing for nil.
    package mutating func set(_ name: String, _ text: String?) {
        if let text { attributes.append((name, .text(text))) }
    }

    package mutating func set(_ name: String, _ number: Int?) {
        if let number { attributes.append((name, .number(number))) }
    }

    /// Marks the span as failed.
    /// - Parameter type: the reason, from a closed set.
    package mutating func fail(_ type: String) {
        set("error.type", type)
        isError = true
    }
}
