// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// What has to be known of an answer to tell whether it may be given again to the same question.
public struct CachedAnswer: Sendable {
    /// The answer holds until then.
    private let freshUntil: Timestamp
    /// When its verdict was reached.
    private let verifiedAt: Timestamp
    /// Out of date once what the answer is made of may have changed.
    private let version: InvalidationVersion?
    /// Whether it tells of an app. A rejection tells of none.
    private let tellsOfApp: Bool
    /// The app that it tells of; nil if the evidence names none.
    private let bundleID: String?

    /// What is to be remembered of an answer; nil if it must not be given again.
    public init?(_ answer: Answer, at now: Timestamp) {
        guard now < answer.freshUntil else { return nil }
        freshUntil = answer.freshUntil
        verifiedAt = answer.provenance.verifiedAt
        version = answer.version
        tellsOfApp = answer.subject != nil
        bundleID = answer.subject?.bundleID
    }

    /// Whether it is fresh at `now`, not older than the question accepts, and made of nothing that changed.
    public func holds(for options: VerificationOptions, at now: Timestamp) -> Bool {
        now < freshUntil && version?.isCurrent ?? true
            && verifiedAt.isAccepted(at: now, maximumAge: options.maximumAge)
    }

    /// Throws `.appNotPermitted` unless the client may know of the app that the answer is about.
    public func checkApp(for caller: Caller) throws(GatewayError) {
        guard tellsOfApp else { return }
        try caller.check(mayAskAbout: bundleID)
    }
}

extension Answer {
    /// The answer as it is when it is given again.
    public var again: Answer {
        var again = self
        again.provenance.cache = .near
        again.cacheStatus = .hit(freshUntil: cacheStatus?.freshUntil ?? freshUntil)
        return again
    }
}
