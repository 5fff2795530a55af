// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

extension JobResult {
    private static let version: UInt8 = 1

    /// The stored form, to be encrypted.
    package var storedBytes: [UInt8] {
        var fields = JobFieldWriter()
        fields.byte(Self.version)
        fields.data(json)
        fields.text(verdict)
        fields.optional(reason) { $0.text($1) }
        fields.flag(isDegraded)
        fields.optional(environment) { $0.text($1.rawValue) }
        fields.optional(bundleID) { $0.text($1) }
        fields.list(originalTransactionIDs) { $0.text($1) }
        return fields.bytes
    }

    package init(storedBytes: [UInt8]) throws(JobFormatFault) {
        var fields = try JobFieldReader(storedBytes, version: Self.version)
        self.init(json: try fields.data(), verdict: try fields.text())
        reason = try fields.optionalText()
        isDegraded = try fields.flag()
        environment = try fields.optional { fields throws(JobFormatFault) in try fields.name(of: Environment.self) }
        bundleID = try fields.optionalText()
        originalTransactionIDs = try fields.list { fields throws(JobFormatFault) in try fields.text() }
        try fields.end()
    }
}
