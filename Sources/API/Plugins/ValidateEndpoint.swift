// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import NIOCore
internal import Receipts

/// `POST /v1/validate`: the validation server of cordova-plugin-purchase, for App Store purchases.
///
/// The plugin drops every answer whose HTTP status is not 200, also with `ok: false`. It trusts the entry of a product that
/// was bought last, and reads its end, not the reason of its cancellation. An answer replaces the collection of the earlier
/// answer with its `id`.
struct ValidateEndpoint: ForeignEndpoint {
    enum Limits {
        /// The age of a history that replaces the plugin's collection. A history is cached for one of the customer's
        /// purchases, and an older one lacks what the customer bought since, beside that purchase.
        static let historyAge: Duration = .seconds(60)
    }

    var path: String { PluginProtocol.cordova.path }
    var mediaType: RequestMediaType? { .json }

    func read(_ body: ByteBuffer) throws -> VerifyInput {
        let bytes = body.readableBytesUInt8Span
        let fields = try ValidateRequestBody(decoding: bytes)
        let evidence = try fields.evidence.decoded(in: bytes, from: fields.evidenceField)
        var options = VerificationOptions()
        options.expectations.bundleID = fields.bundleID
        if case .jws = evidence { (options.wantsHistory, options.maximumAge) = (true, Limits.historyAge) }
        return .request(VerificationRequest(.evidence(evidence), options: options))
    }

    func reply(to options: VerificationOptions, with answer: Answer, at now: Timestamp) -> Reply {
        switch answer.verdict {
        case .genuine: ValidatedPurchases(answer, named: options.expectations.bundleID, at: now).reply
        case .rejected(let rejection): .invalid(.invalidPayload, .badRequest, rejection.explanation)
        case .undecided: .invalid(.connectionFailed, .serviceUnavailable, answer.verdict.explanation ?? "")
        }
    }
}

/// The codes of the plugin's validation servers. The plugin gives a meaning of its own to one of them only, for an expired
/// subscription, and prefers purchases that are marked as expired.
enum ValidatorCode: Int {
    case invalidPayload = 6_778_001
    /// Apple, or the gateway's store, did not answer.
    case connectionFailed = 6_778_002
    case internalError = 6_778_005
    case needMoreData = 6_778_006
}

extension Reply {
    /// Creates an answer without purchases. Its code and message stand in two places: for versions of the plugin up to 11,
    /// and from 12 on.
    /// - Parameter status: the status in the body.
    static func invalid(_ code: ValidatorCode, _ status: HTTPResponse.Status, _ message: String) -> Reply {
        Reply { json in
            json.member("ok", false)
            json.member("status", status.code)
            json.member("code", code.rawValue)
            json.member("message", message)
            json.object("data") { json in
                json.member("code", code.rawValue)
                json.object("error") { $0.member("message", message) }
            }
        }
    }

    /// Creates the answer for a problem. What is wrong with the evidence is an answer of its own, with HTTP status 200, so
    /// that the plugin shows its message. Other problems keep their status: another request may succeed.
    init(validating problem: Problem) {
        let code: ValidatorCode =
            switch problem.status.code {
            case 400 where problem.fault == JSONFault.Rule.missingField.name: .needMoreData
            case 429, 502, 503, 504: .connectionFailed
            case 500...: .internalError
            default: .invalidPayload
            }
        self = .invalid(code, problem.status, problem.detailForApps)
        guard ![.invalidBody, .appNotPermitted].contains(problem.code) else { return }
        fields.append(contentsOf: problem.headerFields)
        status = problem.status
    }
}
