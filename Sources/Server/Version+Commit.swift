// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Telemetry

extension Version {
    /// The version with the commit of this program, if it is known.
    static let withCommit = with(commit: CLibrary.linkedCommit)

    /// Returns the version with a commit as its build metadata (semantic versioning 2.0.0, §10).
    static func with(commit: String?) -> String {
        commit.map { "\(current)+\($0)" } ?? current
    }
}
