// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
internal import Receipts

// Apple writes most numbers and flags as strings, some as numbers, and changed this over the years. These functions
// accept a scalar in all known forms.

extension JSONValue {
    /// A string, or a number as it is written.
    var scalarText: String? {
        switch self {
        case .string(let string): string
        case .number(let number): number.text
        case .object, .array, .bool, .null: nil
        }
    }

    /// An integer, or a string that is one.
    var scalarInteger: Int64? {
        switch self {
        case .number(let number): number.integer
        case .string(let string): string.hasPrefix("+") ? nil : Int64(string)
        case .object, .array, .bool, .null: nil
        }
    }

    /// `true`, 1, `"true"`, `"1"` and their opposites.
    var scalarFlag: Bool? {
        if let bool { return bool }
        return switch scalarText {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }

    /// A date in any of the three forms; iOS 6 style answers have milliseconds under the plain name.
    var scalarDate: Timestamp? {
        scalarText.flatMap { AppleDate($0) }?.timestamp
    }

    /// True for `null` and the empty string, which mean the same as an absent member.
    var isAbsent: Bool { self == .null || self == .string("") }
}

/// Parses the members that decide about entitlements, and throws if one is unreadable. An expiry date that is skipped
/// would make a subscription endless; a cancellation date, uncancelled.
struct EntitlementMembers {
    let json: JSONValue
    let path: String

    func value<Value>(
        _ name: String, _ read: (JSONValue) -> Value?
    ) throws(AppStoreFault) -> Value? {
        guard let value = json[name], !value.isAbsent else { return nil }
        guard let result = read(value) else { throw .unreadable(path + name) }
        return result
    }

    func text(_ name: String) throws(AppStoreFault) -> String {
        guard let text = try value(name, \.scalarText) else { throw .missing(path + name) }
        return text
    }

    /// Returns a date: its milliseconds if present, else its best other form.
    func date(_ name: String) throws(AppStoreFault) -> Timestamp? {
        if let date = try value(name + "_ms", \.scalarInteger) { return Timestamp(millisecondsSince1970: date) }
        for suffix in ["", "_formatted", "_pst", "_formatted_pst"] {
            if let date = try value(name + suffix, \.scalarDate) { return date }
        }
        return nil
    }

    /// Returns the objects of a list, or the single object of an iOS 6 style answer.
    func objects(_ name: String) throws(AppStoreFault) -> [JSONValue] {
        guard let value = json[name], !value.isAbsent else { return [] }
        let objects = value.elements ?? [value]
        guard objects.allSatisfy({ $0.type == .object }) else { throw .unreadable(path + name) }
        return objects
    }

    func transactions(_ name: String) throws(AppStoreFault) -> [Transaction] {
        try objects(name).map { object throws(AppStoreFault) in try Transaction(object, path: path + name + ".") }
    }
}
