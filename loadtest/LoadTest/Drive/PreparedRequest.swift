// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1

/// A request that is written once and sent often.
struct PreparedRequest: Sendable {
    let head: HTTPRequestHead
    let body: ByteBuffer
}

extension PreparedRequest {
    /// `GET path`.
    ///
    /// - Parameter authority: the host as the URL names it.
    static func get(_ path: String, authority: String = "127.0.0.1") -> PreparedRequest {
        PreparedRequest(
            head: HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: ["Host": authority]),
            body: ByteBuffer())
    }

    /// `POST /v1/verify`.
    ///
    /// - Parameters:
    ///   - receipt: in base64.
    ///   - maximumAge: in seconds; nil leaves it to the gateway.
    ///   - key: of the client, if the gateway knows clients.
    static func verify(
        _ receipt: String, mode: VerifyMode, maximumAge: Int? = nil, key: String? = nil
    ) -> PreparedRequest {
        let age = maximumAge.map { #","max_age":\#($0)"# } ?? ""
        let body = ByteBuffer(string: #"{"receipt":"\#(receipt)","mode":"\#(mode.rawValue)"\#(age)}"#)
        var headers: HTTPHeaders = [
            "Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": String(body.readableBytes),
        ]
        if let key { headers.add(name: "Authorization", value: "Bearer \(key)") }
        return PreparedRequest(
            head: HTTPRequestHead(version: .http1_1, method: .POST, uri: "/v1/verify", headers: headers), body: body)
    }
}
