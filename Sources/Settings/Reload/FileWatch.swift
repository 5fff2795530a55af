// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Decides when to read files again: after they changed and then stayed the same between two looks, so that no
/// half-written file is read, nor one of two that are replaced together.
struct FileWatch: Sendable {
    private var read: FileSignatures
    private var seen: FileSignatures

    /// - Parameter read: the signatures when the files were last read.
    init(read: FileSignatures) {
        self.read = read
        seen = read
    }

    /// The files to watch.
    var paths: some Collection<String> { read.keys }

    /// Records the current signatures.
    /// - Returns: true if it is time to read.
    mutating func look(_ now: FileSignatures) -> Bool {
        defer { seen = now }
        return now != read && now == seen
    }
}
