// SPDX-License-Identifier: Apache-2.0

internal import Redis
internal import Telemetry

/// Redis with a span for each exchange of a request that has spans.
struct TracedCommands: RedisCommands {
    let redis: any RedisCommands

    func send(_ commands: [RedisCommand]) async -> RedisResults {
        guard TraceScope.current != nil else { return await redis.send(commands) }
        let operation = commands.operation
        return await TraceScope.span(operation, .client) {
            await redis.send(commands)
        } describe: { results, details in
            details.set("db.system.name", "redis")
            details.set("db.operation.name", operation)
            details.set("db.operation.batch.size", commands.count > 1 ? commands.count : nil)
            details.set("receipt_gateway.keys", commands.first?.keyPrefix)
            let outcomes = results.map { StoreCommandOutcome($0) }
            if let fault = outcomes.first(where: { $0 != .ok }) { details.fail(fault.rawValue) }
        }
    }
}

extension [RedisCommand] {
    /// The name of the operation: for several commands at once with `PIPELINE` before it, or alone if they differ.
    fileprivate var operation: String {
        let names = Set(map(\.description))
        let name = names.count == 1 ? names.first : nil
        return [count > 1 ? "PIPELINE" : nil, name].compactMap(\.self).joined(separator: " ")
    }
}
