// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
public import FleetSigning
public import FleetTokens
public import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A folder of service accounts' key files, one account for each role.
///
/// `ROLE.json` is a role's oldest key; `ROLE.TIME.json` are those that followed, by the Unix time at which each was made
/// known; what each key is good for follows from the names. Every change is one rename, link or removal, so a reader sees
/// it whole or not at all, and who changes the folder waits for others who do. Beside that, `.retired` tells which keys
/// were retired: one that is put back is refused.
public struct KeyFolder: Sendable {
    private let folder: URL
    private let contents: @Sendable (URL) throws -> Data
    private let addName: @Sendable (_ name: String, _ path: String) -> CInt

    /// Uses a folder, which must exist.
    ///
    /// - Parameter path: The folder.
    public init(path: String) {
        self.init(path: path) { try Data(contentsOf: $0) }
    }

    /// Uses a folder, and reads its key files, or gives a file a second name, in a way of one's own.
    init(
        path: String, reading contents: @escaping @Sendable (URL) throws -> Data,
        naming addName: @escaping @Sendable (_ name: String, _ path: String) -> CInt = { link($1, $0) }
    ) {
        self.folder = URL(filePath: path, directoryHint: .isDirectory)
        self.contents = contents
        self.addName = addName
    }

    /// The role that a key file belongs to by its name; `nil` where it is none's.
    public static func role(ofFile name: String) -> Role? {
        let role = Role(rawValue: String(name.prefix { $0 != "." }))
        return Role.known.contains(role) && Self.time(ofFile: name, of: role) != nil ? role : nil
    }

    /// Reads every key.
    ///
    /// - Returns: The keys of each role.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` that names the file, as for a
    ///   key that was retired and put back.
    public func read() throws(TokenServerError) -> [Role: KeyRing] {
        try self.read(clock: ContinuousClock(), now: { Date() })
    }

    /// Reads every key, with what tells how long shared tokens last and which date they carry.
    func read(
        clock: some Clock<Duration>, now: @escaping @Sendable () -> Date
    ) throws(TokenServerError) -> [Role: KeyRing] {
        // Looked at first: a key that is retired meanwhile is no reason for an alarm, and its absence is seen next time.
        let retired = try self.retired
        let rings = try self.rings(clock: clock, now: now)
        for (role, ring) in rings.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            for entry in ring.entries where retired.contains(entry.key.keyID, of: role) {
                throw Self.putBack(entry, of: role)
            }
        }
        return rings
    }

    /// Reads every key, also those that were retired and put back, for who changes the folder: so they can be removed.
    ///
    /// - Returns: The keys of each role.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` that names the file.
    package func readToChange() throws(TokenServerError) -> [Role: KeyRing] {
        // Nothing is changed where nobody can tell which keys were retired.
        _ = try self.retired
        return try self.rings(clock: ContinuousClock(), now: { Date() })
    }

    private func rings(
        clock: some Clock<Duration>, now: @escaping @Sendable () -> Date
    ) throws(TokenServerError) -> [Role: KeyRing] {
        try ListedFiles.read(
            self.files, at: { $0.values.joined().map { self.path(of: $0.name) } }
        ) { (files) throws(TokenServerError) in try self.rings(of: files, clock: clock, now: now) }
    }

    private func rings(
        of files: [Role: [File]], clock: some Clock<Duration>, now: @escaping @Sendable () -> Date
    ) throws(TokenServerError) -> [Role: KeyRing] {
        var rings: [Role: KeyRing] = [:]
        for (role, files) in files {
            var entries: [KeyRing.Entry] = []
            for file in files {
                let (key, signer) = try self.key(file.name)
                entries.append(
                    KeyRing.Entry(key, signer: signer, of: role, file: file.name, clock: clock, now: now))
            }
            guard Set(entries.map(\.key.account)).count == 1 else {
                throw Self.invalid("The key files of the role \(role) belong to different accounts; remove one's.")
            }
            rings[role] = KeyRing(entries: entries, schedule: KeySchedule(published: files.map(\.published)))
        }
        return rings
    }

    /// What the key of each file is good for at a time, by the file's name and by which keys were retired.
    ///
    /// A file that holds no key is judged by its name alone.
    ///
    /// - Parameter time: The time.
    /// - Returns: The files of all roles; none where the folder holds no key files.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` where the folder or its `.retired`
    ///   cannot be read.
    package func states(at time: Date) throws(TokenServerError) -> [String: KeySchedule.State] {
        var states: [String: KeySchedule.State] = [:]
        let retired = try self.retired
        for (role, files) in try self.files() {
            let schedule = KeySchedule(published: files.map(\.published))
            for (index, file) in files.enumerated() {
                let keyID = retired.isEmpty ? nil : self.keyID(file.name)
                let isPutBack = keyID.map { retired.contains($0, of: role) } ?? false
                states[file.name] = isPutBack ? .retired : schedule.state(of: index, at: time)
            }
        }
        return states
    }

    /// What the folder's files are called and which versions of them it has, to tell whether anything changed.
    struct Fingerprint: Hashable, Sendable {
        fileprivate let names: [String]
        fileprivate let versions: FileVersions
    }

    /// The fingerprint now; taken before the keys are read, so that what changes meanwhile is read again.
    func fingerprint() throws(TokenServerError) -> Fingerprint {
        let names = try self.files().values.joined().map { $0.name }.sorted()
        return Fingerprint(
            names: names, versions: FileVersions(of: names.map { self.path(of: $0) }))
    }

    /// Makes a new key for a role known.
    ///
    /// - Parameters:
    ///   - role: The role.
    ///   - key: A key that the account has already, as Google makes them; `nil` makes one that is known nowhere but to who
    ///     reads this server's key set.
    ///   - now: The time.
    /// - Returns: The role's keys, the new one last.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public func rotate(
        _ role: Role, to key: ServiceAccountKey? = nil, at now: Date
    ) throws(TokenServerError) -> KeyRing {
        let lock = try self.lock()
        defer { lock.release() }
        let ring = try self.ring(of: role)
        guard let newest = ring.entries.last else { throw Self.invalid("The role \(role) has no key.") }
        let index = ring.entries.count - 1
        guard ring.schedule.state(of: index, at: now) != .published else {
            throw Self.invalid(
                "The newest key of the role \(role), \(newest.key.keyID), does not sign yet; wait until it does.")
        }
        if let key {
            guard key.account == newest.key.account else {
                throw Self.invalid(
                    "The new key is of \(key.account), and those of the role \(role) are of \(newest.key.account).")
            }
            guard try !self.retired.contains(key.keyID, of: role) else {
                throw Self.invalid(
                    "The key \(key.keyID) was retired from the role \(role), and never signs again; have a new one made."
                )
            }
            guard !ring.entries.contains(where: { $0.key.keyID == key.keyID }) else {
                throw Self.invalid("The role \(role) has the key \(key.keyID) already.")
            }
        }
        let second = now.timeIntervalSince1970.rounded(.down)
        let name = "\(role).\(Int64(second)).json"
        do {
            let key =
                try key ?? ServiceAccountKey(generatingFor: newest.key.account, projectID: newest.key.projectID)
            let entry = KeyRing.Entry(
                key, signer: try LocalSigner(key), of: role, file: name, clock: ContinuousClock(), now: { Date() })
            try self.add(key.keyFile, as: name)
            return ring.adding(entry, published: Date(timeIntervalSince1970: second))
        } catch {
            throw Self.invalid("The key file \(name) cannot be written: \(self.problem(with: name, error)).")
        }
    }

    /// Removes a key; the next one takes its place and time, so that it signs at once where the key did.
    ///
    /// - Parameters:
    ///   - keyID: The key.
    ///   - role: Whose it is.
    ///   - now: The time.
    ///   - isForced: Whether it is removed although tokens of it may be alive, as for a key that was stolen.
    /// - Returns: The role's keys that are left.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``, as where only keys would be left
    ///   that are retired.
    public func retire(
        _ keyID: String, of role: Role, at now: Date, isForced: Bool
    ) throws(TokenServerError) -> KeyRing {
        let lock = try self.lock()
        defer { lock.release() }
        let ring = try self.ring(of: role)
        guard let index = ring.entries.firstIndex(where: { $0.key.keyID == keyID }) else {
            throw Self.invalid("The role \(role) has no key \(keyID).")
        }
        guard let successor = ring.schedule.successor(of: index, at: now) else {
            throw Self.invalid("The role \(role) has no key that can sign in place of \(keyID); rotate first.")
        }
        let state = ring.schedule.state(of: index, at: now)
        guard state == .retired || isForced else {
            let end = ring.schedule.end(of: index).map { ", until \($0.formatted(.iso8601))" } ?? ""
            throw Self.invalid("The key \(keyID) is \(state)\(end); tokens of it may be alive.")
        }
        let file = ring.entries[index].file
        var retired = try self.retired
        retired.insert(keyID, of: role)
        do {
            // Before the key goes, so that no reader takes it for one that was merely replaced.
            let draft = try self.draft(Data(retired.text.utf8), of: Self.retiredList)
            try self.move(draft, over: Self.retiredList)
            if successor > index {
                // The next key takes its name, and with it its place and time, in one step.
                try self.move(ring.entries[successor].file, over: file)
            } else {
                try FileManager.default.removeItem(at: self.url(file))
                try self.settle()
            }
        } catch {
            throw Self.invalid("The key file \(file) cannot be removed: \(self.problem(with: file, error)).")
        }
        return ring.removing(index, for: successor)
    }
}

extension KeyFolder {
    private static let retiredList = ".retired"

    /// The keys that were retired here, which are not to be trusted whatever took their places, and never sign again.
    ///
    /// Only where there is no list are there none: one that cannot be read may name a key that was stolen.
    var retired: RetiredKeys {
        get throws(TokenServerError) {
            let path = self.path(of: Self.retiredList)
            do {
                return RetiredKeys(text: try String(contentsOfFile: path, encoding: .utf8))
            } catch let error as CocoaError where error.code == .fileReadNoSuchFile && !Self.isLink(path) {
                return RetiredKeys(text: "")
            } catch {
                if let problem = PathProblem.reading(folder: self.path) { throw self.unreadable(problem) }
                let reason = PathProblem.reading(path) ?? error.localizedDescription
                throw Self.invalid(
                    "\(path), the list of the keys that were retired, cannot be read: \(reason); let this user read it, "
                        + "or restore it. Without it, a retired key that is put back would sign again.")
            }
        }
    }

    /// Whether a path is a link, wherever that leads.
    private static func isLink(_ path: String) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil
    }

    private static func putBack(_ entry: KeyRing.Entry, of role: Role) -> TokenServerError {
        Self.invalid(
            "The key file \(entry.file) holds the key \(entry.key.keyID), which was retired and never signs again. Remove "
                + "the file where the role \(role) has another key; otherwise put a new key in its place, or run fleetpass "
                + "keys rotate and then keys retire --force for that key.")
    }
}

extension KeyFolder {
    private typealias File = (name: String, published: Date)

    private func files() throws(TokenServerError) -> [Role: [File]] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: self.path)
        } catch {
            throw self.unreadable(PathProblem.reading(folder: self.path) ?? error.localizedDescription)
        }
        var files: [Role: [File]] = [:]
        for name in names {
            guard let role = Self.role(ofFile: name), let time = Self.time(ofFile: name, of: role) else { continue }
            files[role, default: []].append((name, time))
        }
        return files.mapValues { $0.sorted { $0.published < $1.published } }
    }

    private var path: String { self.folder.path(percentEncoded: false) }

    private func unreadable(_ problem: String) -> TokenServerError {
        Self.invalid(
            "The key folder \(self.path) cannot be read: \(problem); name a folder that this user may read, such as "
                + "service-accounts in the data folder of fleetpass up.")
    }

    /// When a key was made known by its file's name; `nil` where the name is not of the form.
    private static func time(ofFile name: String, of role: Role) -> Date? {
        if name == "\(role).json" { return .distantPast }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2] == "json", let time = Int64(parts[1]), time > 0 else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(time))
    }

    private func ring(of role: Role) throws(TokenServerError) -> KeyRing {
        guard let ring = try self.readToChange()[role] else {
            throw Self.invalid(
                "\(self.path) holds no key of the role \(role); start the service once.")
        }
        return ring
    }

    private func key(_ name: String) throws(TokenServerError) -> (key: ServiceAccountKey, signer: LocalSigner) {
        do {
            let key = try ServiceAccountKey(json: self.contents(self.url(name)))
            return (key, try LocalSigner(key))
        } catch let error as SigningError {
            throw Self.invalid("\(name): \(error.message)")
        } catch {
            let path = self.path(of: name)
            // Foundation takes it for one that this user may not read.
            let kind = FileMode.isRegular(path) ? nil : "it is no regular file; put the key file itself there"
            let reason = PathProblem.reading(path) ?? kind ?? error.localizedDescription
            throw Self.invalid("The key file \(name) cannot be read: \(reason).")
        }
    }

    /// The id of a file's key; `nil` where it holds none.
    private func keyID(_ name: String) -> String? {
        (try? self.contents(self.url(name))).flatMap { try? ServiceAccountKey(json: $0) }?.keyID
    }

    private func url(_ name: String) -> URL { self.folder.appending(path: name) }

    private func path(of name: String) -> String { self.url(name).path(percentEncoded: false) }

    /// Keeps everybody else who changes the folder waiting, in this process and in others, until what is returned is
    /// released.
    private func lock() throws(TokenServerError) -> FileLock {
        do throws(SystemRefusal) {
            // The folder itself, so that one that holds nothing but keys stays so.
            return try FileLock(folder: self.path)
        } catch {
            if let problem = PathProblem.reading(folder: self.path) { throw self.unreadable(problem) }
            throw Self.invalid("The key folder \(self.path) cannot be kept from others who change it: \(error).")
        }
    }

    /// Writes what a file is to hold beside it, so that it appears whole; the folder's owner alone can read it from its first
    /// moment, and it is on the disk, as whoever handed a key over removes it.
    ///
    /// - Returns: The draft's name.
    private func draft(_ bytes: Data, of name: String) throws(SystemRefusal) -> String {
        let draft = ".\(name).new"
        let path = self.path(of: draft)
        // One of a run that was killed.
        unlink(path)
        try PrivateFile.make(at: path, holding: bytes, goesToFolder: true)
        return draft
    }

    /// Adds a file, and never in another's place.
    private func add(_ bytes: Data, as name: String) throws(SystemRefusal) {
        let draft = try self.draft(bytes, of: name)
        let (source, target) = (self.path(of: draft), self.path(of: name))
        defer { unlink(source) }
        if self.addName(target, source) == 0 { return try self.settle() }
        let refusal = SystemRefusal()
        // Some file systems have no hard links. Whoever else changes the folder waits for this.
        guard [EPERM, EOPNOTSUPP, ENOSYS].contains(refusal.number), !FileManager.default.fileExists(atPath: target)
        else { throw refusal }
        try self.move(draft, over: name)
    }

    /// What keeps this user from changing a file of the folder, with what to do where that is known.
    private func problem(with name: String, _ error: any Error) -> String {
        guard let refusal = error as? SystemRefusal else { return "\(error)" }
        if refusal.number == EROFS { return "\(self.path) is on a disk that can only be read; mount it to be written" }
        let problem = PathProblem.making(file: self.path(of: name))
        return problem.map { "\($0); run this as the folder's owner" } ?? refusal.description
    }

    private func move(_ source: String, over target: String) throws(SystemRefusal) {
        guard rename(self.path(of: source), self.path(of: target)) == 0 else { throw SystemRefusal() }
        try self.settle()
    }

    private func settle() throws(SystemRefusal) { try PrivateFile.settle(self.path) }

    private static func invalid(_ message: String) -> TokenServerError {
        TokenServerError(code: .invalidConfiguration, message: message)
    }
}
