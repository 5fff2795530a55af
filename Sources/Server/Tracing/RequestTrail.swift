// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Logging
internal import Tracing

/// Whose work is being done: by this the log lines and spans of one request find together, also those that are written
/// far from it, by the connection to Apple or to Redis.
struct RequestTrail: Sendable {
    /// The request that the current task works for.
    @TaskLocal static var current: RequestTrail?

    /// The request's identifier.
    let requestID: RequestID
    /// Its header.
    let header: any SentHeader
    /// Where it is noted what becomes of it.
    let outcome: RequestOutcome

    /// What log lines say of its trace. A trace begins here if the sender began none; but only when somebody wants to
    /// know, for most requests are answered before anybody does.
    var ids: TraceIDs {
        outcome.traceIDs { TraceIDs(following: TraceContext(header)) }
    }

    /// Does work for this request.
    func follow<Value>(_ work: () throws -> Value) rethrows -> Value {
        try Self.$current.withValue(self) {
            guard let span = outcome.span else { return try work() }
            return try InstrumentationContext.$current.withValue(span.context, operation: work)
        }
    }

    /// Does work for this request, waiting as long as it takes.
    func follow<Value>(_ work: () async throws -> Value) async rethrows -> Value {
        try await Self.$current.withValue(self) {
            guard let span = outcome.span else { return try await work() }
            return try await InstrumentationContext.$current.withValue(span.context, operation: work)
        }
    }
}

extension Logger.MetadataProvider {
    /// Says whose request a line belongs to, if it belongs to one.
    static let requestTrail = Logger.MetadataProvider {
        guard let trail = RequestTrail.current else { return [:] }
        let ids = trail.ids
        return ["request_id": "\(trail.requestID.text)", "trace_id": "\(ids.traceID)", "span_id": "\(ids.spanID)"]
    }
}
