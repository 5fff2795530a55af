// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A folder of a test, which is removed with this object.
final class TemporaryFolder: Sendable {
    private let root = FileManager.default.temporaryDirectory.appending(path: "gateway-tests-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: root) }

    var path: String { root.path }

    func url(_ name: String) -> URL { root.appending(path: name) }
    func path(_ name: String) -> String { url(name).path }

    /// Replaces a file, and returns its path.
    @discardableResult
    func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        try Data(bytes).write(to: url(name), options: .atomic)
        return path(name)
    }

    @discardableResult
    func write(_ text: String, to name: String) throws -> String { try write(text.utf8, to: name) }
}
