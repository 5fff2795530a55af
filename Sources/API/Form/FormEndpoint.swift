// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import NIOCore
internal import Receipts

/// One request of the form API whose key and token are right.
struct FormEndpoint: VerifyEndpoint {
    let path: String
    let app: FormApp
    /// The form in the body.
    let form: FormBody
    /// The HTTP statuses of failures.
    let statuses: FormStatuses

    var keepsAnswers: Bool { form.isUsualSpelling }

    /// `FormRoutes` has checked it.
    func check(contentType: String?) {}

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

    /// The first and the repeated reply are equal: the format does not show the provenance.
    func replies(
        to options: VerificationOptions, with answer: Answer, at now: Timestamp
    ) -> (first: Reply, repeated: Reply) {
        let reply = reply(to: options, answer, at: now)
        return (reply, reply)
    }

    private func reply(to options: VerificationOptions, _ answer: Answer, at now: Timestamp) -> Reply {
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

    /// Always false: this API does not end with Apple's.
    func announcesEnd(withAnswerFrom source: Provenance.Source?) -> Bool { false }
}

extension Reply {
    /// Creates an answer with a status of the format itself.
    static func form(_ status: FormAnswer.Status, _ description: String, _ statuses: FormStatuses) -> Reply {
        var reply = Reply(json: FormAnswer.failure(status.rawValue, description))
        if statuses == .same { reply.status = .init(code: status.rawValue) }
        return reply
    }

    /// Creates an answer with a status of Apple's.
    fileprivate static func form(_ status: VerifyReceiptStatus, _ description: String) -> Reply {
        Reply(json: FormAnswer.failure(status.code, description))
    }
}
