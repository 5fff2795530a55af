// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// What the edge enforces on each connection.
struct EdgeRules: Sendable {
    /// The client that sends a request; nil for a stranger. Asked before any memory is spent on the body: a stranger costs
    /// a header and one HMAC.
    var client: @Sendable (Credentials) -> Client? = { _ in .loopback }
    /// The largest body of one request.
    var bodyLimit: ByteCount
    /// From the connection to the end of the first header.
    var headersDeadline: TimeAmount
    /// From the end of a header to the end of its body.
    var requestDeadline: TimeAmount
    /// From the end of a request to the end of its answer.
    var answerDeadline: TimeAmount
    /// From one part of an answer to the next, where an answer may go on for as long as it has parts; nil where
    /// `answerDeadline` ends all of them.
    var partDeadline: TimeAmount?
    /// From the end of an answer to the end of the next header.
    var idleDeadline: TimeAmount
    /// From the beginning of the shutdown to the end of the last answer.
    var shutdownGrace: TimeAmount
    /// From the last answer to the end of the connection, if the client does not close it before.
    var lingerDeadline = TimeAmount.seconds(2)
    /// The most bytes of pipelined requests that wait behind one that is being answered. The socket is not read
    /// meanwhile, so these are what one read brought along.
    var pipelinedBytesLimit = ByteCount.mebibytes(1)
}

extension EdgeRules {
    /// The rules of the data plane.
    init(
        _ http: HTTPConfiguration, shutdown: ShutdownConfiguration,
        client: @escaping @Sendable (Credentials) -> Client? = { _ in .loopback }
    ) {
        self.init(
            client: client, bodyLimit: http.limits.body, headersDeadline: TimeAmount(http.deadlines.headers),
            requestDeadline: TimeAmount(http.deadlines.request), answerDeadline: TimeAmount(http.deadlines.answer),
            idleDeadline: TimeAmount(http.deadlines.idle), shutdownGrace: TimeAmount(shutdown.grace))
    }
}
