// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers

extension DeliveryFault {
    /// The remedy.
    package var advice: String {
        switch self {
        case .invalidURL: "Correct the URL in the clients file: https, or http with gateway.webhooks.allow_http."
        case .resolve: "The name has no address. Correct the URL, or DNS on this machine."
        case .forbiddenAddress:
            """
            The name has a private address. If the receiver is yours, set gateway.webhooks.allow_private_addresses; \
            otherwise correct the URL.
            """
        case .connect:
            "No server accepts connections there. Start the receiver, or let this machine reach it (firewall, proxy)."
        case .tls:
            """
            TLS failed, or the certificate is not trusted, expired, or for another name. Renew it, or name its \
            authority in gateway.webhooks.ca_file.
            """
        case .timeout:
            "No answer in time. Let the receiver answer before it processes an event, or raise gateway.webhooks.timeout."
        case .reset: "The connection ended early. Check the receiver's log, and the load balancer before it."
        case .redirect: "Redirects are not followed. Set the final URL in the clients file."
        case .gone:
            "410 disables the endpoint until an operator enables it. Remove it from the clients file, or correct the route."
        case .overloaded: "The receiver wants fewer events. Give it more capacity; deliveries wait meanwhile."
        case .rejected:
            """
            The receiver rejects the event. For 401 or 403 compare its key with the one in the clients file; for 404 \
            correct the path. Its log says more.
            """
        case .failed: "The receiver failed. Its log says why."
        case .local: "A fault of this machine: it allows no connection. Check its limits with `receipt-gateway doctor`."
        }
    }
}
