// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Hummingbird
internal import PrometheusExport

extension Route {
    /// `GET /metrics`: everything that was counted, for Prometheus.
    static func metrics(_ registry: PrometheusRegistry) -> Route {
        Route(method: .get, path: "/metrics") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: registry.text())))
        }
    }
}
