// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The outcome of a call to an upstream. The caller classifies its errors.
package enum Outcome: Hashable, Sendable {
    /// The upstream gave a meaningful answer, favourable or not.
    case success(took: Duration)
    /// The upstream gave no answer, or none that can be used.
    case failure(Failure, took: Duration)
    /// The upstream rejected too many requests (429). It works, but calls must pause.
    case throttled
    /// Nothing was learnt about the upstream, for instance because the caller left.
    case neutral

    package enum Failure: Hashable, Sendable, CaseIterable {
        /// No answer: no connection, no TLS, no answer in time.
        case hard
        /// An unusable answer: a 5xx, an unreadable body, a temporary error of the upstream.
        case soft
    }
}
