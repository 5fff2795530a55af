// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

extension HTTPResponse.Status {
    /// The reason phrase of the status line. Some clients reject an answer without a phrase, so a status that has only its
    /// number, as from Apple, gets the phrase of RFC 9110 §15.
    var phrase: String {
        guard reasonPhrase.isEmpty else { return reasonPhrase }
        return Self.phrases[code] ?? Self.phrases[code / 100 * 100] ?? "Unknown"
    }

    /// RFC 9110 §15: an unknown status counts as the first of its class.
    private static let phrases: [Int: String] = {
        let registered: [HTTPResponse.Status] = [
            .ok, .created, .accepted, .nonAuthoritativeInformation, .noContent, .resetContent, .partialContent,
            .multipleChoices, .movedPermanently, .found, .seeOther, .notModified, .temporaryRedirect,
            .permanentRedirect, .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed, .notAcceptable,
            .proxyAuthenticationRequired, .requestTimeout, .conflict, .gone, .lengthRequired, .preconditionFailed,
            .contentTooLarge, .uriTooLong, .unsupportedMediaType, .rangeNotSatisfiable, .expectationFailed,
            .misdirectedRequest, .unprocessableContent, .tooEarly, .upgradeRequired, .preconditionRequired,
            .tooManyRequests, .requestHeaderFieldsTooLarge, .unavailableForLegalReasons, .internalServerError,
            .notImplemented, .badGateway, .serviceUnavailable, .gatewayTimeout, .httpVersionNotSupported,
            .networkAuthenticationRequired,
        ]
        return Dictionary(uniqueKeysWithValues: registered.map { ($0.code, $0.reasonPhrase) })
    }()
}
