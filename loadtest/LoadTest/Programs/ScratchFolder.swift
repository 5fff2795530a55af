// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// A folder for the files of one run.
struct ScratchFolder: Sendable {
    private let url: URL

    /// Makes the folder.
    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "receipt-loadtest-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    }

    /// Writes a file and returns its path.
    func write(_ text: String, to name: String) throws -> String {
        let file = url.appending(path: name)
        try Data(text.utf8).write(to: file)
        return file.path
    }

    /// Makes a folder in it and returns its path.
    func makeFolder(_ name: String) throws -> String {
        let folder = url.appending(path: name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        return folder.path
    }

    /// Removes the folder with everything in it.
    func remove() {
        try? FileManager.default.removeItem(at: url)
    }
}
