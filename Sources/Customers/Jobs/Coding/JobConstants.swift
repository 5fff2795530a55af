// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

/// The part of a job that never changes.
package struct JobConstants: Hashable, Sendable, StoredForm {
    package private(set) var client: String
    package private(set) var lane: JobLane
    package private(set) var createdAt: Timestamp
    package private(set) var deadline: Timestamp

    package init(_ job: VerificationJob) {
        (client, lane, createdAt, deadline) = (job.client, job.lane, job.createdAt, job.deadline)
    }

    package init(storedBytes: [UInt8]) throws(StoredFormFault) {
        (client, lane, createdAt, deadline) = ("", .production, .earliest, .earliest)
        try read(storedBytes)
    }

    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.version(1)
        try form.string(&client)
        try form.word(&lane)
        try form.time(&createdAt)
        try form.time(&deadline)
    }
}
