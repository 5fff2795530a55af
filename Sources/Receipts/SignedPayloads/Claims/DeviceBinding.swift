// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension VerifiedTransaction {
    /// The value that binds the transaction to a device; nil in copies from Apple's servers.
    public var deviceBinding: DeviceVerification? {
        DeviceVerification(value: deviceVerification, nonce: deviceVerificationNonce)
    }
}

extension VerifiedAppTransaction {
    /// The value that binds the app transaction to a device; nil in copies from Apple's servers.
    public var deviceBinding: DeviceVerification? {
        DeviceVerification(value: deviceVerification, nonce: deviceVerificationNonce)
    }
}
