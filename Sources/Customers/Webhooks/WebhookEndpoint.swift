// SPDX-License-Identifier: Apache-2.0

/// A URL of a client that receives events.
package struct WebhookEndpoint: Hashable, Sendable {
    /// `CLIENT/NAME`, of the clients file: the label in metrics, logs and commands.
    package var name: String
    /// The bundle IDs of the apps whose events it receives.
    package var apps: Set<String>
    /// `https://…`, or `http://…` if the configuration permits it.
    package var url: String
    /// The events, or Apple's own notifications unchanged.
    package var stream: EventStream
    /// The keys that sign, all at once: at least one key for events. The first key is the newest.
    package var keys: [WebhookKey]
    /// The types of events that are delivered; nil for all.
    package var types: Set<EventType>?
    package var includesSignedData: Bool

    package init(
        name: String, apps: Set<String>, url: String, stream: EventStream = .events, keys: [WebhookKey] = [],
        types: Set<EventType>? = nil, includesSignedData: Bool = false
    ) {
        (self.name, self.apps, self.url, self.stream) = (name, apps, url, stream)
        (self.keys, self.types, self.includesSignedData) = (keys, types, includesSignedData)
    }

    /// Returns true if the endpoint receives events of this type. Apple's own notifications have none.
    func receives(_ event: Event) -> Bool { stream == .relay || types?.contains(event.type) ?? true }

    package var queues: [DeliveryQueue] {
        apps.sorted().flatMap(AppPartition.all).map {
            DeliveryQueue(endpoint: name, partition: $0, stream: stream)
        }
    }
}
