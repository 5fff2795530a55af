// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import Testing

/// The files for the output of servers. `.ci/test` shows the end of each file of a test that failed.
public enum ServerLog {
    /// Returns a new file in the current test's folder below `TEST_RESULTS`; nil without a test or that variable.
    public static func file(of server: String) -> URL? {
        guard let test = Test.current, let results = ProcessInfo.processInfo.environment["TEST_RESULTS"] else {
            return nil
        }
        let place = test.sourceLocation
        let folder = URL(filePath: results).appending(
            path: "logs/\(place.fileID.replacing("/", with: "-"))-\(place.line)")
        guard (try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)) != nil else {
            return nil
        }
        return folder.appending(path: "\(server)-\(UUID().uuidString.prefix(8)).log")
    }
}
