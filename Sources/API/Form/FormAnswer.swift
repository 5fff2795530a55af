// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import JSON
internal import Receipts

/// The JSON of the form API: `status`, `description`, and for a valid receipt what Apple's `verifyReceipt` returns.
enum FormAnswer {
    /// The statuses of this format. All others are Apple's.
    enum Status: Int {
        case valid = 0
        case unauthenticated = 401
        /// The receipt is of another app.
        case foreignApp = 403
        case failed = 500
    }

    /// Every successful answer begins with these bytes, and no other does.
    static let successPrefix = Array(#"{"status":0,"#.utf8)

    /// Returns an answer without a receipt.
    static func failure(_ status: Int, _ description: String) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.key("status")
            json.integer(status)
            json.member("description", description)
        }
        return json.bytes
    }

    /// Returns the answer for a genuine receipt. `latest_receipt_info` stands in `receipt` and beside it: clients of
    /// this format look for it in either place.
    /// - Parameter body: a body of `verifyReceipt` that was parsed before, or written here.
    /// - Returns: nil if the body has no `receipt`.
    static func success(from body: Span<UInt8>) -> [UInt8]? {
        guard let members = JSONMembers(of: body), let receipt = members["receipt"] else { return nil }
        var json = JSONWriter(reservingCapacity: 2 * body.count + 128)
        json.object { json in
            json.key("status")
            json.integer(Status.valid.rawValue)
            json.member("description", "Receipt valid")
            json.value("environment", members["environment"], of: body)
            json.key("receipt")
            json.receipt(body.extracting(receipt), latest: members["latest_receipt_info"], of: body)
            for name in ["latest_receipt_info", "latest_receipt", "pending_renewal_info"] {
                json.value(name, members[name], of: body)
            }
        }
        return json.bytes
    }
}

extension JSONWriter {
    /// Writes a member whose value is a part of another JSON text, or nothing for nil.
    fileprivate mutating func value(_ name: String, _ range: Range<Int>?, of text: Span<UInt8>) {
        guard let range else { return }
        key(named: name)
        members(text.extracting(range).copy[...])
    }

    /// Writes the receipt with the latest transactions as its last member, unless it has such a member.
    fileprivate mutating func receipt(_ receipt: Span<UInt8>, latest: Range<Int>?, of text: Span<UInt8>) {
        let members = JSONMembers(of: receipt)
        object { json in
            if let inner = members?.all { json.members(receipt.extracting(inner).copy[...]) }
            let name = "latest_receipt_info"
            if members?[name] == nil { json.value(name, latest, of: text) }
        }
    }
}

/// The members of a JSON object that was parsed before, as ranges of its text.
private struct JSONMembers {
    private var values: [OutsideText: Range<Int>] = [:]
    /// From the first name to the last value; nil for an empty object.
    private(set) var all: Range<Int>?

    init?(of text: Span<UInt8>) {
        var reader = JSONReader(text)
        // The text was parsed before: no value in it exceeds these limits.
        var allowance = JSONSkipAllowance(maximumDepth: JSONValue.Limits().depth, maximumWork: 2 * text.count)
        do throws(JSONFault) {
            try reader.beginObject()
            while let key = try reader.nextKey() {
                let start = reader.position
                try reader.skipValue(within: &allowance)
                values[try reader.text(of: key)] = start..<reader.position
                all = (all?.lowerBound ?? key.range.lowerBound - 1)..<reader.position
            }
        } catch {
            return nil
        }
    }

    subscript(name: String) -> Range<Int>? { values[OutsideText(name)] }
}

extension Span<UInt8> {
    fileprivate var copy: [UInt8] {
        // SAFETY: the pointer does not leave the closure.
        unsafe withUnsafeBufferPointer { unsafe Array($0) }
    }
}
