// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package enum Version {
    /// Semantic versioning 2.0.0. A test keeps `receipt-loadtest` and docs/api.yaml equal.
    package static let current = "0.1.0"
}
