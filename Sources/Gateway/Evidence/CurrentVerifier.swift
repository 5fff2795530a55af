// SPDX-License-Identifier: Apache-2.0

package import Receipts
internal import Synchronization

/// The verifier currently in force. Each request reads it once, so that its evidence and Apple's answer are verified
/// under the same roots.
///
/// What was verified is cached with its verifier: verified chains in `ReceiptVerifier`, signed items in `LocalVerifier`. So
/// a change of the roots leaves nothing behind, and a request in flight caches nothing for later requests.
package final class CurrentVerifier: Sendable {
    private let current: Mutex<LocalVerifier>
    private let onTrust: @Sendable (TrustStore) -> Void

    /// - Parameters:
    ///   - items: keeps the signed items verified lately.
    ///   - onTrust: receives the trusted roots, now and before each change.
    package init(
        _ receipts: ReceiptVerifier, items: SignedItemCache = SignedItemCache(maximumBytes: 0),
        onTrust: @escaping @Sendable (TrustStore) -> Void = { _ in }
    ) {
        current = Mutex(LocalVerifier(receipts, items: items))
        self.onTrust = onTrust
        onTrust(receipts.trustStore)
    }

    /// The verifier for work that begins now.
    package var now: ReceiptVerifier { local.receipts }

    /// The same verifier, for evidence.
    var local: LocalVerifier { current.withLock { $0 } }

    /// Trusts other roots from now on.
    package func trust(_ trustStore: TrustStore) {
        onTrust(trustStore)
        let earlier = local, next = earlier.trusting(trustStore)
        current.withLock { $0 = next }
        // Here and not under the lock, which each verification takes, nor at the end of the last request that has it: tens
        // of thousands of items take milliseconds.
        earlier.forgetItems()
    }
}
