// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

/// Decides when to read files again: after they changed and then stayed the same between two checks, so that no
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
    mutating func check(_ now: FileSignatures) -> Bool {
        defer { seen = now }
        return now != read && now == seen
    }
}

/// The identity of a file's state, known without reading it. Another file in its place, as after Kubernetes switches
/// symbolic links, has another inode.
struct FileSignature: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    /// The last change of content or permissions, in nanoseconds since 1970.
    let changed: Int64
}

/// The files read for one load of the configuration. Each is read once, so that a change meanwhile yields no mixed
/// state. Its signature is taken before, so that the change is noticed later.
package final class FileReadings: Sendable {
    private struct Reading: Sendable {
        let signature: FileSignature?
        let text: Result<String, FileFault>
    }

    private let readings = Mutex<[String: Reading]>([:])

    package init() {}

    /// Returns the file's text as of its first read.
    package func read(_ path: String) throws(FileFault) -> String {
        if let known = readings.withLock({ $0[path] }) { return try known.text.get() }
        let signature = CLibrary.signature(ofFile: path)
        let text = Result { () throws(FileFault) in try TextFile.read(path) }
        readings.withLock { $0[path] = Reading(signature: signature, text: text) }
        return try text.get()
    }

    /// The signatures of the files before they were read; nil for a missing file.
    var signatures: FileSignatures { readings.withLock { $0.mapValues(\.signature) } }

    /// Returns SHA-256 of a file's text; nil if it cannot be read.
    func fingerprint(ofFile path: String) -> Fingerprint? {
        (try? read(path)).map { Fingerprint(of: Array($0.utf8).span) }
    }
}

/// File signatures by path; nil for a missing file.
typealias FileSignatures = [String: FileSignature?]
