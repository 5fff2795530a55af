// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import Settings

/// The state that all connections of one listener share.
package struct Edge: Sendable {
    let rules: EdgeRules
    let budget: BodyBudget
    /// The stage of the process. While it drains, each answer is the last of its connection.
    let lifecycle: ServerLifecycle
    let pipeline: RequestPipeline
    /// The counters of requests and connections; nil for the admin plane.
    var metrics: EdgeMetrics?
    /// The limits per source address on this listener; nil for none.
    var sources: SourceLimits?

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
    let schedulers = VerificationScheduler.PerEventLoop()
}

extension Edge {
    /// Adds the decoder and the edge handler to an accepted connection.
    func initialize(_ channel: any Channel, limits: HTTPLimits) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let decoder = RequestDecoder(limits)
            try channel.pipeline.syncOperations.addHandlers(
                ByteToMessageHandler(decoder), EdgeHandler(self, reading: decoder))
        }
    }
}
