// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The identity of a file's state, known without reading it. Another file in its place, as after Kubernetes switches
/// symbolic links, has another inode.
struct FileSignature: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    /// The last change of content or permissions, in nanoseconds since 1970.
    let changed: Int64
}
