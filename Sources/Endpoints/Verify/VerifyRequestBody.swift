// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Receipts

/// The JSON object that `POST /v1/verify` takes. Every fault names the field, what is wrong with it, and where.
struct VerifyRequestBody: Hashable, Sendable {
    /// `receipt`: base64, left where it stands in the body.
    var receipt: JSONText
    /// `bundle_id`: the app the receipt must be for.
    var bundleID: String?
    /// `mode`: whom to ask.
    var mode: Mode = .auto
    /// `max_age`: the oldest answer that will do, in seconds.
    var maximumAge: Duration?
    /// `exclude_old_transactions`: only the latest transaction of each subscription.
    var excludesOldTransactions = false
    /// `latest_receipt`: whether the latest receipt is wanted.
    var wantsLatestReceipt = false
    /// `app_version`: the version the receipt must be for.
    var appVersion: String?
    /// `device_identifier`: the device the receipt must be for, as sent.
    var deviceIdentifier: JSONText?

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

    /// The longest of what a field may hold.
    enum Limits {
        /// Apple's bundle identifiers and versions stay far below this.
        static let textBytes = 256
        /// A year, in seconds; nothing in the gateway is kept longer.
        static let maximumAgeSeconds: Int64 = 31_536_000
    }
}

// MARK: - Decoding

extension VerifyRequestBody {
    /// Reads a body from front to back, once.
    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes)
        var partial = Partial()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let field = try Self.field(named: key, in: reader)
            do throws(JSONFault) {
                try partial.read(field, from: &reader, at: key.range.lowerBound)
            } catch {
                throw error.inField(field.rawValue)
            }
        }
        try reader.endDocument()
        self = try partial.complete(at: reader.position)
    }

    private static func field(named key: JSONText, in reader: borrowing JSONReader) throws(JSONFault) -> Field {
        let name = try reader.value(of: key, maximumBytes: Limits.textBytes)
        guard let field = Field(rawValue: name) else {
            throw JSONFault(.unknownField, field: String(name.prefix(64)), at: key.range.lowerBound)
        }
        return field
    }
}

extension VerifyRequestBody {
    /// What has been read so far, and which fields that were.
    private struct Partial {
        private var body = VerifyRequestBody(receipt: JSONText(range: 0..<0, isEscaped: false))
        private var seen: Set<Field> = []

        mutating func read(_ field: Field, from reader: inout JSONReader, at position: Int) throws(JSONFault) {
            guard seen.insert(field).inserted else { throw JSONFault(.duplicateField, at: position) }
            switch field {
            case .receipt: body.receipt = try reader.string()
            case .bundleID: body.bundleID = try reader.shortText()
            case .mode: body.mode = try reader.mode()
            case .maximumAge: body.maximumAge = try reader.age()
            case .excludesOldTransactions: body.excludesOldTransactions = try reader.boolean()
            case .latestReceipt: body.wantsLatestReceipt = try reader.boolean()
            case .appVersion: body.appVersion = try reader.shortText()
            case .deviceIdentifier: body.deviceIdentifier = try reader.shortString()
            }
        }

        func complete(at position: Int) throws(JSONFault) -> VerifyRequestBody {
            guard seen.contains(.receipt) else {
                throw JSONFault(.missingField, field: Field.receipt.rawValue, at: position)
            }
            return body
        }
    }
}

extension JSONReader {
    fileprivate mutating func shortText() throws(JSONFault) -> String {
        let start = position
        let text = try value(of: try string(), maximumBytes: VerifyRequestBody.Limits.textBytes)
        if text.isEmpty { throw JSONFault(.notAccepted("a text that is not empty"), at: start) }
        return text
    }

    /// A string that is left where it stands, within the length of texts.
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
    /// A base64 fault in a field of the body; its position counts inside the text of the field.
    init(_ error: Base64Error, in field: VerifyRequestBody.Field) {
        self.init(.badRequest, .invalidBody, "\"\(field.rawValue)\" \(error)")
        self.field = field.rawValue
        fault = error.fault.rawValue
    }
}
