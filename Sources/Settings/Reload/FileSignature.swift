// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What tells one state of a file from the next without reading it: another file in its place, as Kubernetes' symbolic
/// links lead to after an update, has another inode.
struct FileSignature: Hashable, Sendable {
    /// The device it lies on.
    let device: UInt64
    /// Its number there.
    let inode: UInt64
    /// Its length in bytes.
    let size: Int64
    /// When it was written last, or who may read it was changed, in nanoseconds since 1970.
    let changed: Int64
}
