// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Receipts
internal import Settings

/// `DELETE /v1/cache/transactions/{id}`: purges the cached results of every receipt that names an original transaction.
package struct PurgeRoute: Sendable {
    /// Purges cached results; nil if Apple is not used, so that there are none.
    let invalidation: CacheInvalidation?

    package init(invalidation: CacheInvalidation?) {
        self.invalidation = invalidation
    }

    package static let path = "/v1/cache/transactions/{id}"
    /// The number of digits of an ID, up to that of 64-bit numbers.
    static let digits = 1...20

    package var route: Route {
        Route(.delete, Self.path) { context, _ in try purge(context) }
    }

    /// Answers once the shared store has the purge and this node has applied it. After that no look-up at any node
    /// finds such a result; the near caches of other nodes receive an announcement.
    private func purge(_ context: RequestContext) throws -> Step<Reply, any Error> {
        guard context.client.may.contains(.purge) else { throw Problem.operationNotPermitted }
        let id = context.match.parameter
        guard Self.digits.contains(id.utf8.count), id.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw Problem.invalidTransactionID
        }
        return .wait {
            try await invalidation?.purge(originalTransactionID: id)
            var json = JSONWriter()
            json.object { json in json.member("purged", id) }
            return .done(Reply(json: json.bytes))
        }
    }
}
