// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import RedisStore
internal import Settings

extension AreaCheck {
    /// Checks the settings for Apple's notifications.
    func checkNotifications() {
        let access = Access(AccessRules(configuration, try? ClientsFile(configuration, at: clock())))
        guard access.servedApps?.isEmpty != true else {
            return report.ok("path", "none is offered: the clients file names no app")
        }
        let path = "/apple/notifications" + (configuration.notifications.token == nil ? "" : "/{token}")
        report.ok("path", "POST \(path) for \(access.servedApps.map { "apps: \($0.count)" } ?? "any app")")
        checkNotificationStore()
        checkAppNumbers(access.rules)
    }

    private func checkNotificationStore() {
        let seen =
            if configuration.redis.url != nil {
                "Redis keeps up to \(configuration.notifications.backlog.configurationText) that are not applied yet"
            } else if configuration.notifications.allowsVolatile {
                "there is no Redis: notifications and the states they leave end with the process"
            } else {
                "there is no Redis: notifications are refused, unless gateway.notifications.allow_volatile is set"
            }
        report.ok("store", seen)
    }

    private func checkAppNumbers(_ rules: AccessRules) {
        let keys = rules.serverAPIKeys
        let apps = rules.knownApps.filter { keys.key(forApp: $0) != nil && keys.appAppleIDs[$0] == nil }.sorted()
        guard !apps.isEmpty else { return }
        report.warn(
            "app_apple_id", "not set for \(apps.listed): production notifications accept any app number",
            do: "Set `app_apple_id` of each app in the clients file: its Apple ID in App Store Connect.")
    }
}
