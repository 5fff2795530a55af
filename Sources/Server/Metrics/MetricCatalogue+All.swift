// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPServer
internal import PrometheusExport
internal import RedisStore
internal import Telemetry

extension MetricCatalogue {
    static let all = http + telemetry + store
}
