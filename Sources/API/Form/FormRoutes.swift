// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import Cryptography
internal import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
internal import NIOCore
package import Receipts
internal import Resilience

/// `POST /api` and `POST /apiencrypted`: the protocol of an existing receipt verification service, whose clients change
/// only the host name.
///
/// The key and the token stand in the body, so they are checked after the body has arrived, and before the receipt in
/// it is read or a cached answer is given.
package struct FormRoutes: Sendable {
    private let verification: VerifyHandler
    private let access: CurrentAccess
    private let wrongCredentials: WrongCredentials
    private let configuration: FormConfiguration
    private let clock: @Sendable () -> Timestamp

    package init(
        verification: VerifyHandler, access: CurrentAccess, wrongCredentials: WrongCredentials,
        _ configuration: FormConfiguration, clock: @escaping @Sendable () -> Timestamp
    ) {
        self.verification = verification
        self.access = access
        self.wrongCredentials = wrongCredentials
        self.configuration = configuration
        self.clock = clock
    }

    /// The routes, which are offered while any client has form keys.
    package var routes: [Route] {
        [
            route("/api") { call in try answer(call, at: "/api") },
            route("/apiencrypted") { call in
                guard let encryption = call.sender.app.encryption else {
                    return try wrongCredentials.refuse(
                        .noEncryptionKey, to: call.sender.client, in: call.context)
                }
                return try answer(call, at: "/apiencrypted").map {
                    $0.encrypted(with: encryption, in: configuration.envelope)
                }
            },
        ]
    }

    /// A request whose key and token are right.
    private struct Call {
        let context: RequestContext
        let access: Access
        let sender: FormAccess
        let form: FormBody
        let body: ReservedBody
    }

    private func answer(_ call: Call, at path: String) throws -> VerifyHandler.Progress {
        let endpoint = FormEndpoint(
            path: path, app: call.sender.app, form: call.form, statuses: configuration.statuses)
        return try verification.answer(call.context, of: call.sender.client, call.access, call.body, at: endpoint)
    }

    private func route(
        _ path: String, _ handler: @escaping @Sendable (Call) throws -> VerifyHandler.Progress
    ) -> Route {
        Route(
            .post, path, authentication: .body, bodyLimit: configuration.bodyLimit,
            problems: { [statuses = configuration.statuses] problem, _ in Reply(form: problem, statuses) },
            isOffered: { access.now.formAuthenticator.hasAccounts }
        ) { context, body in
            guard RequestMediaType.form.accepts(context.header.contentType) else {
                return try wrongCredentials.refuse(.notAForm, in: context)
            }
            let form = FormBody(body.bytes.readableBytesUInt8Span)
            let access = access.now
            let sender: FormAccess
            do throws(FormCredentialFault) {
                sender = try access.formAuthenticator.access(key: form.key.span, token: form.token.span, at: clock())
            } catch {
                return try wrongCredentials.refuse(error, in: context)
            }
            context.record { $0.client = sender.client.name }
            body.reservation?.identify()
            return try handler(Call(context: context, access: access, sender: sender, form: form, body: body))
        }
    }
}

extension Reply {
    /// Creates a problem in the format of the form API. HTTP statuses for which the format has no word stay.
    init(form problem: Problem, _ statuses: FormStatuses) {
        let status: FormAnswer.Status = problem.code == .unauthenticated ? .unauthenticated : .failed
        self = .form(status, problem.detail, statuses)
        fields.append(contentsOf: problem.headerFields)
        if status != .unauthenticated { self.status = problem.status }
        isLast = true
    }

    /// Returns a successful reply with its body encrypted, and any other reply as it is.
    fileprivate func encrypted(with encryption: AESCBCEncryption, in envelope: FormEnvelope) -> Reply {
        let plain = body.bytes
        guard plain.starts(with: FormAnswer.successPrefix) else { return self }
        var text: [UInt8] = []
        Base64.append(encoding: encryption.encrypt(plain.span), to: &text)
        var reply = self
        switch envelope {
        case .text:
            reply.body = ReplyBody(text)
            reply.fields[.contentType] = "text/plain; charset=utf-8"
        case .json:
            let quote = [UInt8(ascii: "\"")]
            reply.body = ReplyBody(quote + text + quote)
        }
        return reply
    }
}

extension Problem {
    /// Has the same text whatever is wrong with the key and the token.
    static let wrongFormCredentials = Problem(.unauthorized, .unauthenticated, "Authentication is incorrect.")

    fileprivate static let noEncryptionKey = Problem(
        .unauthorized, .unauthenticated, "This app has no encryption key: encrypted answers are not set up for it.")
}
