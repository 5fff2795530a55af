// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import HTTPServer
internal import HTTPTypes

extension Problem {
    static let invalidIdempotencyKey: Problem = {
        let range = IdempotencyKey.Limits.characters
        return Problem(
            .badRequest, .invalidIdempotencyKey,
            "Idempotency-Key must occur once, with \(range.lowerBound) to \(range.upperBound) visible ASCII characters."
        )
    }()

    static let idempotencyKeyReused = Problem(
        .unprocessableContent, .idempotencyKeyReused,
        "This Idempotency-Key belongs to another request. Use a new key for each request.")

    static let tooManyIdempotencyKeys = Problem(
        .unprocessableContent, .tooManyIdempotencyKeys,
        "This request waits under \(JobRules.Limits.keys) other keys. Repeat it with one of them, or without a key.")

    static let verificationNotFound = Problem(
        .notFound, .notFound, "This client has no deferred verification of this ID, or its result is no longer kept.")

    static let tooManyJobsOfClient: Problem = {
        var problem = Problem(
            .tooManyRequests, .quotaExceeded,
            "This client has as many waiting verifications as it may have. Retry later.",
            headerFields: [.retryAfter: "60"])
        problem.violatedPolicies = ["deferred_verifications"]
        return problem
    }()

    static let tooManyJobs = Problem(
        .serviceUnavailable, .overloaded,
        "As many verifications wait as the gateway may store. Retry later.",
        headerFields: [.retryAfter: "60"])
}
