// SPDX-License-Identifier: Apache-2.0

import AppStore
import Cryptography
import Gateway
import NIOHTTP1
import ReceiptForge
import Receipts

/// Values for tests of the Server API.
enum ServerAPISamples {
    static let pki = TransactionPKI(seed: 1)
    static let app = "com.example.forge"
    static let transactionID = "2000000900000002"
    static let original = "2000000900000001"
    static let appTransactionID = "700000000000000001"
    /// The time of this node's clock: a minute after the samples were signed.
    static let now = TransactionContents.signedByDefault.advanced(by: .seconds(60))

    /// Trusts the forge's root for Production and Sandbox.
    static let verifier: ReceiptVerifier = {
        var store = TrustStore.apple
        guard (try? store.add(pem: pki.root.pem, environments: [.production, .sandbox])) != nil else {
            preconditionFailure("the forge's root is no trust anchor")
        }
        return ReceiptVerifier(trustStore: store)
    }()

    /// Made for these tests.
    static let key = key(
        "TESTKEY001",
        """
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8zWJGgen74eGHAN0
        DoW76M/eRbRglbEYhPuLzUU5kq2hRANCAATcBti8Hed9/EXClvjHNDpKaQmpaPKR
        FegXTxVFiGIERfDxx6X66jIjPXb8HX6CdwARJ1IS6oMTRqdTihqYyQ0l
        """)
    static let otherKey = key(
        "TESTKEY001",
        """
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRUfz/eY2KhVftpRt
        5wXmKr0IGZvBrqHIlYglHgmmcgGhRANCAARo05c0Rw9F+26hLTB6lgS3v+SHn1Z0
        u6XTiPqyZzKUW5juOoQR3yhhoEhUL/HjIqngOT36WwGp/HzcQix0DBT4
        """)

    private static func key(_ keyID: String, _ base64: String) -> ServerAPIKey {
        let pem = "-----BEGIN PRIVATE KEY-----\n\(base64)\n-----END PRIVATE KEY-----\n"
        guard let privateKey = ECSigningKey(pem: Array(pem.utf8)) else {
            preconditionFailure("the text is no private key")
        }
        return ServerAPIKey(
            issuerID: "57246542-96fe-1a63-e053-0824d011072a", keyID: keyID, privateKey: privateKey)
    }
}

// MARK: - Signed items, of the sandbox unless edited

extension ServerAPISamples {
    static func transaction(_ edit: (inout TransactionContents) -> Void = { _ in }) -> String {
        sign(TransactionContents(), edit)
    }

    static func renewalInfo(_ edit: (inout RenewalInfoContents) -> Void = { _ in }) -> String {
        sign(RenewalInfoContents(), edit)
    }

    static func appTransaction(_ edit: (inout AppTransactionContents) -> Void = { _ in }) -> String {
        sign(AppTransactionContents(), edit)
    }

    static func notification(_ edit: (inout NotificationContents) -> Void = { _ in }) -> String {
        sign(NotificationContents(), edit)
    }

    /// Returns a purchase without a subscription, signed some seconds after the others.
    static func item(
        _ transactionID: String, signedAfter seconds: Int64 = 0, _ edit: (inout TransactionContents) -> Void = { _ in }
    ) -> String {
        transaction { contents in
            (contents.transactionID, contents.originalTransactionID) = (transactionID, transactionID)
            (contents.expiresDate, contents.type, contents.productID) = (nil, "Non-Consumable", "item")
            contents.signedDate = TransactionContents.signedByDefault.advanced(by: .seconds(seconds))
            edit(&contents)
        }
    }

    private static func sign<Contents: SignedContents>(
        _ contents: Contents, _ edit: (inout Contents) -> Void
    ) -> String {
        var contents = contents
        edit(&contents)
        return String(decoding: pki.jws(contents), as: UTF8.self)
    }
}

// MARK: - Bodies

extension LocalServer.Answer {
    /// Apple's answer with a page of a history.
    static func page(
        _ items: [String], revision: String = "r1", hasMore: Bool = false, environment: String = "Sandbox"
    ) -> Self {
        let list = items.map { "\"\($0)\"" }.joined(separator: ",")
        return Self(
            body: """
                {"revision":"\(revision)","hasMore":\(hasMore),"bundleId":"\(ServerAPISamples.app)",\
                "environment":"\(environment)","signedTransactions":[\(list)]}
                """)
    }

    /// Apple's answer with the statuses of one subscription.
    static func statuses(
        _ transaction: String = ServerAPISamples.transaction(),
        _ renewalInfo: String = ServerAPISamples.renewalInfo(), environment: String = "Sandbox", status: String = "1"
    ) -> Self {
        Self(
            body: """
                {"environment":"\(environment)","bundleId":"\(ServerAPISamples.app)","data":[\
                {"subscriptionGroupIdentifier":"20900001","lastTransactions":[{"status":\(status),\
                "originalTransactionId":"\(ServerAPISamples.original)","signedTransactionInfo":"\(transaction)",\
                "signedRenewalInfo":"\(renewalInfo)"}]}]}
                """)
    }

    static func transactionInfo(_ transaction: String = ServerAPISamples.transaction()) -> Self {
        Self(body: #"{"signedTransactionInfo":"\#(transaction)"}"#)
    }

    static func appTransactionInfo(_ appTransaction: String = ServerAPISamples.appTransaction()) -> Self {
        Self(body: #"{"signedAppTransactionInfo":"\#(appTransaction)"}"#)
    }

    /// Apple's error with a code, whose first three digits are the status.
    static func error(_ code: Int) -> Self {
        Self(
            status: .init(statusCode: code / 10_000), body: #"{"errorCode":\#(code),"errorMessage":"Some text."}"#)
    }

    static let unauthorized = Self(status: .unauthorized, body: "Unauthenticated\n")
}
