// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

extension ParsableArguments {
    /// Refuses what was given, unless it is as it should be.
    func check(_ condition: Bool, _ message: String) throws(ValidationError) {
        guard condition else { throw ValidationError(message) }
    }
}
