// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Payloads that are no object of JSON, or say a thing twice. All are properly signed.
extension JWSForge {
    static let payloads: [JWSFault] = [
        JWSFault(
            "payload-empty", .rejected(.payloadNotObject), "A genuine signature over nothing.", .payload { _ in [] }),
        JWSFault(
            "payload-is-array", .rejected(.payloadNotObject), "The transaction in a list.",
            .payload { Array("[".utf8) + $0.contents.payload + Array("]".utf8) }),
        JWSFault(
            "payload-is-text", .rejected(.payloadNotObject), "A JSON text in place of an object.",
            .payload { _ in Array("\"transaction\"".utf8) }),
        JWSFault(
            "payload-is-null", .rejected(.payloadNotObject), "`null`.", .payload { _ in Array("null".utf8) }),
        JWSFault(
            "payload-not-json", .rejected(.payloadNotObject), "A property list, as in receipts of iOS 6.",
            .payload { _ in Array("bundle-id = com.example.forge;".utf8) }),
        JWSFault(
            "payload-cut-short", .rejected(.claimMalformed), "An object that never ends.",
            .payload { $0.contents.payload.dropLast() }),
        JWSFault(
            "bytes-after-payload", .rejected(.claimMalformed), "A second object behind the first.",
            .payload { $0.contents.payload + Array("{}".utf8) }),
        JWSFault(
            "payload-in-utf16", .rejected(.claimMalformed), "RFC 8259 §8.1: JSON is UTF-8.",
            .payload { $0.contents.payload.flatMap { [$0, 0] } }),
        JWSFault(
            "payload-of-no-kind", .rejected(.claimMissing), "An object that is nothing Apple's documentation names.",
            .payload { _ in Array(#"{"iss":"forge","iat":1760000000,"signedDate":1760000000123}"#.utf8) }),
        JWSFault(
            "payload-empty-object", .rejected(.claimMissing), "An object without claims.",
            .payload { _ in Array("{}".utf8) }),
        JWSFault(
            "bundle-id-twice", .rejected(.claimDuplicate), "Does the first one count or the last one?",
            .claims { $0 = $0.adding(#""bundleId":"com.example.victim""#) }),
        JWSFault(
            "signed-date-twice", .rejected(.claimDuplicate),
            "The second signing date lies inside the validity of another certificate.",
            .claims { $0 = $0.adding(#""signedDate":1700000000000"#) }),
        JWSFault(
            "unknown-claim-twice", .rejected(.claimDuplicate),
            "RFC 7519 §4: names of claims are unique, also those without a meaning here.",
            .claims { $0 = $0.adding(#""futureClaim":1,"futureClaim":2"#) }),
        JWSFault(
            "bundle-id-twice-one-escaped", .rejected(.claimMalformed),
            "The second name is spelled with a \\u escape: different bytes, the same name.",
            .claims { $0 = $0.adding(#""\u0062undleId":"com.example.victim""#) }),
        JWSFault(
            "thousand-claims", .rejected(.tooManyClaims), "Genuine transactions have about 25 claims.",
            .claims { $0 = $0.adding((0..<1_000).map { "\"c\($0)\":0" }.joined(separator: ",")) }),
        JWSFault(
            "claim-nested-too-deep", .rejected(.claimMalformed),
            "A thousand lists inside each other exhaust the stack of a recursive reader.",
            .claims {
                let nested = String(repeating: "[", count: 1_000) + String(repeating: "]", count: 1_000)
                $0 = $0.adding("\"futureClaim\":\(nested)")
            }),
    ]
}

/// Claims of another type or form, and required claims that are missing.
extension JWSForge {
    static let claims: [JWSFault] = [
        JWSFault(
            "bundle-id-missing", .rejected(.claimMissing), "Without a bundle ID the transaction fits every app.",
            .claims { $0.bundleID = nil }),
        JWSFault(
            "bundle-id-is-number", .rejected(.claimMalformed), "A number in place of a text.",
            .claims { $0.replaceBundleID(with: "7") }),
        JWSFault(
            "bundle-id-is-list", .rejected(.claimMalformed),
            "A list that contains the bundle ID of every app one would like.",
            .claims { $0.replaceBundleID(with: #"["com.example.forge","com.example.victim"]"#) }),
        JWSFault(
            "bundle-id-is-object", .rejected(.claimMalformed), "An object in place of a text.",
            .claims { $0.replaceBundleID(with: #"{"value":"com.example.forge"}"#) }),
        JWSFault(
            "bundle-id-is-boolean", .rejected(.claimMalformed),
            "`true`, which compares equal to every text in some languages.",
            .claims { $0.replaceBundleID(with: "true") }),
        JWSFault(
            "bundle-id-is-null", .rejected(.claimMissing), "`null` means absent.",
            .claims { $0.replaceBundleID(with: "null") }),
        JWSFault(
            "bundle-id-empty", .rejected(.claimMissing), "An empty text names no app.", .claims { $0.bundleID = "" }),
        JWSFault(
            "bundle-id-with-nul", .rejected(.claimMalformed),
            "A C string ends at the NUL, a Swift string does not: two apps for one transaction.",
            .claims { $0.bundleID = "com.example.victim\0.forge" }),
        JWSFault(
            "bundle-id-with-invalid-utf8", .rejected(.claimMalformed),
            "`C3 28` is no character; repairing it would invent an unsigned bundle ID.",
            .payload { $0.contents.payload.replacingFirst("forge", with: [0x61, 0xC3, 0x28, 0x61, 0x61]) }),
        JWSFault(
            "bundle-id-with-lone-surrogate", .rejected(.claimMalformed), "Half of a UTF-16 pair is no character.",
            .claims { $0.replaceBundleID(with: #""com.example.\ud800""#) }),
        JWSFault(
            "transaction-id-missing", .rejected(.claimMissing), "A transaction without its identifier.",
            .claims { $0.transactionID = nil }),
        JWSFault(
            "transaction-id-is-number", .rejected(.claimMalformed),
            "Identifiers are texts: as a double the last digits are lost.",
            .claims {
                $0.transactionID = nil
                $0 = $0.adding(#""transactionId":2000000900000002"#)
            }),
        JWSFault(
            "product-id-missing", .rejected(.claimMissing), "A transaction of no product.",
            .claims { $0.productID = nil }),
        JWSFault(
            "quantity-is-text", .rejected(.claimMalformed), "A number as text.",
            .claims {
                $0.quantity = nil
                $0 = $0.adding(#""quantity":"1""#)
            }),
        JWSFault(
            "quantity-over-64-bits", .rejected(.claimMalformed),
            "2^64 becomes 0 in a reader that drops what does not fit.",
            .claims {
                $0.quantity = nil
                $0 = $0.adding(#""quantity":18446744073709551616"#)
            }),
        JWSFault(
            "expires-date-is-text", .rejected(.claimMalformed),
            "A date as in receipts, where transactions have milliseconds.",
            .claims {
                $0.expiresDate = nil
                $0 = $0.adding(#""expiresDate":"2099-01-01T00:00:00Z""#)
            }),
        JWSFault(
            "is-upgraded-is-number", .rejected(.claimMalformed), "1 in place of `true`.",
            .claims { $0 = $0.adding(#""isUpgraded":1"#) }),
    ]
}

extension TransactionContents {
    fileprivate mutating func replaceBundleID(with json: String) {
        bundleID = nil
        self = adding("\"bundleId\":\(json)")
    }
}

extension [UInt8] {
    fileprivate func replacingFirst(_ text: String, with bytes: [UInt8]) -> [UInt8] {
        guard let range = firstRange(of: Array(text.utf8)) else { return self }
        return self[..<range.lowerBound] + bytes + self[range.upperBound...]
    }
}

/// Signing dates at which the certificates are not valid, and environments that the root may not sign for.
extension JWSForge {
    static let dates: [JWSFault] = [
        JWSFault(
            "signed-date-missing", .rejected(.claimMissing),
            "Without it there is no moment to judge the certificates at.", .claims { $0.signedDate = nil }),
        JWSFault(
            "signed-date-is-text", .rejected(.claimMalformed), "The right number as text.",
            .claims {
                $0.signedDate = nil
                $0 = $0.adding(#""signedDate":"1760000000123""#)
            }),
        JWSFault(
            "signed-date-is-null", .rejected(.claimMissing), "`null` means absent.",
            .claims {
                $0.signedDate = nil
                $0 = $0.adding(#""signedDate":null"#)
            }),
        JWSFault(
            "signed-date-over-64-bits", .rejected(.claimMalformed), "A number of thirty digits.",
            .claims {
                $0.signedDate = nil
                $0 = $0.adding(#""signedDate":176000000012300000000000000000"#)
            }),
        JWSFault(
            "signed-date-in-future", .rejected(.signedDateInFuture),
            "Certificates are judged at a date the payload claims about itself; it must not lie ahead.",
            .claims { $0.signedDate = UTCDate(2035, 12, 31).timestamp }),
        JWSFault(
            "leaf-not-yet-valid", .rejected(.certificateNotYetValid),
            "The leaf became valid after the transaction was signed: it is backdated.",
            .chain { $0.leaf.validity = .init(UTCDate(2025, 12, 1), UTCDate(2027, 12, 1)) }),
        JWSFault(
            "leaf-expired", .rejected(.certificateExpired), "The leaf had expired when the transaction was signed.",
            .chain { $0.leaf.validity = .init(UTCDate(2022, 1, 1), UTCDate(2024, 1, 1)) }),
        JWSFault(
            "intermediate-expired", .rejected(.certificateExpired),
            "The intermediate had expired when the transaction was signed.",
            .chain { $0.intermediate.validity = .init(UTCDate(2015, 1, 1), UTCDate(2020, 1, 1)) }),
        JWSFault(
            "signed-before-leaf", .rejected(.certificateNotYetValid),
            "A signing date of 2013, before any of the certificates.",
            .claims { $0.signedDate = UTCDate(2013, 1, 1).timestamp }),
    ]

    static let environments: [JWSFault] = [
        JWSFault(
            "environment-xcode", .rejected(.environmentNotAllowed),
            "Apple's root does not sign for Xcode; Apple's libraries check no signature there if told so.",
            .claims { $0.environment = "Xcode" }),
        JWSFault(
            "environment-local-testing", .rejected(.environmentNotAllowed),
            "Apple's root does not sign for local tests.", .claims { $0.environment = "LocalTesting" }),
        JWSFault(
            "environment-unknown", .rejected(.environmentUnknown),
            "An environment that Apple's documentation does not name.", .claims { $0.environment = "Staging" }),
        JWSFault(
            "environment-in-small-letters", .rejected(.environmentUnknown), "\"sandbox\" is not how Apple writes it.",
            .claims { $0.environment = "sandbox" }),
        JWSFault(
            "environment-is-number", .rejected(.claimMalformed), "A number in place of a text.",
            .claims {
                $0.environment = nil
                $0 = $0.adding(#""environment":0"#)
            }),
        JWSFault(
            "xcode-transaction", .rejected(.x5cCountWrong), belowOperatorsRoot: .rejected(.anchorUntrusted),
            "Signed like Xcode, with one certificate that any program can make.",
            .text { _ in XcodeTransactionPKI(seed: 1).jws(TransactionContents.xcode) }),
    ]
}
