// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Receipts

/// The JSON body of `POST /v1/verify`. Every fault names the field, the broken rule and the position.
struct VerifyRequestBody: Sendable {
    /// `receipt`: base64, left in the body.
    var receipt: JSONText
    /// `device_identifier`: the expected device, as sent.
    var deviceIdentifier: JSONText?
    /// The other fields.
    var options = VerificationOptions()

    /// The names of the fields in JSON.
    enum Field: String, CaseIterable, Hashable, Sendable {
        case receipt
        case bundleID = "bundle_id"
        case mode
        case maximumAge = "max_age"
        case excludesOldTransactions = "exclude_old_transactions"
        case latestReceipt = "latest_receipt"
        case appVersion = "app_version"
        case deviceIdentifier = "device_identifier"
    }

    enum Limits {
        /// The maximum bytes of a text; Apple's bundle identifiers and versions stay far below this.
        static let textBytes = 256
        /// A year, in seconds; the gateway keeps nothing longer.
        static let maximumAgeSeconds: Int64 = 31_536_000
    }
}

// MARK: - Decoding

extension VerifyRequestBody {
    /// Reads a body in one pass.
    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes)
        var seen: Set<Field> = []
        self.init(receipt: JSONText(range: 0..<0, isEscaped: false))
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let field = try Self.field(named: key, in: reader)
            do throws(JSONFault) {
                let isFirst = seen.insert(field).inserted
                guard isFirst else { throw JSONFault(.duplicateField, at: key.range.lowerBound) }
                try read(field, from: &reader)
            } catch {
                throw error.inField(field.rawValue)
            }
        }
        try reader.endDocument()
        guard seen.contains(.receipt) else {
            throw JSONFault(.missingField, field: Field.receipt.rawValue, at: reader.position)
        }
    }

    private static func field(named key: JSONText, in reader: borrowing JSONReader) throws(JSONFault) -> Field {
        let name = try reader.value(of: key, maximumBytes: Limits.textBytes)
        guard let field = Field(rawValue: name) else {
            throw JSONFault(.unknownField, field: String(name.prefix(64)), at: key.range.lowerBound)
        }
        return field
    }

    private mutating func read(_ field: Field, from reader: inout JSONReader) throws(JSONFault) {
        switch field {
        case .receipt: receipt = try reader.string()
        case .bundleID: options.expectations.bundleID = try reader.shortText()
        case .mode: options.mode = try reader.mode()
        case .maximumAge: options.maximumAge = try reader.age()
        case .excludesOldTransactions: options.excludesOldTransactions = try reader.boolean()
        case .latestReceipt: options.wantsLatestReceipt = try reader.boolean()
        case .appVersion: options.expectations.applicationVersion = try reader.shortText()
        case .deviceIdentifier: deviceIdentifier = try reader.shortString()
        }
    }
}

extension JSONReader {
    fileprivate mutating func shortText() throws(JSONFault) -> String {
        let start = position
        let text = try value(of: try string(), maximumBytes: VerifyRequestBody.Limits.textBytes)
        if text.isEmpty { throw JSONFault(.notAccepted("a non-empty text"), at: start) }
        return text
    }

    /// Reads a string within the length of texts, and leaves it in the body.
    fileprivate mutating func shortString() throws(JSONFault) -> JSONText {
        let start = position
        let text = try string()
        guard text.range.count <= VerifyRequestBody.Limits.textBytes else {
            throw JSONFault(.notAccepted("at most \(VerifyRequestBody.Limits.textBytes) bytes long"), at: start)
        }
        return text
    }

    fileprivate mutating func mode() throws(JSONFault) -> Mode {
        let start = position
        guard let mode = Mode(rawValue: try shortText()), mode != .appleFirst else {
            throw JSONFault(.notAccepted("\"auto\", \"local\" or \"apple\""), at: start)
        }
        return mode
    }

    fileprivate mutating func age() throws(JSONFault) -> Duration {
        let start = position
        let range = 0...VerifyRequestBody.Limits.maximumAgeSeconds
        let seconds = try integer()
        guard range.contains(seconds) else {
            throw JSONFault(.notAccepted("between 0 and \(range.upperBound) seconds"), at: start)
        }
        return .seconds(seconds)
    }
}

extension Problem {
    /// Creates the problem for a base64 fault in a field; its position counts inside the text of the field.
    init(_ error: Base64Error, in field: VerifyRequestBody.Field) {
        self.init(.badRequest, .invalidBody, "\"\(field.rawValue)\" \(error)")
        self.field = field.rawValue
        fault = error.fault.rawValue
    }
}
