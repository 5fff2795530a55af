// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension GatewayConfiguration {
    /// The problems of settings that are valid by themselves, but not together.
    var contradictions: [ConfigurationProblem] {
        [
            openToTheNetworkWithoutClients, clientsWithoutPepper, bodyBeyondBudget, sharedWithoutKeys,
        ].compactMap { $0 } + ConfigurationProblems.of { () throws(ConfigurationProblems) in _ = try storeKeys }
            + redis.contradictions
    }

    /// Without API keys, any client that reaches the port could use the gateway.
    private var openToTheNetworkWithoutClients: ConfigurationProblem? {
        guard clientsFile == nil, !Loopback.contains(http.listener.host) else { return nil }
        return ConfigurationProblem(
            location: "gateway.http.host",
            fault: """
                "\(http.listener.host)" is reachable from the network, and no clients are configured. Either listen on \
                127.0.0.1, or make an API key with `receipt-gateway hash-key`, paste what it prints into a clients \
                file, and set GATEWAY_CLIENTS_FILE (gateway.clients_file) to its path and GATEWAY_API_KEY_PEPPER to \
                the pepper it was made with
                """)
    }

    private var clientsWithoutPepper: ConfigurationProblem? {
        guard clientsFile != nil, apiKeyPepper == nil else { return nil }
        return ConfigurationProblem(
            location: "gateway.api_key_pepper",
            fault: """
                is missing, and the keys in the clients file cannot be checked without it; set GATEWAY_API_KEY_PEPPER \
                or GATEWAY_API_KEY_PEPPER_FILE to the pepper `receipt-gateway hash-key` was used with
                """)
    }

    private var sharedWithoutKeys: ConfigurationProblem? {
        guard redis.url != nil, cacheKeys == nil else { return nil }
        return ConfigurationProblem(
            location: "gateway.cache.keys",
            fault: """
                is missing, and the gateway stores only encrypted values in Redis; set GATEWAY_CACHE_KEYS or \
                GATEWAY_CACHE_KEYS_FILE, the same on all nodes: \(Self.keyRecipe)
                """)
    }

    private var bodyBeyondBudget: ConfigurationProblem? {
        guard http.limits.body > http.limits.bodiesInFlight else { return nil }
        return ConfigurationProblem(
            location: "gateway.http.limits.body",
            fault: """
                is \(http.limits.body.configurationText), more than the limit for all bodies together \
                (gateway.http.limits.bodies_in_flight is \(http.limits.bodiesInFlight.configurationText))
                """)
    }
}

extension ConfigurationProblem {
    static let noPepper = ConfigurationProblem(
        location: "GATEWAY_API_KEY_PEPPER",
        fault: #"is not set; make one: export GATEWAY_API_KEY_PEPPER="$(openssl rand -base64 32)""#)
}
