// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The kinds of evidence that a client can send.
package enum ForgedEvidenceKind: String, CaseIterable, Encodable, Sendable {
    case receipt, jws
    case transactionReceipt = "transaction-receipt"
}
