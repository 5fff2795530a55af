// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
internal import NIOCore
package import Receipts
package import Settings

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
            route("/api") { context, access, app, form, body in
                try verification.answer(context, of: app.client, access, body, at: endpoint("/api", app, form))
            },
            route("/apiencrypted") { context, access, app, form, body in
                guard let encryption = app.app.encryption else { throw Problem.noEncryptionKey }
                return try verification.answer(
                    context, of: app.client, access, body, at: endpoint("/apiencrypted", app, form)
                ).map { $0.encrypted(with: encryption, in: configuration.envelope) }
            },
        ]
    }

    private func endpoint(_ path: String, _ access: FormAccess, _ form: FormBody) -> FormEndpoint {
        FormEndpoint(path: path, app: access.app, form: form, statuses: configuration.statuses)
    }

    private typealias Handler =
        @Sendable (
            RequestContext, Access, FormAccess, FormBody, ReservedBody
        ) throws -> VerifyHandler.Progress

    private func route(_ path: String, _ handler: @escaping Handler) -> Route {
        Route(
            .post, path, authentication: .body, bodyLimit: configuration.bodyLimit,
            problems: { [statuses = configuration.statuses] problem, _ in Reply(form: problem, statuses) },
            isOffered: { access.now.formAuthenticator.hasAccounts }
        ) { context, body in
            guard RequestMediaType.form.accepts(context.header.contentType) else { throw Problem.notAForm }
            let form = FormBody(body.bytes.readableBytesUInt8Span)
            let access = access.now
            let found: FormAccess
            do throws(FormCredentialFault) {
                found = try access.formAuthenticator.access(key: form.key.span, token: form.token.span, at: clock())
            } catch {
                return try wrongCredentials.refuse(error, in: context)
            }
            context.record { $0.client = found.client.name }
            return try handler(context, access, found, form, body)
        }
    }
}

extension Reply {
    /// Creates a problem in the format of the form API. HTTP statuses for which the format has no word stay.
    init(form problem: Problem, _ statuses: FormStatuses) {
        let status: FormAnswer.Status = problem.code == .unauthenticated ? .unauthenticated : .failed
        self = .form(status, problem.detail, statuses)
        fields.append(contentsOf: problem.headerFields)
        let hasWord = problem.code == .unauthenticated || problem.code == .internalError
        if !hasWord { self.status = problem.status }
    }

    /// Returns a successful reply with its body encrypted, and any other reply as it is.
    fileprivate func encrypted(with encryption: AESCBCEncryption, in envelope: FormEnvelope) -> Reply {
        guard body.readableBytesView.starts(with: FormAnswer.successPrefix) else { return self }
        var text: [UInt8] = []
        Base64.append(encoding: encryption.encrypt(body.readableBytesUInt8Span), to: &text)
        var reply = self
        switch envelope {
        case .text:
            reply.body = ByteBuffer(bytes: text)
            reply.fields[.contentType] = "text/plain; charset=utf-8"
        case .json:
            let quote = [UInt8(ascii: "\"")]
            reply.body = ByteBuffer(bytes: quote + text + quote)
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
