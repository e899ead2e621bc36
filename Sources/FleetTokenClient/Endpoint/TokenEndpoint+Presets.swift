// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension TokenEndpoint {
    /// The contract of the vendor's sample server for on-demand trips: `token/driver/ID` and `token/consumer/ID`.
    ///
    /// - Parameter server: The server's address; `https`, or `http` to this machine.
    /// - Returns: The endpoint.
    /// - Throws: ``TokenClientError`` with `insecureURL` or `invalidConfiguration`.
    public static func onDemand(_ server: URL) throws(TokenClientError) -> Self {
        try Self(server: server, answer: { _ in .onDemand }) { subject in
            switch subject {
            case .driver, .consumer: subject.standardRoute
            case .deliveryDriver, .deliveryConsumer, .fleetReader: nil
            }
        }
    }

    /// The contract of the vendor's sample server for scheduled tasks: `token/delivery_driver/ID`,
    /// `token/delivery_consumer/ID` and `token/fleet_reader`.
    ///
    /// It has no place for a task; a delivery driver's token for one task needs another server.
    ///
    /// - Parameter server: The server's address; `https`, or `http` to this machine.
    /// - Returns: The endpoint.
    /// - Throws: ``TokenClientError`` with `insecureURL` or `invalidConfiguration`.
    public static func scheduled(_ server: URL) throws(TokenClientError) -> Self {
        try Self(server: server, answer: { _ in .scheduled }) { subject in
            switch subject {
            case .deliveryDriver(_, task: nil), .deliveryConsumer, .fleetReader: subject.standardRoute
            case .deliveryDriver, .driver, .consumer: nil
            }
        }
    }

    /// The contract of Fleetpass's own token server, which has a token for every subject.
    ///
    /// Its paths are those of both sample servers, a task goes into the query as `task`, and its answers tell the life
    /// in seconds (`expires_in`) and when to ask again (`refresh_after`).
    ///
    /// - Parameter server: The server's address; `https`, or `http` to this machine.
    /// - Returns: The endpoint.
    /// - Throws: ``TokenClientError`` with `insecureURL` or `invalidConfiguration`.
    public static func fleetpass(_ server: URL) throws(TokenClientError) -> Self {
        try Self(
            server: server,
            answer: { subject in
                switch subject {
                case .driver, .consumer: .fleetpass(tokenKey: TokenAnswerFormat.onDemand.tokenKey)
                case .deliveryDriver, .deliveryConsumer, .fleetReader:
                    .fleetpass(tokenKey: TokenAnswerFormat.scheduled.tokenKey)
                }
            },
            route: { $0.standardRoute }
        )
    }

    /// Describes a server of your own by a path such as `auth/{kind}/{id}` or `token?vehicleId={id}`.
    ///
    /// `{kind}` is `driver`, `consumer`, `delivery_driver`, `delivery_consumer` or `fleet_reader`; `{id}` is the
    /// subject's id, and `{task}` its task. A subject that has no value for a placeholder has no token here, nor has one
    /// with an id where `{id}` is missing, or with a task where `{task}` is: the server could only guess whose token is
    /// asked for. Where it knows that otherwise, as by who is signed in, describe it by its routes:
    /// ``init(server:answer:route:)``.
    ///
    /// - Parameters:
    ///   - server: The server's address; `https`, or `http` to this machine.
    ///   - path: The path under it, and a query if there is one, as plain text without `#` and `%`: everything is encoded
    ///     here, and a placeholder stays inside its segment or value whatever the id holds.
    ///   - answer: The keys of the answer.
    /// - Throws: ``TokenClientError`` with `insecureURL` or `invalidConfiguration`.
    public init(server: URL, path: String, answer: TokenAnswerFormat) throws(TokenClientError) {
        let template = try TokenPathTemplate(path)
        try self.init(
            server: server, checkedRoute: { subject throws(TokenClientError) in try template.route(for: subject) },
            answer: { _ in answer })
    }
}

extension TokenAnswerFormat {
    /// The answer of the vendor's sample server for on-demand trips.
    public static let onDemand = Self(
        tokenKey: "jwt",
        expiry: Expiry(key: "expirationTimestamp", unit: .milliseconds, reference: .unixEpoch)
    )

    /// The answer of the vendor's sample server for scheduled tasks.
    public static let scheduled = Self(
        tokenKey: "token",
        expiry: Expiry(key: "expiration_timestamp_ms", unit: .milliseconds, reference: .unixEpoch)
    )

    static func fleetpass(tokenKey: String) -> Self {
        Self(
            tokenKey: tokenKey,
            expiry: Expiry(key: "expires_in", unit: .seconds, reference: .answer),
            refreshAfterKey: "refresh_after"
        )
    }
}
