// SPDX-License-Identifier: Apache-2.0

/// The environment a receipt was issued in. Apple spells it in several ways; the gateway uses this spelling.
public enum Environment: String, CaseIterable, Hashable, Sendable {
    /// The App Store, volume purchases included.
    case production = "Production"
    /// TestFlight, App Review and sandbox accounts.
    case sandbox = "Sandbox"
    /// StoreKit testing in Xcode, signed on the developer's machine.
    case xcode = "Xcode"
    /// StoreKit testing without Xcode, signed by the tests themselves.
    case localTesting = "LocalTesting"

    /// True if Apple signs for the environment; otherwise only an operator's root can.
    public var isApples: Bool {
        switch self {
        case .production, .sandbox: true
        case .xcode, .localTesting: false
        }
    }
    /// Maps a `receipt_type` (attribute 0); nil for an unknown type.
    init?(receiptType: Span<UInt8>) {
        for (type, environment) in Self.receiptTypes where receiptType.equals(type) {
            self = environment
            return
        }
        return nil
    }

    private static let receiptTypes: [(type: [UInt8], environment: Environment)] = [
        (Array("Production".utf8), .production), (Array("ProductionVPP".utf8), .production),
        (Array("ProductionSandbox".utf8), .sandbox), (Array("ProductionVPPSandbox".utf8), .sandbox),
        (Array("Sandbox".utf8), .sandbox), (Array("Xcode".utf8), .xcode),
    ]
}
