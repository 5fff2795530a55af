// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Customers
internal import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Resilience

// The problems of the errors of `Gateway`, `AppStore` and the shared store, and of the routes.

extension GatewayError: ProblemError {
    package var problem: Problem {
        switch self {
        case .appNotPermitted(let bundleID): .appNotPermitted(bundleID)
        case .appMissing:
            .appRequired("\"bundle_id\" is required with \"transaction_id\" unless you have one app.")
        case .serverAPINotConfigured:
            Problem(
                .unprocessableContent, .serverAPINotConfigured,
                "The gateway has no App Store Server API key for this app: server_api in the clients file. Without it only "
                    + "evidence can be verified.")
        case .rateLimited(let admission): .rateLimited(admission)
        case .tooManyInFlight:
            Problem(
                .tooManyRequests, .quotaExceeded, "Concurrency limit exceeded. Retry later.",
                violating: [ClientsFile.LimitBounds.concurrencyName], headerFields: [.retryAfter: "1"])
        }
    }
}

extension ServerAPICallFault: ProblemError {
    package var problem: Problem {
        switch self {
        case .unknownPath: .notFound
        case .wrongMethod(let methods): .methodNotAllowed(allowed: Problem.allowed(methods))
        case .malformedBody(let fault): fault.problem
        case .bodyTooLarge: Problem(.contentTooLarge, .bodyTooLarge, description)
        case .invalidPathParameter(let parameter), .repeatedQueryName(let parameter),
            .invalidQueryValue(let parameter):
            Problem(.badRequest, .invalidCall, description, field: parameter.rawValue)
        case .queryTooLong, .tooManyQueryItems, .malformedQuery, .unknownQueryName, .missingBody, .unexpectedBody:
            Problem(.badRequest, .invalidCall, description)
        }
    }
}

extension StoreUnreachable: ProblemError {
    package var problem: Problem {
        Problem(
            .serviceUnavailable, .storeUnreachable, "The shared store is unreachable. Retry later.",
            headerFields: [.retryAfter: "1"])
    }
}

extension Problem {
    /// Returns the problem of a body without `bundle_id`.
    static func appRequired(_ detail: String) -> Problem {
        Problem(
            .badRequest, .invalidBody, detail, field: "bundle_id", fault: JSONFault.Rule.missingField.name)
    }

    /// Names the app, so that a client with several apps and keys sees which it mixed up; nothing else that was sent.
    fileprivate static func appNotPermitted(_ bundleID: String?) -> Problem {
        let app =
            switch bundleID {
            case nil: "evidence that names no app"
            case let name? where name.isBundleID: "the app \(name)"
            case _?: "this app"
            }
        return Problem(
            .forbidden, .appNotPermitted, "This client is not permitted to use \(app): apps in the clients file.")
    }

    fileprivate static func rateLimited(_ admission: RateAdmission) -> Problem {
        var problem = Problem(
            .tooManyRequests, .quotaExceeded, "Rate limit exceeded. Retry later.",
            violating: admission.policies(where: \.isEnforcedRefusal))
        problem.headerFields[.retryAfter] = admission.retryAfter.map { String(max(1, $0.secondsRoundedUp)) }
        return problem
    }

    static func rightMissing(_ right: Client.Permission) -> Problem {
        Problem(
            .forbidden, .operationNotPermitted,
            "This client needs the right \"\(right.rawValue)\": may in the clients file.")
    }

    static let invalidTransactionID = Problem(
        .badRequest, .invalidTransactionID, "A transaction ID consists of \(TransactionIDForm.description).")

    static func appleRightMissing(_ right: Client.AppleRight) -> Problem {
        Problem(
            .forbidden, .operationNotPermitted,
            "This client needs the right \"\(right.rawValue)\" for this app: apple in the clients file.")
    }

    static let notAnImage = Problem(.unsupportedMediaType, .unsupportedMediaType, "Send the image as image/png.")

    static let notAForm = Problem(
        .unsupportedMediaType, .unsupportedMediaType, "Send the body as application/x-www-form-urlencoded.")

    static let erasureInProgress = Problem(
        .serviceUnavailable, .overloaded,
        "This node is erasing data for this client, or for several others. Retry later.",
        headerFields: [.retryAfter: "10"])

    static let unboundPurchase = Problem(
        .notFound, .notFound,
        "This purchase is bound to no account. Check bundle_id and environment, and send its original transaction ID.")

    // MARK: - Of deferred verifications

    static let invalidIdempotencyKey = Problem(
        .badRequest, .invalidIdempotencyKey,
        "Idempotency-Key must occur once, with \(IdempotencyKey.Limits.characters.lowerBound) to "
            + "\(IdempotencyKey.Limits.characters.upperBound) visible ASCII characters.")

    static let idempotencyKeyReused = Problem(
        .unprocessableContent, .idempotencyKeyReused,
        "This Idempotency-Key belongs to another request. Use a new key for each request.")

    static let tooManyIdempotencyKeys = Problem(
        .unprocessableContent, .tooManyIdempotencyKeys,
        "This request waits under \(JobRules.Limits.keys) other keys. Repeat it with one of them, or without a key.")

    static let verificationNotFound = Problem(
        .notFound, .notFound, "This client has no deferred verification of this ID, or its result is no longer kept.")

    static let tooManyJobsOfClient = Problem(
        .tooManyRequests, .quotaExceeded, "This client has as many waiting verifications as it may have. Retry later.",
        violating: ["deferred_verifications"], headerFields: [.retryAfter: "60"])

    static let tooManyJobs = Problem(
        .serviceUnavailable, .overloaded, "As many verifications wait as the gateway may store. Retry later.",
        headerFields: [.retryAfter: "60"])

    // MARK: - Of signed answers

    static let invalidNonce = Problem(
        .badRequest, .invalidNonce,
        "\(SignatureTerms.nonceField) must occur once, with \(SignatureTerms.Limits.nonce.lowerBound) to "
            + "\(SignatureTerms.Limits.nonce.upperBound) characters of base64url: letters, digits, - and _.")

    // MARK: - Of events

    static let appsRequired = invalidQuery(
        EventsCall.Parameter.bundleID,
        "is required: this client may use any app, or more than \(EventReader.Limits.apps). Name those to read")

    static let invalidCursor = Problem(
        .badRequest, .invalidCursor,
        "This is no cursor of the apps that the request reads. Begin without a cursor, or with after=latest.")

    static let eventsNotStored = Problem(
        .serviceUnavailable, .eventsNotStored,
        "Events would end with this process. Configure Redis, or set gateway.notifications.allow_volatile.",
        fault: "store_volatile", headerFields: [.retryAfter: "60"])

    static let tooManyReadersOfClient = Problem(
        .tooManyRequests, .quotaExceeded,
        "This client already has \(WaitingReaders.Limits.perClient) waiting requests and streams on this node.",
        violating: ["waiting_readers"], headerFields: [.retryAfter: "10"])

    static let tooManyReaders = Problem(
        .serviceUnavailable, .overloaded,
        "This node already has \(WaitingReaders.Limits.total) waiting requests and streams. Retry without wait, or later.",
        headerFields: [.retryAfter: "10"])
}
