// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The part of a job that never changes.
package struct JobConstants: Hashable, Sendable {
    package let client: String
    package let lane: JobLane
    package let createdAt: Timestamp
    package let deadline: Timestamp

    private static let version: UInt8 = 1

    package init(_ job: VerificationJob) {
        (client, lane, createdAt, deadline) = (job.client, job.lane, job.createdAt, job.deadline)
    }

    /// The stored form, to be encrypted.
    package var storedBytes: [UInt8] {
        var fields = JobFieldWriter()
        fields.byte(Self.version)
        fields.text(client)
        fields.text(lane.rawValue)
        fields.number(createdAt.millisecondsSince1970)
        fields.number(deadline.millisecondsSince1970)
        return fields.bytes
    }

    package init(storedBytes: [UInt8]) throws(JobFormatFault) {
        var fields = try JobFieldReader(storedBytes, version: Self.version)
        (client, lane) = (try fields.text(), try fields.name(of: JobLane.self))
        createdAt = Timestamp(millisecondsSince1970: try fields.number())
        deadline = Timestamp(millisecondsSince1970: try fields.number())
        try fields.end()
    }
}
