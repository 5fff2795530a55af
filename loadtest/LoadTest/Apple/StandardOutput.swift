// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// File descriptor 1, without the buffer in which `print` keeps lines from a pipe's reader.
enum StandardOutput {
    /// Writes a text of a few lines; whoever does not read it does not need it.
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.write(STDOUT_FILENO, bytes, bytes.count)
    }
}
