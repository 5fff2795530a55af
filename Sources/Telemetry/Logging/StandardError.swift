// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Settings

/// The process's standard error.
package enum StandardError {
    /// The queue of log lines. Logging does not wait for the reader.
    package static let log = LogQueue(write: CLibrary.writeToStandardError)

    /// Writes a command's message after all logged lines, and blocks until it is taken.
    package static func write(_ text: String) {
        log.flush()
        CLibrary.writeToStandardError(Array(text.utf8))
    }
}
