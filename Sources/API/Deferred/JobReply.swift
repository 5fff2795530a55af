// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Receipts

extension Reply {
    /// Creates the answer about a job: 202 with the time to come again while it waits, else 200.
    init(_ job: VerificationJob, isDurable: Bool, at now: Timestamp) {
        self.init(json: job.json(isDurable: isDurable))
        fields[.cacheControl] = "no-store"
        guard job.status == .waiting else { return }
        status = .accepted
        fields[.retryAfter] = String(job.secondsToNextAttempt(at: now))
    }

    /// Creates the answer to a request whose job has ended: the answer that is kept.
    init(answerOf job: VerificationJob) {
        self.init(json: job.result.json)
        fields[.cacheControl] = "no-store"
        fields[.contentLocation] = job.location
    }
}

extension VerificationJob {
    enum Limits {
        /// The longest ID that is looked up.
        static let idBytes = 64
        /// The seconds after which a client may come again.
        static let retryAfter: ClosedRange<Int64> = 1...60
    }

    var location: String { "/v1/verifications/\(id)" }

    func json(isDurable: Bool) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: result.json.count + 512)
        json.object { json in
            json.member("id", id)
            json.member("status", status.rawValue)
            json.member("created_at", createdAt)
            json.member("deadline", deadline)
            json.member("attempts", attempts)
            json.member("next_attempt_at", nextAttempt)
            json.member("durable", isDurable)
            json.key("answer")
            json.value(result.json)
        }
        return json.bytes
    }

    fileprivate func secondsToNextAttempt(at now: Timestamp) -> Int64 {
        let range = Limits.retryAfter
        let left = nextAttempt.map { now.duration(to: $0).components.seconds + 1 } ?? range.upperBound
        return min(max(left, range.lowerBound), range.upperBound)
    }
}
