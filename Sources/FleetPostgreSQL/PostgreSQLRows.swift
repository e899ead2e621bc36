// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CLibPQ

/// What a statement answered; it stays on the thread of its session.
package final class PostgreSQLRows {
    private let result: OpaquePointer

    init(_ result: OpaquePointer) {
        self.result = result
    }

    deinit { PQclear(self.result) }

    /// How many rows there are.
    package var count: Int { Int(PQntuples(self.result)) }

    /// How many rows a statement that changes rows changed.
    package var changed: Int { PQcmdTuples(self.result).flatMap { Int(String(cString: $0)) } ?? 0 }

    /// The row of a number below ``count``.
    package subscript(row: Int) -> PostgreSQLRow { PostgreSQLRow(rows: self, row: Int32(clamping: row)) }

    /// The first row, if there is one.
    package var first: PostgreSQLRow? { self.count > 0 ? self[0] : nil }

    fileprivate func isNull(_ row: Int32, _ column: Int32) -> Bool { PQgetisnull(self.result, row, column) == 1 }

    fileprivate func bytes(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(self.result, row, column), count: Int(PQgetlength(self.result, row, column)))
    }
}

/// One row of an answer.
package struct PostgreSQLRow {
    fileprivate let rows: PostgreSQLRows
    fileprivate let row: Int32

    /// Whether a column is `NULL`.
    package func isNull(_ column: Int32) -> Bool { self.rows.isNull(self.row, column) }

    /// A `bigint`.
    ///
    /// - Parameter column: The column's number.
    /// - Returns: The value.
    /// - Throws: ``PostgreSQLError`` where it is none.
    package func integer(_ column: Int32) throws(PostgreSQLError) -> Int64 {
        let bytes = try self.value(column)
        guard bytes.count == 8 else { throw Self.mismatch(column, "bigint") }
        return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    }

    /// A `text`, or what is sent like one.
    ///
    /// - Parameter column: The column's number.
    /// - Returns: The value.
    /// - Throws: ``PostgreSQLError`` where it is none.
    package func text(_ column: Int32) throws(PostgreSQLError) -> String {
        String(decoding: try self.value(column), as: UTF8.self)
    }

    /// A `text`, or `nil`.
    package func optionalText(_ column: Int32) throws(PostgreSQLError) -> String? {
        self.isNull(column) ? nil : try self.text(column)
    }

    /// A `boolean`.
    ///
    /// - Parameter column: The column's number.
    /// - Returns: The value.
    /// - Throws: ``PostgreSQLError`` where it is none.
    package func bool(_ column: Int32) throws(PostgreSQLError) -> Bool {
        let bytes = try self.value(column)
        guard bytes.count == 1 else { throw Self.mismatch(column, "boolean") }
        return bytes[0] != 0
    }

    /// A `bytea`, or any other value in its binary form.
    ///
    /// - Parameter column: The column's number.
    /// - Returns: The value.
    /// - Throws: ``PostgreSQLError`` for `NULL`.
    package func bytes(_ column: Int32) throws(PostgreSQLError) -> [UInt8] { Array(try self.value(column)) }

    private func value(_ column: Int32) throws(PostgreSQLError) -> UnsafeRawBufferPointer {
        guard !self.isNull(column) else { throw Self.mismatch(column, "value") }
        return self.rows.bytes(self.row, column)
    }

    private static func mismatch(_ column: Int32, _ type: String) -> PostgreSQLError {
        PostgreSQLError(
            code: .wrongSchema,
            message: "Column \(column) of an answer holds no \(type); the tables are not as this version makes them.")
    }
}
