// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Synchronization

/// The notifications of all apps, and the addresses they are sent to.
final class NotificationRegistry: Sendable {
    /// The history of version 2.
    let log: Mutex<NotificationLog>
    private let destinations = Mutex<[AppInStore: NotificationDestination]>([:])
    private let limits: SimulatorLimits
    private let timeScale: Double

    /// - Parameter timeScale: the factor of the waits between attempts, unless a destination has its own.
    init(limits: SimulatorLimits, timeScale: Double) {
        self.limits = limits
        self.timeScale = timeScale
        log = Mutex(NotificationLog(maximumCount: limits.maximumNotifications))
    }

    func destination(of app: AppInStore) -> NotificationDestination? {
        destinations.withLock { $0[app] }
    }

    /// Sets the destination of an app's notifications; nil removes it.
    func setDestination(_ destination: NotificationDestination?, of app: AppInStore) throws(ControlError) {
        try destinations.withLock { destinations throws(ControlError) in
            let isFull = destinations.count >= limits.maximumNotificationURLs
            guard destination == nil || destinations[app] != nil || !isFull else {
                throw .tooManyNotificationURLs(maximum: limits.maximumNotificationURLs)
            }
            destinations[app] = destination
        }
    }

    /// Returns the waits between the attempts to deliver an app's notification.
    func waits(of app: AppInStore, _ destination: NotificationDestination) -> [Duration] {
        destination.version.waits(at: app.endpoint, timeScale: destination.timeScale ?? timeScale)
    }
}

/// The address of a server on this machine that receives notifications.
struct NotificationURL: Hashable, Sendable {
    let host: String
    let port: Int
    /// The path with the query.
    let target: String

    /// Reads a URL; nil unless it is HTTP without TLS to the loopback interface.
    init?(_ text: String) {
        guard let url = URL(string: text), url.scheme?.lowercased() == "http", url.user() == nil,
            let host = url.host()?.filter({ !"[]".contains($0) }), Self.loopback.contains(host)
        else { return nil }
        self.host = host
        port = url.port ?? 80
        let path = url.path(percentEncoded: true)
        target = (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?" + $0 } ?? "")
    }

    private static let loopback: Set<String> = ["127.0.0.1", "localhost", "::1"]

    /// The value of the field `Host`.
    var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

/// The place and the form of the notifications of one app in one environment.
struct NotificationDestination: Hashable, Sendable {
    let url: NotificationURL
    var version = NotificationVersion.two
    /// The factor of the waits between attempts; nil for the simulator's factor.
    var timeScale: Double?
}

extension NotificationDestination {
    init(_ text: String, _ version: NotificationVersion = .two, timeScale: Double? = nil) throws(ControlError) {
        guard let url = NotificationURL(text) else {
            throw .wrongValue(of: "url", needed: "http:// and 127.0.0.1, localhost or [::1]")
        }
        self.init(url: url, version: version, timeScale: timeScale)
    }

    /// Reads the body of `PUT /notifications`. Without a URL, there is no destination.
    static func read(_ body: [UInt8]) throws(ControlError) -> (AppInStore, NotificationDestination?) {
        let members = try ControlFields(body, known: ["bundle_id", "environment", "time_scale", "url", "version"])
        let app = try members.app()
        let version = try (members["version"]?.integer(in: 1...2)).flatMap(NotificationVersion.init) ?? .two
        let timeScale = try members["time_scale"]?.number(in: 0...1)
        guard let url = try members["url"]?.text() else { return (app, nil) }
        return (app, try NotificationDestination(url, version, timeScale: timeScale))
    }
}
