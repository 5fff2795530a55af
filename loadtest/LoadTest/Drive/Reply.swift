// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// What a server answered.
struct Reply: Sendable {
    let status: Int
    let body: ByteBuffer
}
