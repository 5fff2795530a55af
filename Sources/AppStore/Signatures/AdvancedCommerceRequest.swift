// SPDX-License-Identifier: Apache-2.0

package import JSON

/// A request of the Advanced Commerce API that an app sends to StoreKit ("Sending Advanced Commerce API requests from your
/// app"). It is signed as it was sent: Apple may add members that are unknown here.
package struct AdvancedCommerceRequest: Hashable, Sendable {
    package enum Operation: String, CaseIterable, Sendable {
        case createOneTimeCharge = "CREATE_ONE_TIME_CHARGE"
        case createSubscription = "CREATE_SUBSCRIPTION"
        case modifySubscription = "MODIFY_SUBSCRIPTION"
        case reactivateSubscription = "REACTIVATE_SUBSCRIPTION"
    }

    package enum Limits {
        /// Apple accepts 128 characters.
        package static let skuBytes = 256
        package static let skuDescription = "1 to \(skuBytes) bytes of text"
        static let nameDescription = "an object whose names, at any depth, have letters, digits and underscores only"
    }

    package let operation: Operation
    /// The SKUs that are sold or changed, wherever the request names them.
    package let skus: Set<OutsideText>
    /// The request, byte by byte.
    let json: [UInt8]

    /// Reads a request, and checks the members that all of Apple's requests have.
    package init(_ json: [UInt8]) throws(JSONFault) {
        let request = try JSONValue(parsing: json, limits: ServerAPICall.Limits.body)
        guard request.type == .object else { throw JSONFault(.notAnObject, at: 0) }
        func text(_ name: StaticString, of object: JSONValue) throws(JSONFault) -> JSONValue {
            try object.required(name, .string, endingAt: json.count)
        }
        let operations = Operation.allCases.map(\.rawValue).joined(separator: ", ")
        guard let operation = Operation(rawValue: try text("operation", of: request).string ?? "") else {
            throw JSONFault(.notAccepted("one of \(operations)"), field: "operation", at: json.count)
        }
        _ = try text("version", of: request)
        let info = try request.required("requestInfo", .object, endingAt: json.count)
        let reference = try text("requestReferenceId", of: info).string ?? ""
        guard ASCII.bytes(uuid: reference.utf8Span.span) != nil else {
            throw JSONFault(.notAccepted("a UUID"), field: "requestReferenceId", at: json.count)
        }
        var skus: Set<OutsideText> = []
        try request.collectSKUs(into: &skus, endingAt: json.count)
        (self.operation, self.skus, self.json) = (operation, skus, json)
    }
}

extension JSONValue {
    /// - Parameter end: the position of the fault, the end of the text.
    fileprivate func required(
        _ name: StaticString, _ type: JSONType, endingAt end: Int
    ) throws(JSONFault) -> JSONValue {
        guard let value = self[name] else { throw JSONFault(.missingField, field: "\(name)", at: end) }
        guard value.type == type else {
            throw JSONFault(.wrongType(expected: type, found: value.type), field: "\(name)", at: end)
        }
        return value
    }

    /// Adds the SKUs in this value, at any depth. A change of an item has `SKU` and `currentSKU`.
    ///
    /// Another reader may find a SKU under a name that is not these bytes: to Swift's `JSONDecoder` the Kelvin sign is a K,
    /// and some readers ignore case. So other names than Apple's kind are refused, and a SKU is one in any case.
    fileprivate func collectSKUs(into skus: inout Set<OutsideText>, endingAt end: Int) throws(JSONFault) {
        for element in elements ?? [] { try element.collectSKUs(into: &skus, endingAt: end) }
        for member in members ?? [] {
            guard member.name.utf8.allSatisfy(\.isOfName) else {
                throw JSONFault(.notAccepted(SKULimits.nameDescription), at: end)
            }
            guard member.name.utf8.suffix(3).elementsEqual("sku".utf8, by: { $0 | 0x20 == $1 }) else {
                try member.value.collectSKUs(into: &skus, endingAt: end)
                continue
            }
            guard case .string(let sku) = member.value.content, (1...SKULimits.skuBytes).contains(sku.utf8.count) else {
                throw JSONFault(.notAccepted(SKULimits.skuDescription), field: "SKU", at: end)
            }
            skus.insert(sku)
        }
    }

    private typealias SKULimits = AdvancedCommerceRequest.Limits
}

extension UInt8 {
    /// True for the characters of Apple's names.
    fileprivate var isOfName: Bool { ASCII.isSafe(self) && self != UInt8(ascii: ".") && self != UInt8(ascii: "-") }
}
