// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Finds the credentials that a program runs with, as every Google library does (AIP-4110).
///
/// The order is: what the caller gives, the file that `GOOGLE_APPLICATION_CREDENTIALS` names, the file that `gcloud`
/// wrote, the metadata server. A place that holds something unusable ends the search with an error; it never falls
/// through to an identity that nobody meant. Only `gcloud`'s file counts as absent where the way to it is barred, as it
/// is to processes without a home. Errors list the steps and what each found.
public struct ApplicationDefaultCredentials: Sendable {
    /// Credentials that a caller gives.
    public enum Explicit: Sendable {
        /// The path of a credential file.
        case file(String)
        /// The content of a credential file.
        case json([UInt8])
    }

    private static let variable = "GOOGLE_APPLICATION_CREDENTIALS"

    let context: CredentialContext
    private let explicit: Explicit?
    private let quotaProject: String?
    private let universeDomain: String?

    /// Makes a search.
    ///
    /// - Parameters:
    ///   - context: Variables, files and network.
    ///   - explicit: Credentials that come before all others.
    ///   - quotaProject: The project to bill; it comes before `GOOGLE_CLOUD_QUOTA_PROJECT` and the file's.
    ///   - universeDomain: The universe that the credentials must belong to; it comes before
    ///     `GOOGLE_CLOUD_UNIVERSE_DOMAIN`. Any is taken where neither is set.
    public init(
        context: CredentialContext, explicit: Explicit? = nil, quotaProject: String? = nil,
        universeDomain: String? = nil
    ) {
        self.context = context
        self.explicit = explicit
        self.quotaProject = quotaProject ?? context.variable("GOOGLE_CLOUD_QUOTA_PROJECT")
        self.universeDomain = universeDomain ?? context.variable("GOOGLE_CLOUD_UNIVERSE_DOMAIN")
    }

    /// Runs the search.
    ///
    /// - Returns: The credentials, which say in ``GoogleCredential/search`` how they were found.
    /// - Throws: ``CredentialError`` with the steps in ``CredentialError/search``; `CancellationError`.
    public func load() async throws -> GoogleCredential {
        var steps: [SearchStep] = []
        do {
            var credential = try await self.search(&steps)
            try await self.checkUniverse(of: credential)
            credential.search = steps
            return credential
        } catch var error as CredentialError {
            error.search = steps
            throw error
        }
    }

    private func search(_ steps: inout [SearchStep]) async throws -> GoogleCredential {
        switch self.explicit {
        case .json(let bytes):
            return try self.recording(.explicit, in: &steps) { try self.credential(in: bytes, of: "the given JSON") }
        case .file(let path):
            return try self.recording(.explicit, in: &steps) { try self.credential(at: path) }
        case nil:
            steps.append(SearchStep(place: .explicit, finding: "nothing given"))
        }
        if let path = self.context.variables[Self.variable] {
            return try self.recording(.variable, in: &steps) {
                guard !path.isEmpty else {
                    throw CredentialError(
                        code: .invalidConfiguration,
                        message: "\(Self.variable) is set and empty; name a credential file, or unset it."
                    )
                }
                return try self.credential(at: path)
            }
        }
        steps.append(SearchStep(place: .variable, finding: "not set"))
        if let credential = try self.gcloudCredential(&steps) { return credential }

        let server = MetadataServer(context: self.context)
        let (isPresent, finding) = try await server.detect()
        steps.append(SearchStep(place: .metadataServer, finding: finding))
        guard isPresent else {
            throw CredentialError(
                code: .notFound,
                message: "There are no Application Default Credentials; run gcloud auth application-default login,"
                    + " or set \(Self.variable) to a credential file."
            )
        }
        return GoogleCredential(
            kind: .metadataServer, source: server, context: self.context, quotaProject: self.quotaProject, universe: nil
        )
    }

    private func gcloudCredential(_ steps: inout [SearchStep]) throws -> GoogleCredential? {
        let folder: String
        switch (self.context.variables["CLOUDSDK_CONFIG"], self.context.variable("HOME")) {
        case ("", _):
            return try self.recording(.gcloudFile, in: &steps) {
                throw CredentialError(
                    code: .invalidConfiguration,
                    message: "CLOUDSDK_CONFIG is set and empty; name gcloud's configuration folder, or unset it."
                )
            }
        case (let configured?, _): folder = configured
        case (nil, let home?): folder = "\(home)/.config/gcloud"
        case (nil, nil):
            steps.append(SearchStep(place: .gcloudFile, finding: "neither CLOUDSDK_CONFIG nor HOME is set"))
            return nil
        }
        let path = "\(folder)/application_default_credentials.json"
        let bytes: [UInt8]?
        do throws(CredentialError) {
            bytes = try self.read(path)
        } catch {
            guard let barrier = error.cause as? UnreachableFile else {
                steps.append(SearchStep(place: .gcloudFile, finding: error.message))
                throw error
            }
            steps.append(SearchStep(place: .gcloudFile, finding: "not reachable: \(path) (\(barrier.reason))"))
            return nil
        }
        guard let bytes else {
            steps.append(SearchStep(place: .gcloudFile, finding: "no file \(path)"))
            return nil
        }
        return try self.recording(.gcloudFile, in: &steps) { try self.credential(in: bytes, of: path) }
    }

    /// Runs a step and writes down what it found, also when it fails.
    private func recording<Result>(
        _ place: SearchStep.Place, in steps: inout [SearchStep],
        _ body: () throws -> Result
    ) throws -> Result {
        do {
            let result = try body()
            steps.append(SearchStep(place: place, finding: "found \(result)"))
            return result
        } catch let error as CredentialError {
            steps.append(SearchStep(place: place, finding: error.message))
            throw error
        }
    }

    private func read(_ path: String) throws(CredentialError) -> [UInt8]? {
        do {
            return try self.context.readFile(path)
        } catch {
            throw CredentialError(
                code: .invalidConfiguration,
                message: "The credential file \(path) cannot be read; check its permissions.",
                cause: error
            )
        }
    }

    private func credential(at path: String) throws(CredentialError) -> GoogleCredential {
        guard let bytes = try self.read(path) else {
            throw CredentialError(code: .invalidConfiguration, message: "There is no credential file \(path).")
        }
        return try self.credential(in: bytes, of: path)
    }

    private func credential(in bytes: [UInt8], of origin: String) throws(CredentialError) -> GoogleCredential {
        try CredentialFile(bytes, origin: origin, context: self.context).credential(quotaProject: self.quotaProject)
    }

    private func checkUniverse(of credential: GoogleCredential) async throws {
        guard let universeDomain else { return }
        let actual = try await credential.universeDomain()
        guard actual == universeDomain else {
            throw CredentialError(
                code: .invalidConfiguration,
                message: "The credentials belong to the universe \(actual), and \(universeDomain) is configured;"
                    + " use credentials of that universe."
            )
        }
    }
}

extension ApplicationDefaultCredentials.Explicit: CustomStringConvertible, CustomDebugStringConvertible {
    /// The path, or how long the content is, never the content.
    public var description: String {
        switch self {
        case .file(let path): "file(\(path))"
        case .json(let bytes): "json(\(bytes.count) bytes)"
        }
    }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
}

extension ApplicationDefaultCredentials.Explicit: CustomReflectable {
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["explicit": self.description]) }
}
