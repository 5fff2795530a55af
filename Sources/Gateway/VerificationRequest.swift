// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import RateLimits
public import Secrets

/// The data that a client sends for verification.
public enum Evidence: Hashable, Sendable {
    /// An app receipt after base64: PKCS #7, in DER.
    case appReceipt([UInt8])
}

extension Evidence {
    /// The bytes in memory.
    public var byteCount: Int {
        switch self {
        case .appReceipt(let bytes): bytes.count
        }
    }
}

extension Evidence: Redacted {
    /// The kind and size, without the bytes.
    public var description: String {
        switch self {
        case .appReceipt(let bytes): "Evidence(app receipt, \(bytes.count) bytes)"
        }
    }
}

/// The source that the caller requires. The raw values are those of the API.
public enum Mode: String, CaseIterable, Hashable, Sendable {
    /// The best available source.
    case auto
    /// Only the receipt itself: no request to Apple.
    case local
    /// Apple; without Apple the answer is undecided.
    case apple
    /// Apple if available, else the receipt itself: the mode for callers of `verifyReceipt`, and only for them.
    case appleFirst = "apple_first"
}

/// The apps that a client may use.
public enum PermittedApps: Hashable, Sendable {
    /// Any app.
    case all
    /// The apps with these bundle IDs.
    case only(Set<String>)

    /// Returns true if the client may use this app; nil stands for an unknown one.
    public func contains(_ bundleID: String?) -> Bool {
        switch self {
        case .all: true
        case .only(let bundleIDs): bundleID.map(bundleIDs.contains) ?? false
        }
    }
}

/// One request about one piece of evidence: is it genuine, and what does it entitle the customer to now?
public struct VerificationRequest: Sendable {
    /// The data that the client sent.
    public var evidence: Evidence
    /// The parameters of the request.
    public var options: VerificationOptions
    /// The client and its limits.
    public var caller: Caller
    /// The memory reserved for the evidence, and held as long as it; nil without a limit.
    public var reservation: (any MemoryReservation)?

    /// Creates a request in mode `auto` without expectations, of a client that may use every app.
    public init(
        evidence: Evidence, expectations: Expectations = Expectations(), mode: Mode = .auto,
        maximumAge: Duration? = nil, excludesOldTransactions: Bool = false, permittedApps: PermittedApps = .all
    ) {
        self.evidence = evidence
        options = VerificationOptions(
            expectations: expectations, mode: mode, maximumAge: maximumAge,
            excludesOldTransactions: excludesOldTransactions)
        caller = Caller(permittedApps: permittedApps)
    }
}

extension VerificationRequest: Redacted {
    /// The evidence's description, without bytes or anything that identifies an app, a device or a caller.
    public var description: String { "VerificationRequest(\(evidence))" }
}

/// Memory that is reserved for one request, and released with the last reference.
public protocol MemoryReservation: AnyObject, Sendable {
    /// Reserves more bytes; returns false, and reserves nothing, if there are not so many.
    func grow(by bytes: Int) -> Bool
    /// Releases bytes.
    func shrink(by bytes: Int)
}

/// The parameters of a request.
public struct VerificationOptions: Sendable {
    /// The values that the receipt must match, as far as the caller knows them.
    public var expectations: Expectations
    /// The source that the caller requires.
    public var mode: Mode
    /// The maximum age of a cached answer that the caller accepts; nil for any that is fresh.
    public var maximumAge: Duration?
    /// True if `in_app` lists only the latest transaction of each subscription.
    public var excludesOldTransactions: Bool
    /// True if the caller wants the latest known receipt.
    public var wantsLatestReceipt = false
    /// The app's shared secret for the request to Apple, if the caller sent one. Never logged.
    public var callersSecret: Secret?

    /// Creates parameters in mode `auto` without expectations.
    public init(
        expectations: Expectations = Expectations(), mode: Mode = .auto, maximumAge: Duration? = nil,
        excludesOldTransactions: Bool = false
    ) {
        self.expectations = expectations
        self.mode = mode
        self.maximumAge = maximumAge
        self.excludesOldTransactions = excludesOldTransactions
    }
}

/// The client of a request, and its limits.
public struct Caller: Sendable {
    /// The apps that the client may use.
    public var permittedApps = PermittedApps.all
    /// The charges to the client's token buckets, taken before any work is done.
    public var charges: [RateCharge] = []
    /// Receives the outcome of the charges; not called without charges.
    public var onAdmission: @Sendable (RateAdmission) -> Void = { _ in }
    /// The client's limit for concurrent requests; nil for none.
    public var inFlight: InFlightLimit?

    /// Creates a client that may use these apps, without limits.
    public init(permittedApps: PermittedApps = .all) {
        self.permittedApps = permittedApps
    }
}

/// The app and the device that the caller expects in the receipt. Values that are nil are not compared.
public struct Expectations: Hashable, Sendable {
    /// The bundle ID of the app.
    public var bundleID: String?
    /// The app's version, as in attribute 3 of the receipt.
    public var applicationVersion: String?
    /// The device's identifier: 16 bytes of `identifierForVendor`, or a Mac's GUID.
    public var deviceIdentifier: [UInt8]?

    /// Creates expectations.
    public init(bundleID: String? = nil, applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil) {
        self.bundleID = bundleID
        self.applicationVersion = applicationVersion
        self.deviceIdentifier = deviceIdentifier
    }
}
