// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

/// The files that one reading of the configuration looked into. Each is read once, so that a file which changes meanwhile
/// is not two different ones, and its signature is taken before that, so that the change is seen later.
package final class FileReadings: Sendable {
    private struct Reading: Sendable {
        let signature: FileSignature?
        let text: Result<String, FileFault>
    }

    private let readings = Mutex<[String: Reading]>([:])

    /// No file has been read yet.
    package init() {}

    /// The file's text, as it was when it was asked for first.
    package func read(_ path: String) throws(FileFault) -> String {
        if let known = readings.withLock({ $0[path] }) { return try known.text.get() }
        let signature = CLibrary.signature(ofFile: path)
        let text = Result { () throws(FileFault) in try TextFile.read(path) }
        readings.withLock { $0[path] = Reading(signature: signature, text: text) }
        return try text.get()
    }

    /// The files that were looked for, with their signatures before they were read; nil for one that was not there.
    var signatures: FileSignatures { readings.withLock { $0.mapValues(\.signature) } }

    /// SHA-256 of a file's text; nil if it cannot be read.
    func fingerprint(ofFile path: String) -> Fingerprint? {
        (try? read(path)).map { Fingerprint(of: Array($0.utf8).span) }
    }
}

/// Files by their paths; nil for one that is not there.
typealias FileSignatures = [String: FileSignature?]
