// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// A fault that the simulator sends in place of the correct answer.
enum ServerFault: Hashable, Sendable {
    /// No fault: a pause in a sequence.
    case none
    /// An HTTP status from 400 to 599 with a page of HTML.
    case httpStatus(Int)
    /// 200 with a page of HTML, as on 24 January 2020.
    case html
    case empty
    /// 200 with the first half of the JSON, correctly framed.
    case truncated
    /// The correct answer, at this rate.
    case slowBody(bytesPerSecond: Int)
    /// The connection is reset after half of the body.
    case resetMidBody
    case reset
    case noAnswer
    /// The server uses an invalid certificate. A connection that is already open, or has no TLS, is reset, so that the
    /// client must connect again.
    case tls
    /// 429 with `Retry-After` in milliseconds since 1970, this much later than now.
    case throttled(retryAfter: Duration)
    case receiptStatus(ReceiptStatus)
    /// The correct answer with the name of the other environment.
    case wrongEnvironment
    /// The correct answer with a manipulated value.
    case tampered(Tampering)
    /// The correct answer with another `latest_receipt`, or none.
    case latestReceipt(LatestReceipt)
    /// The correct answer in a content coding (RFC 9110 §8.4.1), even if the client does not accept it.
    case compressed(ContentCoding)

    /// An error of the Server API by its code.
    case serverAPIError(Int)

    /// A `status` from 21000 to 21199, and its additional members.
    struct ReceiptStatus: Hashable, Sendable {
        let status: Int
        /// `is_retryable` or `is-retryable` and its value, spelled as in the scenario.
        var retryable: Retryable?
        /// True if the answer has all members of an answer with status 0.
        var hasReceipt = false
    }

    /// A member that tells the client whether to retry.
    struct Retryable: Hashable, Sendable {
        let name: String
        /// `true`, `false`, `1` or `0`.
        let literal: String
    }

    /// A manipulation between Apple and the client; `latest_receipt` is left as Apple signed it.
    enum Tampering: String, CaseIterable, Hashable, Sendable {
        /// Subscriptions end in 2099.
        case expires2099 = "expires_2099"
        /// The receipt is for another app.
        case otherBundleID = "other_bundle_id"

        static let end = UTCDate(2099, 12, 31, 23, 59, 59)
        static let bundleID = "com.example.other"
    }

    enum LatestReceipt: String, CaseIterable, Hashable, Sendable {
        /// None, though the receipt has subscriptions.
        case missing
        /// Base64 with one character missing.
        case brokenBase64 = "broken_base64"
        /// Five million bytes that begin like a large receipt.
        case junk
        /// Apple's contents, signed by another authority.
        case signedByStranger = "signed_by_stranger"
        /// Signed by Apple for another app.
        case ofOtherApp = "of_other_app"
        /// Signed by Apple a day before the receipt in the request, as if an old answer were sent again.
        case older
    }
}

extension ServerFault {
    init(_ value: YAMLValue) throws(ScenarioError) {
        let choice = try YAMLChoice(value, known: Self.plain.keys.sorted() + Self.withValue)
        if let fault = Self.plain[choice.name] {
            try choice.nothing()
            self = fault
            return
        }
        let value = try choice.required()
        switch choice.name {
        case "http_status": self = .httpStatus(try value.integer(in: 400...599))
        case "slow_body":
            self = .slowBody(bytesPerSecond: try value.integer(in: 1...1_000_000_000))
        case "throttled":
            // A time in the past is allowed, because servers send it.
            self = .throttled(
                retryAfter: .milliseconds(try value.integer(in: -86_400_000...86_400_000)))
        case "server_api_error": self = .serverAPIError(try value.integer(in: 4_000_000...5_999_999))
        case "compressed": self = .compressed(try value.word(as: ContentCoding.self))
        case "latest_receipt":
            self = .latestReceipt(try value.word(as: LatestReceipt.self))
        case "tampered": self = .tampered(try value.word(as: Tampering.self))
        default: self = .receiptStatus(try ReceiptStatus(value))
        }
    }

    private static let plain: [String: ServerFault] = [
        "none": .none, "html": .html, "empty": .empty, "truncated": .truncated, "reset_mid_body": .resetMidBody,
        "reset": .reset, "no_answer": .noAnswer, "tls": .tls, "wrong_environment": .wrongEnvironment,
    ]

    private static let withValue = [
        "compressed", "http_status", "latest_receipt", "receipt_status", "server_api_error", "slow_body",
        "tampered", "throttled",
    ]
}

extension ServerFault.ReceiptStatus {
    /// Reads a number, or `{status: 21104, is-retryable: true, with_receipt: true}`.
    init(_ value: YAMLValue) throws(ScenarioError) {
        let statuses = 21000...21199
        if value.scalar != nil {
            status = try value.integer(in: statuses)
            return
        }
        let spellings = ["is_retryable", "is-retryable"]
        let fields = try YAMLFields(value, known: ["status", "with_receipt"] + spellings)
        status = try fields.required("status").integer(in: statuses)
        hasReceipt = try fields["with_receipt"]?.flag() ?? false
        let present = fields.present(of: spellings)
        guard present.count < 2 else {
            throw ScenarioError(line: fields.line, fault: .contradiction(present[0], present[1]))
        }
        retryable = try present.first.map { name throws(ScenarioError) in
            let literal = try fields[name]?.word(as: RetryableLiteral.self)
            return ServerFault.Retryable(name: name, literal: (literal ?? .false).rawValue)
        }
    }

    private enum RetryableLiteral: String, CaseIterable {
        case `true`, `false`
        case one = "1"
        case zero = "0"
    }
}
