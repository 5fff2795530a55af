// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Payloads that are no object of JSON, or say a thing twice. All are properly signed.
extension JWSForge {
    static let payloads: [JWSFault] = [
        .rejected("payload-empty", .payloadNotObject).payload { _ in [] }
            .because("A genuine signature over nothing."),
        .rejected("payload-is-array", .payloadNotObject)
            .payload { Array("[".utf8) + $0.contents.payload + Array("]".utf8) }
            .because("The transaction in a list."),
        .rejected("payload-is-text", .payloadNotObject).payload { _ in Array("\"transaction\"".utf8) }
            .because("A JSON text in place of an object."),
        .rejected("payload-is-null", .payloadNotObject).payload { _ in Array("null".utf8) }
            .because("`null`."),
        .rejected("payload-not-json", .payloadNotObject).payload { _ in Array("bundle-id = com.example.forge;".utf8) }
            .because("A property list, as in receipts of iOS 6."),
        .rejected("payload-cut-short", .claimMalformed).payload { $0.contents.payload.dropLast() }
            .because("An object that never ends."),
        .rejected("bytes-after-payload", .claimMalformed).payload { $0.contents.payload + Array("{}".utf8) }
            .because("A second object behind the first."),
        .rejected("payload-in-utf16", .claimMalformed).payload { $0.contents.payload.flatMap { [$0, 0] } }
            .because("RFC 8259 §8.1: JSON is UTF-8."),
        .rejected("payload-of-no-kind", .claimMissing)
            .payload { _ in Array(#"{"iss":"forge","iat":1760000000,"signedDate":1760000000123}"#.utf8) }
            .because("An object that is nothing Apple's documentation names."),
        .rejected("payload-empty-object", .claimMissing).payload { _ in Array("{}".utf8) }
            .because("An object without claims."),
        .rejected("bundle-id-twice", .claimDuplicate).claims { $0 = $0.adding(#""bundleId":"com.example.victim""#) }
            .because("Does the first one count or the last one?"),
        .rejected("signed-date-twice", .claimDuplicate).claims { $0 = $0.adding(#""signedDate":1700000000000"#) }
            .because("The second signing date lies inside the validity of another certificate."),
        .rejected("unknown-claim-twice", .claimDuplicate).claims { $0 = $0.adding(#""futureClaim":1,"futureClaim":2"#) }
            .because("RFC 7519 §4: names of claims are unique, also those without a meaning here."),
        .rejected("bundle-id-twice-one-escaped", .claimMalformed)
            .claims { $0 = $0.adding(#""\u0062undleId":"com.example.victim""#) }
            .because("The second name is spelled with a \\u escape: different bytes, the same name."),
        .rejected("thousand-claims", .tooManyClaims)
            .claims { $0 = $0.adding((0..<1_000).map { "\"c\($0)\":0" }.joined(separator: ",")) }
            .because("Genuine transactions have about 25 claims."),
        .rejected("claim-nested-too-deep", .claimMalformed)
            .claims {
                let nested = String(repeating: "[", count: 1_000) + String(repeating: "]", count: 1_000)
                $0 = $0.adding("\"futureClaim\":\(nested)")
            }
            .because("A thousand lists inside each other exhaust the stack of a recursive reader."),
    ]
}

/// Claims of another type or form, and required claims that are missing.
extension JWSForge {
    static let claims: [JWSFault] = [
        .rejected("bundle-id-missing", .claimMissing).claims { $0.bundleID = nil }
            .because("Without a bundle ID the transaction fits every app."),
        .rejected("bundle-id-is-number", .claimMalformed).claims { $0.replaceBundleID(with: "7") }
            .because("A number in place of a text."),
        .rejected("bundle-id-is-list", .claimMalformed)
            .claims { $0.replaceBundleID(with: #"["com.example.forge","com.example.victim"]"#) }
            .because("A list that contains the bundle ID of every app one would like."),
        .rejected("bundle-id-is-object", .claimMalformed)
            .claims { $0.replaceBundleID(with: #"{"value":"com.example.forge"}"#) }
            .because("An object in place of a text."),
        .rejected("bundle-id-is-boolean", .claimMalformed).claims { $0.replaceBundleID(with: "true") }
            .because("`true`, which compares equal to every text in some languages."),
        .rejected("bundle-id-is-null", .claimMissing).claims { $0.replaceBundleID(with: "null") }
            .because("`null` means absent."),
        .rejected("bundle-id-empty", .claimMissing).claims { $0.bundleID = "" }
            .because("An empty text names no app."),
        .rejected("bundle-id-with-nul", .claimMalformed).claims { $0.bundleID = "com.example.victim\0.forge" }
            .because("A C string ends at the NUL, a Swift string does not: two apps for one transaction."),
        .rejected("bundle-id-with-invalid-utf8", .claimMalformed)
            .payload { $0.contents.payload.replacingFirst("forge", with: [0x61, 0xC3, 0x28, 0x61, 0x61]) }
            .because("`C3 28` is no character; repairing it would invent an unsigned bundle ID."),
        .rejected("bundle-id-with-lone-surrogate", .claimMalformed)
            .claims { $0.replaceBundleID(with: #""com.example.\ud800""#) }
            .because("Half of a UTF-16 pair is no character."),
        .rejected("transaction-id-missing", .claimMissing).claims { $0.transactionID = nil }
            .because("A transaction without its identifier."),
        .rejected("transaction-id-is-number", .claimMalformed)
            .claims { $0.replace(\.transactionID, by: #""transactionId":2000000900000002"#) }
            .because("Identifiers are texts: as a double the last digits are lost."),
        .rejected("product-id-missing", .claimMissing).claims { $0.productID = nil }
            .because("A transaction of no product."),
        .rejected("quantity-is-text", .claimMalformed).claims { $0.replace(\.quantity, by: #""quantity":"1""#) }
            .because("A number as text."),
        .rejected("quantity-over-64-bits", .claimMalformed)
            .claims { $0.replace(\.quantity, by: #""quantity":18446744073709551616"#) }
            .because("2^64 becomes 0 in a reader that drops what does not fit."),
        .rejected("expires-date-is-text", .claimMalformed)
            .claims { $0.replace(\.expiresDate, by: #""expiresDate":"2099-01-01T00:00:00Z""#) }
            .because("A date as in receipts, where transactions have milliseconds."),
        .rejected("is-upgraded-is-number", .claimMalformed).claims { $0 = $0.adding(#""isUpgraded":1"#) }
            .because("1 in place of `true`."),
    ]
}

extension TransactionContents {
    fileprivate mutating func replaceBundleID(with json: String) {
        replace(\.bundleID, by: "\"bundleId\":\(json)")
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
        .rejected("signed-date-missing", .claimMissing).claims { $0.signedDate = nil }
            .because("Without it there is no moment to judge the certificates at."),
        .rejected("signed-date-is-text", .claimMalformed)
            .claims { $0.replace(\.signedDate, by: #""signedDate":"1760000000123""#) }
            .because("The right number as text."),
        .rejected("signed-date-is-null", .claimMissing).claims { $0.replace(\.signedDate, by: #""signedDate":null"#) }
            .because("`null` means absent."),
        .rejected("signed-date-over-64-bits", .claimMalformed)
            .claims { $0.replace(\.signedDate, by: #""signedDate":176000000012300000000000000000"#) }
            .because("A number of thirty digits."),
        .rejected("signed-date-in-future", .signedDateInFuture)
            .claims { $0.signedDate = UTCDate(2035, 12, 31).timestamp }
            .because("Certificates are judged at a date the payload claims about itself; it must not lie ahead."),
        .rejected("leaf-not-yet-valid", .certificateNotYetValid)
            .chain { $0.leaf.validity = .init(UTCDate(2025, 12, 1), UTCDate(2027, 12, 1)) }
            .because("The leaf became valid after the transaction was signed: it is backdated."),
        .rejected("leaf-expired", .certificateExpired)
            .chain { $0.leaf.validity = .init(UTCDate(2022, 1, 1), UTCDate(2024, 1, 1)) }
            .because("The leaf had expired when the transaction was signed."),
        .rejected("intermediate-expired", .certificateExpired)
            .chain { $0.intermediate.validity = .init(UTCDate(2015, 1, 1), UTCDate(2020, 1, 1)) }
            .because("The intermediate had expired when the transaction was signed."),
        .rejected("signed-before-leaf", .certificateNotYetValid)
            .claims { $0.signedDate = UTCDate(2013, 1, 1).timestamp }
            .because("A signing date of 2013, before any of the certificates."),
    ]

    static let environments: [JWSFault] = [
        .rejected("environment-xcode", .environmentNotAllowed).claims { $0.environment = "Xcode" }
            .because("Apple's root does not sign for Xcode; Apple's libraries check no signature there if told so."),
        .rejected("environment-local-testing", .environmentNotAllowed).claims { $0.environment = "LocalTesting" }
            .because("Apple's root does not sign for local tests."),
        .rejected("environment-unknown", .environmentUnknown).claims { $0.environment = "Staging" }
            .because("An environment that Apple's documentation does not name."),
        .rejected("environment-in-small-letters", .environmentUnknown).claims { $0.environment = "sandbox" }
            .because("\"sandbox\" is not how Apple writes it."),
        .rejected("environment-is-number", .claimMalformed)
            .claims { $0.replace(\.environment, by: #""environment":0"#) }
            .because("A number in place of a text."),
        .rejected("xcode-transaction", .x5cCountWrong).belowOperatorsRoot(.rejected(.anchorUntrusted))
            .text { _ in XcodeTransactionPKI(seed: 1).jws(TransactionContents.xcode) }
            .because("Signed like Xcode, with one certificate that any program can make."),
    ]
}
