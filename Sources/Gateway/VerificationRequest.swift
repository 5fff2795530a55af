// SPDX-License-Identifier: Apache-2.0

package import Cryptography
package import Resilience

/// The data that a client sends for verification.
package enum Evidence: Hashable, Sendable, Redacted {
    /// An app receipt after base64: PKCS #7, in DER.
    case appReceipt([UInt8])
    /// A transaction receipt (iOS 6) after base64: a property list.
    case transactionReceipt([UInt8])
    /// One JWS whose claims name its kind: a transaction or an app transaction.
    case jws([UInt8])
    /// Signed transactions and what belongs to them.
    case signedTransactions(SignedTransactions)

    /// Distinguishes an app receipt and a transaction receipt by their first byte, after base64.
    package init(receipt bytes: [UInt8]) {
        self = bytes.first == UInt8(ascii: "{") ? .transactionReceipt(bytes) : .appReceipt(bytes)
    }

    /// The bytes in memory.
    package var byteCount: Int {
        switch self {
        case .appReceipt(let bytes), .transactionReceipt(let bytes), .jws(let bytes): bytes.count
        case .signedTransactions(let set):
            (set.transactions + set.renewalInfos).reduce(set.appTransaction?.count ?? 0) { $0 + $1.count }
        }
    }

    /// The number of signed items.
    package var itemCount: Int {
        switch self {
        case .appReceipt, .transactionReceipt, .jws: 1
        case .signedTransactions(let set):
            set.transactions.count + set.renewalInfos.count + (set.appTransaction == nil ? 0 : 1)
        }
    }

    package var description: String {
        switch self {
        case .appReceipt: "Evidence(app receipt, \(byteCount) bytes)"
        case .transactionReceipt: "Evidence(transaction receipt, \(byteCount) bytes)"
        case .jws: "Evidence(JWS, \(byteCount) bytes)"
        case .signedTransactions: "Evidence(\(itemCount) signed items, \(byteCount) bytes)"
        }
    }
}

/// The purchase that a request is about, as the client sent it.
package enum RequestSubject: Hashable, Sendable, Redacted {
    case evidence(Evidence)
    /// The ID of a transaction, an original transaction or an app transaction. It proves nothing: the answer must be
    /// Apple's.
    case transactionID(String)

    /// The kinds of subjects. The raw values appear in metrics.
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        case appReceipt = "app_receipt"
        case transactionReceipt = "transaction_receipt"
        case jws
        case signedTransactions = "signed_transactions"
        /// No evidence, but an ID.
        case transactionID = "transaction_id"
    }

    package var kind: Kind {
        switch self {
        case .evidence(.appReceipt): .appReceipt
        case .evidence(.transactionReceipt): .transactionReceipt
        case .evidence(.jws): .jws
        case .evidence(.signedTransactions): .signedTransactions
        case .transactionID: .transactionID
        }
    }

    /// The bytes in memory.
    package var byteCount: Int {
        switch self {
        case .evidence(let evidence): evidence.byteCount
        case .transactionID(let id): id.utf8.count
        }
    }

    /// The number of signed items.
    package var itemCount: Int { if case .evidence(let evidence) = self { evidence.itemCount } else { 0 } }

    package var description: String { if case .evidence(let evidence) = self { "\(evidence)" } else { kind.rawValue } }
}

/// JWS in compact serialization, as StoreKit 2 gives them to the app.
package struct SignedTransactions: Hashable, Sendable {
    package var transactions: [[UInt8]]
    package var renewalInfos: [[UInt8]]
    package var appTransaction: [UInt8]?
    /// True if the items that hold are wanted even if others do not.
    package var acceptsPart: Bool

    package init(
        _ transactions: [[UInt8]], renewalInfos: [[UInt8]] = [], appTransaction: [UInt8]? = nil,
        acceptsPart: Bool = false
    ) {
        self.transactions = transactions
        self.renewalInfos = renewalInfos
        self.appTransaction = appTransaction
        self.acceptsPart = acceptsPart
    }
}

/// The source that the client requires. The raw values appear in the API.
package enum Mode: String, CaseIterable, Hashable, Sendable {
    /// The best available source.
    case auto
    /// Only the evidence itself: no request to Apple.
    case local
    /// Apple; without Apple the answer is undecided.
    case apple
    /// Apple if available, else the evidence itself: the mode of `POST /verifyReceipt` and of the form API, and only of
    /// them.
    case appleFirst = "apple_first"
}

/// The apps that a client may use.
package enum PermittedApps: Hashable, Sendable {
    case all
    case only(Set<String>)

    /// Returns true if the client may use this app; nil stands for an unknown app.
    package func contains(_ bundleID: String?) -> Bool {
        switch self {
        case .all: true
        case .only(let bundleIDs): bundleID.map(bundleIDs.contains) ?? false
        }
    }

    /// Throws `.appNotPermitted` unless the client may use this app; nil stands for an unknown app.
    package func require(_ bundleID: String?) throws(GatewayError) {
        guard contains(bundleID) else { throw .appNotPermitted(bundleID) }
    }

    /// The app, if there is exactly one.
    package var only: String? {
        guard case .only(let bundleIDs) = self, bundleIDs.count == 1 else { return nil }
        return bundleIDs.first
    }
}

/// One request about one purchase: is it genuine, and what does it entitle the customer to now? An object, because it
/// is handed on many times and never changes.
package final class VerificationRequest: Sendable, Redacted {
    package let subject: RequestSubject
    package let options: VerificationOptions
    package let client: RequestClient
    /// The memory reserved for the evidence, and held as long as it; nil without a limit.
    package let reservation: (any MemoryReservation)?

    /// Creates a request; without a client, the request may use every app. The options that the subject decides are
    /// taken from it.
    package init(
        _ subject: RequestSubject, options: consuming VerificationOptions, client: RequestClient = .unlimited,
        reservation: (any MemoryReservation)? = nil
    ) {
        options.itemCount = subject.itemCount
        options.isLookup = subject.kind == .transactionID
        (self.subject, self.options) = (subject, options)
        (self.client, self.reservation) = (client, reservation)
    }

    /// Creates a request without expectations, of a client that may use every app.
    package convenience init(_ subject: RequestSubject, mode: Mode = .auto) {
        var options = VerificationOptions()
        options.mode = mode
        self.init(subject, options: options)
    }

    package convenience init(evidence: Evidence, mode: Mode = .auto) { self.init(.evidence(evidence), mode: mode) }

    package func with(_ change: (inout VerificationOptions) throws -> Void) rethrows -> VerificationRequest {
        var options = options
        try change(&options)
        return VerificationRequest(subject, options: options, client: client, reservation: reservation)
    }

    /// Returns the same request of this client.
    /// - Parameter reservation: memory for the evidence, from now on.
    package func of(_ client: RequestClient, holding reservation: (any MemoryReservation)?) -> VerificationRequest {
        VerificationRequest(subject, options: options, client: client, reservation: reservation)
    }

    /// The subject's description, without bytes or anything that identifies an app, a device or a client.
    package var description: String { "VerificationRequest(\(subject))" }
}

/// Memory that is reserved for one request, and released with the last reference.
package protocol MemoryReservation: AnyObject, Sendable {
    /// Reserves more bytes; returns false, and reserves nothing, if there are not so many.
    func grow(by bytes: Int) -> Bool
    func shrink(by bytes: Int)
}

package struct VerificationOptions: Sendable {
    /// The values that the evidence must match, as far as the client knows them.
    package var expectations = Expectations()
    package var mode = Mode.auto
    /// The maximum age of a cached answer that the client accepts; nil for any that is fresh.
    package var maximumAge: Duration?
    /// True if `in_app` lists only the latest transaction of each subscription.
    package var excludesOldTransactions = false
    /// True if the answer replaces all that the client knows: signed transactions alone do not suffice where Apple can be
    /// called, because they may not be all of the customer's.
    package var wantsHistory = false
    /// True if the answer is about what the customer has now, not at the time of the evidence: a transaction of an ended
    /// period does not suffice where Apple can be called, however new its signature is. There may be a later period.
    package var wantsPresentState = false
    package var wantsLatestReceipt = false
    /// True if the answer also has what Apple signed and has no meaning here.
    package var includesUnknown = false
    /// The number of signed items in the request, which its cost depends on.
    package var itemCount = 1
    /// True for a request without evidence, which only Apple can answer.
    package var isLookup = false
    /// True for a request whose answer is signed for it alone.
    package var hasNonce = false
    /// The client's customer, for whom the purchase is checked or bound; nil if the client names none.
    package var account: Account?
    /// The product that the client expects the purchase to be of. The writer of the answer compares it.
    package var expectedProductID: String?
    /// The time to wait for Apple; nil for the mode's limit.
    package var waitLimit: Duration?
    /// The app's shared secret for the request to Apple, if the client sent a secret. Never logged.
    package var sentSecret: Secret?

    package init() {}

    /// Throws `.appNotPermitted` if the client names an app that is not one of these.
    package func checkExpectedApp(among apps: PermittedApps) throws(GatewayError) {
        if let bundleID = expectations.bundleID { try apps.require(bundleID) }
    }
}

/// The client of a request, and its limits. An object, because it is handed on many times and never changes.
package final class RequestClient: Sendable {
    /// A client that may use all apps, without limits.
    package static let unlimited = RequestClient()

    package let permittedApps: PermittedApps
    /// The charges to the client's token buckets, taken before any work is done.
    package let charges: [RateCharge]
    /// Receives the outcome of the charges; not called without charges.
    package let onAdmission: @Sendable (RateAdmission) -> Void
    /// The client's limit for concurrent requests; nil for none.
    package let inFlight: InFlightLimit?
    /// The charge for a transaction ID that Apple turns out not to know; nil for requests with evidence.
    package let unknownIDs: RateCharge?
    /// Receives the outcome of that charge if it is refused.
    package let onUnknownIDs: @Sendable (RateAdmission) -> Void

    /// Creates a client that may use these apps; by default without limits.
    package init(
        permittedApps: PermittedApps = .all, charges: [RateCharge] = [],
        onAdmission: @escaping @Sendable (RateAdmission) -> Void = { _ in }, inFlight: InFlightLimit? = nil,
        unknownIDs: RateCharge? = nil, onUnknownIDs: @escaping @Sendable (RateAdmission) -> Void = { _ in }
    ) {
        (self.permittedApps, self.charges) = (permittedApps, charges)
        (self.onAdmission, self.inFlight) = (onAdmission, inFlight)
        (self.unknownIDs, self.onUnknownIDs) = (unknownIDs, onUnknownIDs)
    }
}

package enum GatewayError: Error, Hashable, Sendable {
    /// The app, as the client or its evidence names it, is not one of the client's own; nil for evidence without an app.
    case appNotPermitted(String?)
    /// The request has no evidence and names no app, and the client has several.
    case appMissing
    /// The request has no evidence, and the gateway has no key for the app.
    case serverAPINotConfigured
    /// A rate limit is exceeded; the outcomes show which buckets are empty, and until when.
    case rateLimited(RateAdmission)
    case tooManyInFlight
}

/// The app and the device that the client expects in the evidence. Values that are nil are not compared.
package struct Expectations: Hashable, Sendable {
    package var bundleID: String?
    /// The app's version, as in attribute 3 of an app receipt.
    package var applicationVersion: String?
    /// The device's identifier: 16 bytes of `identifierForVendor` or `deviceVerificationID`, or a Mac's GUID.
    package var deviceIdentifier: [UInt8]?

    package init(bundleID: String? = nil, applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil) {
        self.bundleID = bundleID
        self.applicationVersion = applicationVersion
        self.deviceIdentifier = deviceIdentifier
    }
}

/// A client's own ID for its customer, opaque to the gateway and compared byte by byte. It is stored only as a keyed
/// digest, and never logged.
package struct Account: Hashable, Sendable, Redacted {
    package enum Limits {
        /// The UTF-8 bytes of an ID, at least 1.
        package static let bytes = 256
    }

    /// Strings are equal if they look alike: "é" has two encodings.
    private let utf8: [UInt8]

    package var id: String { String(decoding: utf8, as: UTF8.self) }

    /// Returns nil for an empty or a too long ID.
    package init?(_ id: String) {
        utf8 = Array(id.utf8)
        guard (1...Limits.bytes).contains(utf8.count) else { return nil }
    }

    package var description: String { "Account" }
}
