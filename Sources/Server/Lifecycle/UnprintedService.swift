// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ServiceLifecycle

/// A service that prints only its type. The service group logs its services, and a struct is printed with all its
/// fields: configuration, and the secrets in it.
struct UnprintedService: Service, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let service: any Service

    var description: String { "\(type(of: service))" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }

    func run() async throws { try await service.run() }
}
