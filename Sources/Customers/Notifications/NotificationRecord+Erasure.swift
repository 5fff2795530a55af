// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Receipts

extension NotificationRecord {
    /// Returns true if the notification names one of these purchases, in what is signed or beside it.
    ///
    /// Signatures are not verified: they were at the intake, and dead letters may no longer verify.
    package func names(_ ids: IDsToErase) -> Bool {
        guard let json = try? JSONValue(parsing: bytes, limits: NotificationBody.Limits.json) else {
            return ids.areNamed(in: bytes)
        }
        return json.names(ids, depth: 0)
    }
}

private enum Limits {
    /// The signed payloads within each other: a notification has transactions.
    static let depth = 3
    /// The characters of the shortest receipt or payload, about.
    static let encodedBytes = 64
}

extension JSONValue {
    fileprivate func names(_ ids: IDsToErase, depth: Int) -> Bool {
        switch self {
        case .string(let text): text.string.map { ids.contains($0) || $0.encodes(ids, depth: depth) } ?? false
        case .number(let number): ids.contains(number.text)
        case .array(let elements): elements.contains { $0.names(ids, depth: depth) }
        case .object(let members): members.contains { $0.value.names(ids, depth: depth) }
        case .null, .bool: false
        }
    }
}

extension String {
    /// Returns true if the text is a JWS or a receipt that names one of these purchases.
    fileprivate func encodes(_ ids: IDsToErase, depth: Int) -> Bool {
        guard utf8.count >= Limits.encodedBytes, depth < Limits.depth else { return false }
        let parts = utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            return (try? Base64.decode(self)).map { ids.areNamed(in: $0) } ?? false
        }
        guard let payload = Base64URLDecoder.decode(Array(parts[1]).span),
            let json = try? JSONValue(parsing: payload, limits: NotificationBody.Limits.json)
        else { return false }
        return json.names(ids, depth: depth + 1)
    }
}
