// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import RateLimits
public import Secrets

/// What a client sends to have verified.
public enum Evidence: Hashable, Sendable {
    /// An app receipt after base64: PKCS #7, in DER.
    case appReceipt([UInt8])
}

extension Evidence {
    /// The bytes that it takes in memory.
    public var byteCount: Int {
        switch self {
        case .appReceipt(let bytes): bytes.count
        }
    }
}

extension Evidence: CustomStringConvertible, CustomReflectable {
    /// How many bytes there are, and none of them.
    public var description: String {
        switch self {
        case .appReceipt(let bytes): "Evidence(app receipt, \(bytes.count) bytes)"
        }
    }
    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Who should be asked. The raw values are those of the API.
public enum Mode: String, CaseIterable, Hashable, Sendable {
    /// The best source that can be had.
    case auto
    /// Only the receipt itself: no call to Apple.
    case local
    /// Apple; without Apple the answer is undecided.
    case apple
    /// Apple whenever it can be asked, else the receipt itself: what callers of `verifyReceipt` expect, and nobody else
    /// can ask for.
    case appleFirst = "apple_first"
}

/// The apps a client may ask about.
public enum PermittedApps: Hashable, Sendable {
    /// Any app.
    case all
    /// The apps with these bundle IDs.
    case only(Set<String>)

    /// Whether the client may ask about this app; nil stands for an unknown one.
    public func contains(_ bundleID: String?) -> Bool {
        switch self {
        case .all: true
        case .only(let bundleIDs): bundleID.map(bundleIDs.contains) ?? false
        }
    }
}

/// One question about one piece of evidence: is it genuine, and what does it entitle the customer to now?
public struct VerificationRequest: Sendable {
    /// The bytes Apple is said to have signed.
    public var evidence: Evidence
    /// What is wanted to be known of it.
    public var options: VerificationOptions
    /// Who asks.
    public var caller: Caller
    /// The memory that is reserved for the evidence, and kept for as long as the evidence is; nil without a limit.
    public var reservation: (any MemoryReservation)?

    /// A question in mode `auto` without expectations, of a client that may ask about every app.
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

extension VerificationRequest: CustomStringConvertible, CustomReflectable {
    /// No byte of the evidence, and nothing of what identifies an app, a device or a caller.
    public var description: String { "VerificationRequest(\(evidence))" }
    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Memory that is reserved for one request. It is given back with the last reference.
public protocol MemoryReservation: AnyObject, Sendable {
    /// Reserves so many bytes more; false, and nothing reserved, if there are not so many.
    func grow(by bytes: Int) -> Bool
    /// Gives so many bytes back.
    func shrink(by bytes: Int)
}

/// What is wanted to be known of evidence, and how.
public struct VerificationOptions: Sendable {
    /// What the receipt must have been issued for, as far as the caller knows.
    public var expectations: Expectations
    /// Who should be asked.
    public var mode: Mode
    /// The oldest answer from a cache the caller accepts; nil for any that is fresh.
    public var maximumAge: Duration?
    /// Whether `in_app` lists only the latest transaction of each subscription.
    public var excludesOldTransactions: Bool
    /// Whether the caller wants the latest receipt that is known.
    public var wantsLatestReceipt = false
    /// The app's shared secret, if the caller sent one: Apple is asked with it. Never logged.
    public var callersSecret: Secret?

    /// A question in mode `auto` without expectations.
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

/// Who asks, and what that takes.
public struct Caller: Sendable {
    /// The apps the client may ask about.
    public var permittedApps = PermittedApps.all
    /// What the request takes from its client's token buckets, before any work is done for it.
    public var charges: [RateCharge] = []
    /// Told what became of the charges; not called where there are none.
    public var onAdmission: @Sendable (RateAdmission) -> Void = { _ in }
    /// How many requests of its client may be in flight together with this one; nil for any number.
    public var inFlight: InFlightLimit?

    /// A client that may ask about these apps, as often as it likes.
    public init(permittedApps: PermittedApps = .all) {
        self.permittedApps = permittedApps
    }
}

/// What the caller knows of the app and the device, to be compared with the receipt. What is nil is not compared.
public struct Expectations: Hashable, Sendable {
    /// The bundle ID of the app.
    public var bundleID: String?
    /// The app's version, as in attribute 3 of the receipt.
    public var applicationVersion: String?
    /// The device's identifier: 16 bytes of `identifierForVendor`, or a Mac's GUID.
    public var deviceIdentifier: [UInt8]?

    /// Expects these, and nothing of what is nil.
    public init(bundleID: String? = nil, applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil) {
        self.bundleID = bundleID
        self.applicationVersion = applicationVersion
        self.deviceIdentifier = deviceIdentifier
    }
}
