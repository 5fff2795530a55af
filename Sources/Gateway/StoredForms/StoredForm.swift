// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// A value with a stored form. `visitForm` names each field once, in order, for writing and for reading.
package protocol StoredForm {
    mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure)
}

/// The reason why a stored form cannot be read.
package enum StoredFormFault: Error, Hashable, Sendable {
    /// A newer version of the gateway wrote it.
    case unknownVersion(UInt8)
    case malformed
}

extension StoredForm {
    package var storedBytes: [UInt8] { storedBytes(upTo: .withCommerce) }

    /// - Parameter widest: the most that is written of the fields that only signed items have.
    package func storedBytes(upTo widest: SignedExtent) -> [UInt8] {
        var form = StoredFormWriter(upTo: widest), value = self
        value.visitForm(&form)
        return form.bytes
    }

    /// Reads the stored fields into this blank value.
    package mutating func read(_ storedBytes: [UInt8]) throws(StoredFormFault) {
        var form = StoredFormReader(storedBytes)
        try visitForm(&form)
        guard form.isAtEnd else { throw .malformed }
    }
}

/// Writes or reads the fields of a stored form. Names are not stored. All numbers are big-endian:
///
/// ```
/// byte, bit, code    1 byte; a bit is 0 or 1
/// number             8 bytes, two's complement; times and durations are numbers of milliseconds
/// data               4 bytes count, then the bytes; a word and a string are data in UTF-8
/// list               4 bytes count, then the elements; an optional is a list of one element, or of none
/// rest               the bytes up to the end
/// ```
/// The fields of transactions and plans (`FieldVisitor`) may be nil:
///
/// ```
/// text               4 bytes count + 1, then UTF-8; 0 for nil
/// texts              4 bytes count + 1, then the texts; 0 for nil
/// count, code, date  1 byte 1, then a number; 1 byte 0 for nil
/// flag               1 byte: 0 for nil, 1 false, 2 true
/// object             data in JSON
/// visitedFields      1 byte: 0 if the fields that only signed items have do not follow, 1 if they do, 2 if an object
///                    follows them
/// ```
package protocol StoredFormVisitor: FieldVisitor {
    mutating func byte(_ value: inout UInt8) throws(Failure)
    mutating func number(_ value: inout Int64) throws(Failure)
    mutating func data(_ value: inout [UInt8]) throws(Failure)
    /// Visits the bytes up to the end of the form.
    mutating func rest(_ value: inout [UInt8]) throws(Failure)
    /// Visits a version, to be written as `written`, and to be read as one of `accepted`.
    mutating func version(_ written: UInt8, accepted: ClosedRange<UInt8>) throws(Failure)
    /// Visits the number of a list's elements.
    mutating func count(_ value: inout UInt32) throws(Failure)
}

extension StoredFormVisitor {
    package mutating func version(_ only: UInt8) throws(Failure) { try version(only, accepted: only...only) }

    package mutating func code(_ name: StaticString, _ value: inout Int64?) throws(Failure) { try count(name, &value) }

    package mutating func bit(_ value: inout Bool) throws(Failure) {
        var byte: UInt8 = value ? 1 : 0
        try self.byte(&byte)
        if byte > 1 { try invalid("bit") }
        value = byte == 1
    }

    /// Visits one of a closed set of values by its code.
    package mutating func code<Code: RawRepresentable<UInt8>>(_ value: inout Code) throws(Failure) {
        var byte = value.rawValue
        try self.byte(&byte)
        if let known = Code(rawValue: byte) { value = known } else { try invalid("code") }
    }

    /// Visits one of these values by its place among them, from 1.
    package mutating func code<Value: Equatable>(_ value: inout Value, of values: [Value]) throws(Failure) {
        var byte = UInt8(values.firstIndex(of: value).map { $0 + 1 } ?? 0)
        try self.byte(&byte)
        let index = Int(byte) - 1
        if values.indices.contains(index) { value = values[index] } else { try invalid("code") }
    }

    package mutating func number(_ value: inout Int) throws(Failure) {
        var number = Int64(value)
        try self.number(&number)
        value = Int(clamping: number)
    }

    /// Visits an unsigned number by its bits.
    package mutating func number(_ value: inout UInt64) throws(Failure) {
        var number = Int64(bitPattern: value)
        try self.number(&number)
        value = UInt64(bitPattern: number)
    }

    package mutating func time(_ value: inout Timestamp) throws(Failure) {
        var milliseconds = value.millisecondsSince1970
        try number(&milliseconds)
        value = Timestamp(millisecondsSince1970: milliseconds)
    }

    package mutating func duration(_ value: inout Duration) throws(Failure) {
        var milliseconds = value.wholeMilliseconds
        try number(&milliseconds)
        value = .milliseconds(milliseconds)
    }

    package mutating func string(_ value: inout String) throws(Failure) {
        var bytes = Array(value.utf8)
        try data(&bytes)
        if let text = String(validating: bytes, as: UTF8.self) { value = text } else { try invalid("string") }
    }

    /// Visits one of a closed set of values by its name.
    package mutating func word<Word: RawRepresentable<String>>(_ value: inout Word) throws(Failure) {
        var name = value.rawValue
        try string(&name)
        if let known = Word(rawValue: name) { value = known } else { try invalid("word") }
    }

    package mutating func text(_ value: inout String) throws(Failure) { try required("text", &value) }

    package mutating func text(_ value: inout String?) throws(Failure) { try text("text", &value) }

    /// Visits an environment of Apple's by its code: 0 production, 1 sandbox.
    package mutating func environment(_ value: inout Environment) throws(Failure) {
        var isSandbox = value != .production
        try bit(&isSandbox)
        value = isSandbox ? .sandbox : .production
    }

    /// Visits a list of elements, each of at least one byte.
    /// - Parameter blank: the value of each element before it is read.
    package mutating func list<Element: StoredForm>(_ elements: inout [Element], of blank: Element) throws(Failure) {
        var count = UInt32(elements.count)
        try self.count(&count)
        elements.removeLast(max(0, elements.count - Int(count)))
        for index in 0..<Int(count) {
            // Only what was read takes memory, whatever number was announced.
            if index == elements.count { elements.append(blank) }
            try elements[index].visitForm(&self)
        }
    }

    package mutating func optional<Value: StoredForm>(_ value: inout Value?, of blank: Value) throws(Failure) {
        var values = value.map { [$0] } ?? []
        try list(&values, of: blank)
        if values.count > 1 { try invalid("optional") }
        value = values.first
    }
}

// The elements of lists, and the values of optionals.

extension String: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.string(&self)
    }
}

extension [UInt8]: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.data(&self)
    }
}

extension Duration: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.duration(&self)
    }
}

extension Environment: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.word(&self)
    }
}
