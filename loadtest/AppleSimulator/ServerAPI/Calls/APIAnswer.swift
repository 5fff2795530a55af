// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import NIOCore
internal import NIOHTTP1
internal import Receipts

/// The answers of the App Store Server API.
extension StoreAnswer {
    /// Creates the answer to a call that succeeded, with a body of JSON.
    static func json(_ writeMembers: (inout JSONWriter) -> Void) -> StoreAnswer {
        StoreAnswer(contentType: "application/json", body: ByteBuffer(json: writeMembers))
    }

    /// Creates the answer to a call that succeeded, without a body.
    static func empty(_ status: HTTPResponseStatus = .ok) -> StoreAnswer {
        StoreAnswer(status: status, contentType: "application/json")
    }

    /// The answer to a call without a valid token, as plain text.
    static var unauthenticated: StoreAnswer {
        .text(.unauthorized, "Unauthenticated\n\nRequest ID: \(CorrelationKey.next()).0.0")
    }

    /// - Parameters:
    ///   - code: a code in place of the error's own code.
    ///   - date: the time of the next try, for 4290000.
    static func error(_ error: APIError, code: Int? = nil, retryAt date: Timestamp? = nil) -> StoreAnswer {
        let code = code ?? error.code
        var answer = json { json in
            json.member("errorCode", code)
            json.member("errorMessage", error.message)
        }
        // The status is the first three digits of the code.
        answer.status = HTTPResponseStatus(statusCode: code / 10_000)
        answer.outcome = "error_\(code)"
        if let date { answer.headers = [.init(name: "Retry-After", value: String(date.millisecondsSince1970))] }
        return answer
    }
}

/// An error of the API: `{"errorCode": …, "errorMessage": …}`. The raw value is the code and Apple's text.
enum APIError: String, Error, CaseIterable {
    case badRequest = "4000000 Bad request."
    case invalidAppIdentifier = "4000002 Invalid app identifier."
    case invalidRevision = "4000005 Invalid request revision."
    case invalidTransactionID = "4000006 Invalid transaction id."
    case invalidOriginalTransactionID = "4000008 Invalid original transaction id."
    case invalidExtendByDays = "4000009 Invalid extend by days value."
    case invalidExtendReasonCode = "4000010 Invalid extend reason code."
    case invalidRequestIdentifier = "4000011 Invalid request identifier."
    case startDateTooFarInPast = "4000012 Start date is earlier than the allowed start date."
    case startDateAfterEndDate = "4000013 Start date is after end date."
    case invalidPaginationToken = "4000014 Invalid pagination token."
    case invalidStartDate = "4000015 Invalid start date."
    case invalidEndDate = "4000016 Invalid end date."
    case paginationTokenExpired = "4000017 Pagination token is expired."
    case invalidNotificationType = "4000018 Invalid notification type or subtype."
    case multipleFilters = "4000019 Multiple filters supplied."
    case invalidTestNotificationToken = "4000020 Invalid test notification token."
    case invalidSort = "4000021 Invalid sort."
    case invalidProductType = "4000022 Invalid product type."
    case invalidProductID = "4000023 Invalid product id."
    case invalidSubscriptionGroup = "4000024 Invalid subscription group identifier."
    case invalidInAppOwnershipType = "4000026 Invalid in-app ownership type."
    case emptyStorefronts = "4000027 Empty list of storefront country codes."
    case invalidStorefront = "4000028 Invalid storefront country code."
    case invalidRevoked = "4000030 Invalid revoked."
    case invalidStatus = "4000031 Invalid status."
    case invalidCustomerConsented = "4000035 Invalid customer consented."
    case invalidDeliveryStatus = "4000036 Invalid delivery status."
    case invalidSampleContentProvided = "4000041 Invalid sample content provided."
    case notConsumable = "4000043 Transaction is not a consumable."
    case typeNotSupported = "4000047 The transaction type is not supported."
    case appTransactionIDNotSupported = "4000048 App transaction id is not supported here."
    case invalidAppAccountToken = "4000183 Invalid request. The app account token field must be a valid UUID."
    case familyTransaction = "4000185 Invalid request. Family Sharing transactions aren't supported by this endpoint."
    case notOriginalTransactionID =
        "4000187 Invalid request. The transaction ID provided is not an original transaction ID."
    case extensionIneligible = "4030004 Subscription is not eligible for an extension."
    case extensionMaximum = "4030005 Subscription already had the maximum number of extensions."
    case familyExtensionIneligible = "4030007 Subscriptions obtained through Family Sharing can't be extended."
    case accountNotFound = "4040001 Account not found."
    case accountNotFoundRetryable = "4040002 Account not found. Please try again."
    case appNotFound = "4040003 App not found."
    case appNotFoundRetryable = "4040004 App not found. Please try again."
    case originalTransactionIDNotFound = "4040005 Original transaction id not found."
    case originalTransactionIDNotFoundRetryable = "4040006 Original transaction id not found. Please try again."
    case notificationURLNotFound = "4040007 No App Store Server Notification URL found."
    case testNotificationNotFound = "4040008 Test notification not found."
    case extensionRequestNotFound = "4040009 Subscription extension request not found."
    case transactionIDNotFound = "4040010 Transaction id not found."
    case appTransactionNotFound = "4040019 App transaction does not exist for the customer."
    case rateLimitExceeded = "4290000 Rate limit exceeded."
    case unknownError = "5000000 An unknown error occurred."
    case unknownErrorRetryable = "5000001 An unknown error occurred. Please try again."

    // Retention Messaging
    case invalidImage = "4000161 Invalid image."
    case headerTooLong = "4000162 The header is too long."
    case bodyTooLong = "4000163 The body is too long."
    case invalidLocale = "4000164 Invalid locale."
    case altTextTooLong = "4000175 The alternative text is too long."
    case invalidPerformanceTest = "4000211 Invalid performance test request."
    case invalidRequestID = "4000212 Invalid request id."
    case invalidRealtimeURL = "4000215 Invalid realtime URL."
    case invalidImageSize = "4000216 Invalid image size."
    case tooManyBulletPoints = "4000218 Too many bullet points."
    case maximumImages = "4030014 The maximum number of images is reached."
    case maximumMessages = "4030016 The maximum number of messages is reached."
    case messageNotApproved = "4030017 The message is not approved."
    case imageNotApproved = "4030018 The image is not approved."
    case imageInUse = "4030019 The image is in use."
    case imageNotFound = "4040014 Image not found."
    case messageNotFound = "4040015 Message not found."
    case performanceTestNotFound = "4040018 Performance test run not found."
    case defaultMessageNotFound = "4040020 Default message not found."
    case realtimeURLNotFound = "4040021 Realtime URL not found."
    case imageExists = "4090000 An image with this identifier already exists."
    case messageExists = "4090001 A message with this identifier already exists."

    private static let codeDigits = 7

    var code: Int { Int(rawValue.prefix(Self.codeDigits)) ?? 0 }

    var message: String { String(rawValue.dropFirst(Self.codeDigits + 1)) }
}
