// SPDX-License-Identifier: Apache-2.0

internal import Clients
package import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON

extension Route {
    /// `DELETE /v1/cache/transactions/{id}`: purges every cached result that names a transaction, an original
    /// transaction (also by its previous ID) or an app transaction.
    ///
    /// Answers once the shared store has the purge and this node has applied it. After that no look-up at any node
    /// finds such a result; the near caches of other nodes receive an announcement.
    /// - Parameter invalidation: nil if Apple is not used, so that there are no cached results.
    package static func purge(_ invalidation: CacheInvalidation?, charging: RequestCharging) -> Route {
        Route(.delete, RouteLabel.purge.rawValue) { context, _ in
            try charging.admit(context) {
                guard context.client.may.contains(.purge) else { throw Problem.rightMissing(.purge) }
                let id = context.match.parameter
                guard id.isTransactionID else { throw Problem.invalidTransactionID }
                return ChargedWork(bundleID: nil) {
                    try await invalidation?.purge(transactionID: id)
                    return Reply { $0.member("purged", id) }
                }
            }
        }
    }
}
