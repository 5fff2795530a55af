// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Settings

extension RemoteAddressRule {
    /// Returns the address that a request counts for; nil if the connection has none.
    package func address(from peer: NetworkAddress?, _ request: RequestHeader) -> NetworkAddress? {
        address(from: peer, forwarding: request.values(of: header.rawValue))
    }
}
