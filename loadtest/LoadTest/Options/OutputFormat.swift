// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// How results are printed on standard output.
enum OutputFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// For readers.
    case text
    /// For programs.
    case json
}
