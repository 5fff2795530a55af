// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What the simulator does instead of answering as Apple does on a good day.
enum ServerFault: Hashable, Sendable {
    /// Nothing: a pause in a sequence.
    case none
    /// An HTTP status from 400 to 599 with a page of HTML.
    case httpStatus(Int)
    /// 200 with a page of HTML, as on 24 January 2020.
    case html
    /// 200 without a body.
    case empty
    /// 200 with the first half of the JSON, correctly framed.
    case truncated
    /// The right answer, so many bytes per second.
    case slowBody(bytesPerSecond: Int)
    /// The connection is reset after half of the body.
    case resetMidBody
    /// The connection is reset before the answer.
    case reset
    /// Nothing is ever sent.
    case noAnswer
    /// The server shows a certificate that does not verify. A connection that is open already, or that has no TLS, is
    /// reset, so that the client has to connect again.
    case tls
    /// 429 with `Retry-After` in milliseconds since 1970, so much later than now.
    case throttled(retryAfter: Duration)
    /// 200 with another `status`.
    case receiptStatus(ReceiptStatus)
    /// The right answer, but for the name of the environment.
    case wrongEnvironment
    /// The right answer with a lie in it.
    case tampered(Tampering)
    /// The right answer with another `latest_receipt`, or none.
    case latestReceipt(LatestReceipt)
    /// The right answer in a content coding (RFC 9110 §8.4.1), whether or not the client takes it.
    case compressed(ContentCoding)

    /// A `status` from 21000 to 21199, and what comes with it.
    struct ReceiptStatus: Hashable, Sendable {
        let status: Int
        /// `is_retryable` or `is-retryable` and its value, as the scenario spells them.
        var retryable: Retryable?
        /// Whether the answer carries everything that an answer with status 0 does.
        var hasReceipt = false
    }

    /// A member that says whether to ask again.
    struct Retryable: Hashable, Sendable {
        let name: String
        /// `true`, `false`, `1` or `0`.
        let literal: String
    }

    /// What somebody between Apple and the client changed; `latest_receipt` is left as Apple signed it.
    enum Tampering: String, CaseIterable, Hashable, Sendable {
        /// Subscriptions end in 2099.
        case expires2099 = "expires_2099"
        /// The receipt is for another app.
        case otherBundleID = "other_bundle_id"
    }

    /// What somebody who is not Apple, or no longer speaks for it, sends as `latest_receipt`.
    enum LatestReceipt: String, CaseIterable, Hashable, Sendable {
        /// None, though the receipt has subscriptions.
        case missing
        /// One character less than base64 has.
        case brokenBase64 = "broken_base64"
        /// Five million bytes that begin as a large receipt does.
        case junk
        /// What Apple would say, signed by another authority.
        case signedByStranger = "signed_by_stranger"
        /// Signed by Apple for another app.
        case ofOtherApp = "of_other_app"
        /// Signed by Apple a day before the receipt that was sent, as if an old answer were sent again.
        case older
    }
}
