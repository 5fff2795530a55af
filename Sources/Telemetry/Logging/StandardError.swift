// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Settings

/// The process's standard error.
package enum StandardError {
    /// Where log lines go. Whoever logs does not wait for whoever reads.
    package static let log = LogQueue(write: CLibrary.writeToStandardError)

    /// Writes what a command has to say, behind everything that was logged before, and waits until it is read.
    package static func write(_ text: String) {
        log.flush()
        CLibrary.writeToStandardError(Array(text.utf8))
    }
}
