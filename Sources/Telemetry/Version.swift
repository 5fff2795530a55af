// SPDX-License-Identifier: Apache-2.0

package enum Version {
    /// Semantic versioning 2.0.0. A test keeps `receipt-loadtest` and docs/api.yaml equal.
    package static let current = "0.1.0"
}
