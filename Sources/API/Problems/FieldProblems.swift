// SPDX-License-Identifier: Apache-2.0

internal import HTTPServer
internal import HTTPTypes
internal import Receipts

extension Problem {
    /// Decodes a field of a body, and names the field in the problem for its fault. A position in its text counts inside
    /// the field.
    static func ofField<Value>(_ field: some RawRepresentable<String>, _ decode: () throws -> Value) throws -> Value {
        do {
            return try decode()
        } catch let error as Base64Error {
            throw Problem(error, error.fault.rawValue, in: field)
        } catch let error as MisplacedInput {
            throw Problem(error, error.rawValue, in: field)
        }
    }

    /// - Parameter error: its description is the rest of a sentence about the field.
    private init(_ error: any Error, _ fault: String, in field: some RawRepresentable<String>) {
        let name = field.rawValue
        self.init(.badRequest, .invalidBody, "\"\(name)\" \(error)", field: name, fault: fault)
    }
}
