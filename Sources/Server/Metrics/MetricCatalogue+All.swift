// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import RedisStore
internal import HTTPServer
internal import Telemetry
internal import PrometheusExport

extension MetricCatalogue {
    /// All families.
    static let all = http + telemetry + store
}
