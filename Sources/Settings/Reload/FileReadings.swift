// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

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
