// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// Whom the gateway is to ask; the raw values are those of its API.
enum VerifyMode: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
    /// Apple, if it may know more than the receipt.
    case auto
    /// Nobody.
    case local
    /// Apple, and nobody else counts.
    case apple
}
