// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Hummingbird
internal import JSON

/// What orchestrators ask on the admin plane.
struct HealthRoutes: Sendable {
    /// Where the process is in its life.
    let lifecycle: ServerLifecycle

    /// `/livez` answers as long as the event loops run; `/readyz` only while requests are welcome.
    var routes: [Route] {
        [
            Route(method: .get, path: "/livez") { _, _ in Response(json: Self.status("alive")) },
            Route(method: .get, path: "/readyz") { _, _ in
                guard lifecycle.stage == .ready else { throw Problem.notReady }
                return Response(json: Self.status("ready"))
            },
        ]
    }

    private static func status(_ word: String) -> [UInt8] {
        var json = JSONWriter()
        json.object { $0.member("status", word) }
        return json.bytes
    }
}
