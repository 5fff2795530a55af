// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import NIOCore
internal import Receipts

/// One request of the form API whose media type, key and token are right. This API does not end with Apple's.
struct FormEndpoint: ForeignEndpoint {
    let path: String
    let app: FormApp
    let form: FormBody
    let statuses: FormStatuses

    /// `FormRoutes` has checked it.
    var mediaType: RequestMediaType? { nil }
    var keepsAnswers: Bool { form.isUsualSpelling }

    /// Reads the receipt. The reply is Apple's answer, if Apple gives any; without Apple's answer the request does not
    /// fail.
    func read(_ body: ByteBuffer) -> VerifyInput {
        do throws(FormReceiptFault) {
            let receipt = try form.receiptBytes(in: body.readableBytesUInt8Span)
            var options = VerificationOptions()
            options.mode = .appleFirst
            options.expectations.bundleID = app.bundleID
            options.sentSecret = app.sharedSecret
            return .request(VerificationRequest(.evidence(Evidence(receipt: receipt)), options: options))
        } catch {
            return .reply(.form(.malformedOrTemporary, "\(error)."))
        }
    }

    func reply(to options: VerificationOptions, with answer: Answer, at now: Timestamp) -> Reply {
        switch answer.verdict {
        case .rejected(.rule(.bundleIDMismatch)):
            .form(.foreignApp, "The receipt belongs to another app.", statuses)
        case .rejected(.rule(let rule)): .form(rule.appleStatus, rule.explanation)
        case .rejected(.accountNotFound): .form(.accountNotFound, VerifyReceiptStatus.accountNotFound.explanation)
        // Only `POST /v1/verify` takes transaction IDs and accounts.
        case .rejected(.unknownTransaction), .rejected(.otherAccount):
            .form(.failed, "The answer has no receipt.", statuses)
        case .undecided(let reason):
            .form(.failed, "There is no answer now (\(reason.rawValue)). Try again later.", statuses)
        case .genuine: genuine(options, answer, at: now)
        }
    }

    private func genuine(_ options: VerificationOptions, _ answer: Answer, at now: Timestamp) -> Reply {
        guard !answer.isLapsed(at: now) else {
            return .form(.subscriptionExpired, VerifyReceiptStatus.subscriptionExpired.explanation)
        }
        if let json = answer.upstreamBody.flatMap({ FormAnswer.success(from: $0.span) }) {
            return Reply(body: ReplyBody(json), from: answer.provenance)
        }
        guard let rebuilt = answer.rebuilt(to: options, at: now), let json = FormAnswer.success(from: rebuilt.body.span)
        else { return .form(.failed, "The answer has no receipt.", statuses) }
        return Reply(body: ReplyBody(json), from: answer.provenance, rebuilding: rebuilt.members)
    }
}

extension Reply {
    static func form(_ status: FormAnswer.Status, _ description: String, _ statuses: FormStatuses) -> Reply {
        var reply = form(status.rawValue, description)
        if statuses == .same { reply.status = .init(code: status.rawValue) }
        return reply
    }

    fileprivate static func form(_ status: VerifyReceiptStatus, _ description: String) -> Reply {
        form(status.code, description)
    }

    static func form(_ status: Int, _ description: String) -> Reply {
        Reply { json in
            json.member("status", status)
            json.member("description", description)
        }
    }
}

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

    /// Returns the answer for a genuine receipt. `latest_receipt_info` stands in `receipt` and beside it: clients of
    /// this format look for it in either place.
    /// - Parameter body: a body of `verifyReceipt` that was parsed before, or written here.
    /// - Returns: nil if the body has no `receipt`.
    static func success(from body: Span<UInt8>) -> [UInt8]? {
        guard let members = JSONMembers(of: body), let receipt = members["receipt"] else { return nil }
        return JSONWriter.object(reservingCapacity: 2 * body.count + 128) { json in
            json.member("status", Status.valid.rawValue)
            json.member("description", "Receipt valid")
            json.value("environment", members["environment"], of: body)
            json.key("receipt")
            json.receipt(body.extracting(receipt), latest: members["latest_receipt_info"], of: body)
            for name in ["latest_receipt_info", "latest_receipt", "pending_renewal_info"] {
                json.value(name, members[name], of: body)
            }
        }
    }
}

extension JSONWriter {
    /// Writes a member whose value is a part of another JSON text, or nothing for nil.
    fileprivate mutating func value(_ name: String, _ range: Range<Int>?, of text: Span<UInt8>) {
        guard let range else { return }
        key(named: name)
        members(text.copy(range)[...])
    }

    /// Writes the receipt with the latest transactions as its last member, unless it has such a member.
    fileprivate mutating func receipt(_ receipt: Span<UInt8>, latest: Range<Int>?, of text: Span<UInt8>) {
        let members = JSONMembers(of: receipt)
        object { json in
            if let inner = members?.all { json.members(receipt.copy(inner)[...]) }
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
