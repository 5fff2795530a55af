// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Tells when files are to be read again: when they have changed, and then stayed the same from one look to the next, so
/// that nothing half-written is read, nor one of two files that are replaced together.
struct FileWatch: Sendable {
    private var read: FileSignatures
    private var seen: FileSignatures

    /// - Parameter read: the files as they were when they were read.
    init(read: FileSignatures) {
        self.read = read
        seen = read
    }

    /// The files to look at.
    var paths: some Collection<String> { read.keys }

    /// Takes a look.
    /// - Returns: whether it is time to read.
    mutating func look(_ now: FileSignatures) -> Bool {
        defer { seen = now }
        return now != read && now == seen
    }
}
