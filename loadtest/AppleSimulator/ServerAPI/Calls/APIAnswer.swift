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
        APIAnswer(HTTPAnswer(contentType: "application/json", body: ByteBuffer(json: writeMembers)))
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
        let body = ByteBuffer(json: { json in
            json.member("errorCode", error.code)
            json.member("errorMessage", error.message)
        })
        let retry = error.retryAfter.map { [ScenarioPhase.HeaderField(name: "Retry-After", value: String($0))] }
        return APIAnswer(
            HTTPAnswer(
                status: HTTPResponseStatus(statusCode: error.httpStatus), contentType: "application/json",
                headers: retry ?? [], body: body),
            outcome: "error_\(error.code)")
    }
}

/// An error of the API: `{"errorCode": …, "errorMessage": …}`.
struct APIError: Error, Hashable, Sendable {
    let code: Int
    let message: String
    /// The UNIX milliseconds of the next try, for 4290000.
    var retryAfter: Int64?

    private init(_ code: Int, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Creates an error with Apple's text, if the code is listed below.
    init(code: Int) {
        self = Self.all.first { $0.code == code } ?? APIError(code, "An unknown error occurred.")
    }

    /// The first three digits of the code.
    var httpStatus: Int { code / 10_000 }
}

extension APIError {
    static let badRequest = APIError(4_000_000, "Bad request.")
    static let invalidRevision = APIError(4_000_005, "Invalid request revision.")
    static let invalidTransactionID = APIError(4_000_006, "Invalid transaction id.")
    static let invalidOriginalTransactionID = APIError(4_000_008, "Invalid original transaction id.")
    static let invalidExtendByDays = APIError(4_000_009, "Invalid extend by days value.")
    static let invalidExtendReasonCode = APIError(4_000_010, "Invalid extend reason code.")
    static let invalidRequestIdentifier = APIError(4_000_011, "Invalid request identifier.")
    static let startDateTooFarInPast = APIError(4_000_012, "Start date is earlier than the allowed start date.")
    static let startDateAfterEndDate = APIError(4_000_013, "Start date is after end date.")
    static let invalidPaginationToken = APIError(4_000_014, "Invalid pagination token.")
    static let invalidStartDate = APIError(4_000_015, "Invalid start date.")
    static let invalidEndDate = APIError(4_000_016, "Invalid end date.")
    static let paginationTokenExpired = APIError(4_000_017, "Pagination token is expired.")
    static let invalidNotificationType = APIError(4_000_018, "Invalid notification type or subtype.")
    static let multipleFilters = APIError(4_000_019, "Multiple filters supplied.")
    static let invalidTestNotificationToken = APIError(4_000_020, "Invalid test notification token.")
    static let invalidSort = APIError(4_000_021, "Invalid sort.")
    static let invalidProductType = APIError(4_000_022, "Invalid product type.")
    static let invalidProductID = APIError(4_000_023, "Invalid product id.")
    static let invalidSubscriptionGroup = APIError(4_000_024, "Invalid subscription group identifier.")
    static let invalidInAppOwnershipType = APIError(4_000_026, "Invalid in-app ownership type.")
    static let emptyStorefronts = APIError(4_000_027, "Empty list of storefront country codes.")
    static let invalidStorefront = APIError(4_000_028, "Invalid storefront country code.")
    static let invalidRevoked = APIError(4_000_030, "Invalid revoked.")
    static let invalidStatus = APIError(4_000_031, "Invalid status.")
    static let invalidCustomerConsented = APIError(4_000_035, "Invalid customer consented.")
    static let invalidDeliveryStatus = APIError(4_000_036, "Invalid delivery status.")
    static let invalidSampleContentProvided = APIError(4_000_041, "Invalid sample content provided.")
    static let notConsumable = APIError(4_000_043, "Transaction is not a consumable.")
    static let typeNotSupported = APIError(4_000_047, "The transaction type is not supported.")
    static let appTransactionIDNotSupported = APIError(4_000_048, "App transaction id is not supported here.")
    static let invalidAppAccountToken = APIError(
        4_000_183, "Invalid request. The app account token field must be a valid UUID.")
    static let familyTransaction = APIError(
        4_000_185, "Invalid request. Family Sharing transactions aren't supported by this endpoint.")
    static let notOriginalTransactionID = APIError(
        4_000_187, "Invalid request. The transaction ID provided is not an original transaction ID.")
    static let extensionIneligible = APIError(4_030_004, "Subscription is not eligible for an extension.")
    static let extensionMaximum = APIError(4_030_005, "Subscription already had the maximum number of extensions.")
    static let familyExtensionIneligible = APIError(
        4_030_007, "Subscriptions obtained through Family Sharing can't be extended.")
    static let accountNotFound = APIError(4_040_001, "Account not found.")
    static let appNotFound = APIError(4_040_003, "App not found.")
    static let originalTransactionIDNotFound = APIError(4_040_005, "Original transaction id not found.")
    static let notificationURLNotFound = APIError(4_040_007, "No App Store Server Notification URL found.")
    static let testNotificationNotFound = APIError(4_040_008, "Test notification not found.")
    static let extensionRequestNotFound = APIError(4_040_009, "Subscription extension request not found.")
    static let transactionIDNotFound = APIError(4_040_010, "Transaction id not found.")
    static let appTransactionNotFound = APIError(4_040_019, "App transaction does not exist for the customer.")
    static let rateLimitExceeded = APIError(4_290_000, "Rate limit exceeded.")
    static let unknownError = APIError(5_000_000, "An unknown error occurred.")

    private static let all = ofTransactions + ofMessaging
    private static let ofTransactions = [
        badRequest, APIError(4_000_002, "Invalid app identifier."), invalidRevision, invalidTransactionID,
        invalidOriginalTransactionID, invalidExtendByDays, invalidExtendReasonCode, invalidRequestIdentifier,
        startDateTooFarInPast, startDateAfterEndDate, invalidPaginationToken, invalidStartDate, invalidEndDate,
        paginationTokenExpired, invalidNotificationType, multipleFilters, invalidTestNotificationToken, invalidSort,
        invalidProductType, invalidProductID, invalidSubscriptionGroup, invalidInAppOwnershipType, emptyStorefronts,
        invalidStorefront, invalidRevoked, invalidStatus, invalidCustomerConsented, invalidDeliveryStatus,
        invalidSampleContentProvided, notConsumable, typeNotSupported, appTransactionIDNotSupported,
        invalidAppAccountToken, familyTransaction, notOriginalTransactionID, extensionIneligible, extensionMaximum,
        familyExtensionIneligible, accountNotFound, APIError(4_040_002, "Account not found. Please try again."),
        appNotFound, APIError(4_040_004, "App not found. Please try again."), originalTransactionIDNotFound,
        APIError(4_040_006, "Original transaction id not found. Please try again."), notificationURLNotFound,
        testNotificationNotFound, extensionRequestNotFound, transactionIDNotFound, appTransactionNotFound,
        rateLimitExceeded, unknownError, APIError(5_000_001, "An unknown error occurred. Please try again."),
    ]
}

// MARK: - Retention Messaging

extension APIError {
    static let invalidImage = APIError(4_000_161, "Invalid image.")
    static let headerTooLong = APIError(4_000_162, "The header is too long.")
    static let bodyTooLong = APIError(4_000_163, "The body is too long.")
    static let invalidLocale = APIError(4_000_164, "Invalid locale.")
    static let altTextTooLong = APIError(4_000_175, "The alternative text is too long.")
    static let invalidPerformanceTest = APIError(4_000_211, "Invalid performance test request.")
    static let invalidRequestID = APIError(4_000_212, "Invalid request id.")
    static let invalidRealtimeURL = APIError(4_000_215, "Invalid realtime URL.")
    static let invalidImageSize = APIError(4_000_216, "Invalid image size.")
    static let tooManyBulletPoints = APIError(4_000_218, "Too many bullet points.")
    static let maximumImages = APIError(4_030_014, "The maximum number of images is reached.")
    static let maximumMessages = APIError(4_030_016, "The maximum number of messages is reached.")
    static let messageNotApproved = APIError(4_030_017, "The message is not approved.")
    static let imageNotApproved = APIError(4_030_018, "The image is not approved.")
    static let imageInUse = APIError(4_030_019, "The image is in use.")
    static let imageNotFound = APIError(4_040_014, "Image not found.")
    static let messageNotFound = APIError(4_040_015, "Message not found.")
    static let performanceTestNotFound = APIError(4_040_018, "Performance test run not found.")
    static let defaultMessageNotFound = APIError(4_040_020, "Default message not found.")
    static let realtimeURLNotFound = APIError(4_040_021, "Realtime URL not found.")
    static let imageExists = APIError(4_090_000, "An image with this identifier already exists.")
    static let messageExists = APIError(4_090_001, "A message with this identifier already exists.")

    fileprivate static let ofMessaging = [
        invalidImage, headerTooLong, bodyTooLong, invalidLocale, altTextTooLong, invalidPerformanceTest,
        invalidRequestID, invalidRealtimeURL, invalidImageSize, tooManyBulletPoints, maximumImages, maximumMessages,
        messageNotApproved, imageNotApproved, imageInUse, imageNotFound, messageNotFound, performanceTestNotFound,
        defaultMessageNotFound, realtimeURLNotFound, imageExists, messageExists,
    ]
}
