// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import JSON
internal import NIOHTTP1

/// The images, messages and settings of an app for Retention Messaging.
///
/// Apple approves at once in the sandbox. In production everything waits for a review, and stays so here.
struct RetentionMessages: Hashable, Sendable {
    private enum Limits {
        static let header = 66
        static let body = 144
        static let altText = 150
        static let bulletPoints = 5
        static let url = 256
        static let locale = 35
    }

    /// The sizes of the images.
    private var images: [String: String] = [:]
    /// The images of each message.
    private var messages: [String: Set<String>] = [:]
    /// The messages by product and locale.
    private var defaults: [[String]: String] = [:]
    private var realtimeURL: String?
    private var performanceTests: Set<String> = []

    mutating func answer(_ call: APICall, _ limits: SimulatorLimits) throws(APIError) -> StoreAnswer {
        let (method, template) = (call.request.method, call.route.template.dropFirst("inApps/v1/messaging/".utf8.count))
        switch (method, template) {
        case (.GET, "image/list"): return imageList(state(call))
        case (.PUT, "image/*"): try addImage(call, limits)
        case (.DELETE, "image/*"): try removeImage(call)
        case (.GET, "message/list"): return messageList(state(call))
        case (.PUT, "message/*"): try addMessage(call, limits)
        case (.DELETE, "message/*"): guard messages.removeValue(forKey: call.id) != nil else { throw .messageNotFound }
        case (.GET, "default/*/*"):
            guard let message = defaults[try Self.place(call)] else { throw .defaultMessageNotFound }
            return .json { $0.member("messageIdentifier", message) }
        case (.PUT, "default/*/*"): try setDefault(call, limits)
        case (.DELETE, "default/*/*"):
            guard defaults.removeValue(forKey: try Self.place(call)) != nil else { throw .defaultMessageNotFound }
        case (.GET, "realtime/url"):
            guard let realtimeURL else { throw .realtimeURLNotFound }
            return .json { $0.member("realtimeURL", realtimeURL) }
        case (.PUT, "realtime/url"): realtimeURL = try Self.url(call)
        case (.DELETE, "realtime/url"):
            guard realtimeURL != nil else { throw .realtimeURLNotFound }
            realtimeURL = nil
        case (.POST, "performanceTest"): return try startTest(call, limits)
        default: return try testResult(call)
        }
        return .empty()
    }

    /// Returns the state of everything that is uploaded in an environment.
    private func state(_ call: APICall) -> String { call.app.endpoint == .sandbox ? "APPROVED" : "PENDING" }

    private func imageList(_ state: String) -> StoreAnswer {
        .json { json in
            json.objects("imageIdentifiers", of: images.sorted { $0.key < $1.key }) { json, image in
                json.member("imageIdentifier", image.key)
                json.member("imageState", state)
                json.member("imageSize", image.value)
            }
        }
    }

    private func messageList(_ state: String) -> StoreAnswer {
        .json { json in
            json.objects("messageIdentifiers", of: messages.keys.sorted()) { json, identifier in
                json.member("messageIdentifier", identifier)
                json.member("messageState", state)
            }
        }
    }

    // MARK: - Images and messages

    private mutating func addImage(_ call: APICall, _ limits: SimulatorLimits) throws(APIError) {
        guard UUID(uuidString: call.id) != nil else { throw .badRequest }
        let size = call.query.first("imageSize") ?? "FULL_SIZE"
        guard ["FULL_SIZE", "BULLET_POINT"].contains(size) else { throw .invalidImageSize }
        guard call.request.isImage else { throw .invalidImage }
        guard images[call.id] == nil else { throw .imageExists }
        guard images.count < limits.maximumMessages else { throw .maximumImages }
        images[call.id] = size
    }

    private mutating func removeImage(_ call: APICall) throws(APIError) {
        guard images[call.id] != nil else { throw .imageNotFound }
        guard !messages.values.contains(where: { $0.contains(call.id) }) else { throw .imageInUse }
        images[call.id] = nil
    }

    private mutating func addMessage(_ call: APICall, _ limits: SimulatorLimits) throws(APIError) {
        let body = try call.request.members()
        guard UUID(uuidString: call.id) != nil, let header = body["header"]?.string, let text = body["body"]?.string
        else { throw .badRequest }
        guard header.count <= Limits.header else { throw .headerTooLong }
        guard text.count <= Limits.body else { throw .bodyTooLong }
        let points = body["bulletPoints"]?.elements ?? []
        guard points.count <= Limits.bulletPoints else { throw .tooManyBulletPoints }
        var used: Set<String> = []
        for item in points + (body["image"].map { [$0] } ?? []) {
            guard item["altText"]?.string?.count ?? 0 <= Limits.altText else { throw .altTextTooLong }
            guard let image = item["imageIdentifier"]?.string, images[image] != nil else { throw .imageNotFound }
            guard call.app.endpoint == .sandbox else { throw .imageNotApproved }
            used.insert(image)
        }
        guard messages[call.id] == nil else { throw .messageExists }
        guard messages.count < limits.maximumMessages else { throw .maximumMessages }
        messages[call.id] = used
    }

    // MARK: - Defaults, the URL and its test

    private static func place(_ call: APICall) throws(APIError) -> [String] {
        guard call.route.values.count == 2, (2...Limits.locale).contains(call.route.values[1].utf8.count) else {
            throw .invalidLocale
        }
        return call.route.values
    }

    private mutating func setDefault(_ call: APICall, _ limits: SimulatorLimits) throws(APIError) {
        let place = try Self.place(call)
        guard let message = try call.request.members()["messageIdentifier"]?.string else { throw .badRequest }
        guard messages[message] != nil else { throw .messageNotFound }
        guard call.app.endpoint == .sandbox else { throw .messageNotApproved }
        guard defaults[place] != nil || defaults.count < limits.maximumMessages else { throw .unknownError }
        defaults[place] = message
    }

    private static func url(_ call: APICall) throws(APIError) -> String {
        let url = try call.request.members()["realtimeURL"]?.string
        guard let url, url.hasPrefix("https://"), url.utf8.count <= Limits.url else { throw .invalidRealtimeURL }
        return url
    }

    /// Starts a test, which the URL passes at once: nothing is sent to it.
    private mutating func startTest(_ call: APICall, _ limits: SimulatorLimits) throws(APIError) -> StoreAnswer {
        let id = try call.request.members()["originalTransactionId"]?.string
        guard call.app.endpoint == .sandbox, let id, ServerAPI.isTransactionID(id) else {
            throw .invalidPerformanceTest
        }
        guard realtimeURL != nil else { throw .realtimeURLNotFound }
        guard performanceTests.count < limits.maximumMessages else { throw .unknownError }
        let request = UUID().uuidString.lowercased()
        performanceTests.insert(request)
        return .json { json in
            json.object("config") { Self.writeConfiguration(&$0) }
            json.member("requestId", request)
        }
    }

    private func testResult(_ call: APICall) throws(APIError) -> StoreAnswer {
        guard UUID(uuidString: call.id) != nil else { throw .invalidRequestID }
        guard performanceTests.contains(call.id) else { throw .performanceTestNotFound }
        return .json { json in
            json.object("config") { Self.writeConfiguration(&$0) }
            json.member("target", realtimeURL)
            json.member("result", "PASS")
            json.member("successRate", 100)
            json.member("numPending", 0)
            json.object("responseTimes") { json in
                json.member("average", 80)
                json.member("p50", 70)
                json.member("p90", 100)
                json.member("p95", 110)
                json.member("p99", 120)
            }
            json.object("failures") { _ in }
        }
    }

    private static func writeConfiguration(_ json: inout JSONWriter) {
        json.member("maxConcurrentRequests", 10)
        json.member("totalRequests", 100)
        json.member("totalDuration", 10_000)
        json.member("responseTimeThreshold", 700)
        json.member("successRateThreshold", 98)
    }
}
