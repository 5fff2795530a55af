// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How a call to an upstream ended, in the words that the rules of time need. The caller sorts its errors into these.
public enum Outcome: Hashable, Sendable {
    /// The upstream gave an answer that means something, whether or not the asker likes it.
    case success(took: Duration)
    /// The upstream gave no answer, or none that can be used.
    case failure(Failure, took: Duration)
    /// The upstream said that it is asked too often (429). It works; it is to be left alone for a while.
    case throttled
    /// Nothing was learnt about the upstream, for instance because the caller went away.
    case neutral

    /// How bad a failure is.
    public enum Failure: Hashable, Sendable, CaseIterable {
        /// Nobody answered: no connection, no TLS, no answer in time.
        case hard
        /// Somebody answered, but not with anything of use: a 5xx, an unreadable body, a temporary error of its own.
        case soft
    }
}
