// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import Settings

/// What all connections of one listener share.
package struct Edge: Sendable {
    /// What is enforced on each connection.
    let rules: EdgeRules
    /// The memory for request bodies.
    let budget: BodyBudget
    /// The stage of the process: while it drains, each answer is its connection's last.
    let lifecycle: ServerLifecycle
    /// Answers requests.
    let pipeline: RequestPipeline
    /// Counts requests and connections; nil for the admin plane.
    var metrics: EdgeMetrics?
    /// The limits for one address on this listener; nil for none.
    var sources: SourceLimits?

    /// Creates the edge of one listener.
    package init(
        rules: EdgeRules, budget: BodyBudget, lifecycle: ServerLifecycle, pipeline: RequestPipeline,
        metrics: EdgeMetrics? = nil, sources: SourceLimits? = nil
    ) {
        self.rules = rules
        self.budget = budget
        self.lifecycle = lifecycle
        self.pipeline = pipeline
        self.metrics = metrics
        self.sources = sources
    }
    /// The computing of each event loop.
    let schedulers = VerificationScheduler.PerEventLoop()
}

extension Edge {
    /// Prepares a connection that was just accepted: the decoder, and behind it the edge.
    func initialize(_ channel: any Channel, limits: RequestParser.Limits) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let decoder = RequestDecoder(limits)
            try channel.pipeline.syncOperations.addHandlers(
                ByteToMessageHandler(decoder), EdgeHandler(self, reading: decoder))
        }
    }
}

extension RequestParser.Limits {
    /// The limits as configured.
    init(_ limits: HTTPLimits) {
        self.init(
            target: limits.target.bytes, field: limits.headerField.bytes, fieldList: limits.headerList.bytes,
            fieldCount: limits.headerFieldCount, body: limits.body)
    }
}
