// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// The data that decides if an answer may be repeated to the same request.
public struct CachedAnswer: Sendable {
    private let freshUntil: Timestamp
    private let verifiedAt: Timestamp
    private let version: InvalidationVersion?
    /// True if the answer is about an app. A rejection is about none.
    private let isAboutApp: Bool
    private let bundleID: String?

    /// Creates the data for an answer; nil if it must not be repeated.
    public init?(_ answer: Answer, at now: Timestamp) {
        guard now < answer.freshUntil else { return nil }
        freshUntil = answer.freshUntil
        verifiedAt = answer.provenance.verifiedAt
        version = answer.version
        isAboutApp = answer.subject != nil
        bundleID = answer.subject?.bundleID
    }

    /// Returns true if the answer is fresh at `now`, accepted by the request, and made of data that has not changed.
    public func holds(for options: VerificationOptions, at now: Timestamp) -> Bool {
        now < freshUntil && version?.isCurrent ?? true
            && verifiedAt.isAccepted(at: now, maximumAge: options.maximumAge)
    }

    /// Throws `.appNotPermitted` unless the client may see answers about the app.
    public func checkApp(for caller: Caller) throws(GatewayError) {
        guard isAboutApp else { return }
        try caller.check(mayUse: bundleID)
    }
}

extension Answer {
    /// The answer in the form in which it is repeated.
    public var repeated: Answer {
        var repeated = self
        repeated.provenance.cache = .near
        repeated.cacheStatus = .hit(freshUntil: cacheStatus?.freshUntil ?? freshUntil)
        return repeated
    }
}
