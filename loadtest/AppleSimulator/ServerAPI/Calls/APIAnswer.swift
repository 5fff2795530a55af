// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import NIOCore
internal import NIOHTTP1

/// An answer of the API, and the name of its outcome for the statistics.
struct APIAnswer: Sendable {
    let http: HTTPAnswer
    let outcome: String

    private init(_ http: HTTPAnswer, outcome: String? = nil) {
        self.http = http
        self.outcome = outcome ?? "http_\(http.status.code)"
    }

    var planned: PlannedAnswer { PlannedAnswer(http: http, outcome: outcome) }

    /// Creates the answer to a call that succeeded, with a body of JSON.
    static func json(_ writeMembers: (inout JSONWriter) -> Void) -> APIAnswer {
        var json = JSONWriter(reservingCapacity: 4096)
        json.object(writeMembers)
        return APIAnswer(HTTPAnswer(contentType: "application/json", body: ByteBuffer(bytes: json.bytes)))
    }

    /// Creates the answer to a call that succeeded, without a body.
    static func empty(_ status: HTTPResponseStatus = .ok) -> APIAnswer {
        APIAnswer(HTTPAnswer(status: status, contentType: "application/json"))
    }

    static func page(_ status: Int) -> APIAnswer { APIAnswer(.page(status, [])) }

    /// The answer to a call without a valid token, as plain text.
    static var unauthenticated: APIAnswer {
        let text = "Unauthenticated\n\nRequest ID: \(CorrelationKey.next()).0.0\n"
        return APIAnswer(
            HTTPAnswer(
                status: .unauthorized, contentType: "text/plain;charset=UTF-8", body: ByteBuffer(string: text)))
    }

    static func error(_ error: APIError) -> APIAnswer {
        var json = JSONWriter()
        json.object { json in
            json.member("errorCode", error.code)
            json.member("errorMessage", error.message)
        }
        let retry = error.retryAfter.map { [Phase.HeaderField(name: "Retry-After", value: String($0))] }
        return APIAnswer(
            HTTPAnswer(
                status: HTTPResponseStatus(statusCode: error.httpStatus), contentType: "application/json",
                headers: retry ?? [], body: ByteBuffer(bytes: json.bytes)),
            outcome: "error_\(error.code)")
    }
}
