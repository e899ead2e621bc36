// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import CFleetTokenClient
import FleetTokenClient
import Foundation

extension fp_options {
    /// Every setting at its default.
    static var defaults: Self {
        let cache = TokenCacheConfiguration()
        var options = Self()
        options.struct_size = MemoryLayout<Self>.size
        options.endpoint = fp_endpoint_kind(FP_ENDPOINT_FLEETPASS)
        options.answer.expiry_unit = fp_expiry_unit(FP_EXPIRY_SECONDS)
        options.answer.expiry_reference = fp_expiry_reference(FP_EXPIRY_ANSWER)
        options.capacity = Int32(clamping: cache.capacity)
        options.refusals_per_minute = Int32(clamping: cache.refusalsPerMinute)
        options.minimum_life_ms = cache.minimumLife.wholeMilliseconds
        options.refresh_before_ms = cache.refreshBefore.wholeMilliseconds
        options.fetch_timeout_ms = cache.fetchTimeout.wholeMilliseconds
        options.back_off_base_ms = cache.backOffBase.wholeMilliseconds
        options.back_off_cap_ms = cache.backOffCap.wholeMilliseconds
        options.retry_after_limit_ms = cache.retryAfterLimit.wholeMilliseconds
        options.patience_ms = cache.patience.wholeMilliseconds
        return options
    }

    /// How tokens are kept; its ranges are checked by the provider.
    var cacheConfiguration: TokenCacheConfiguration {
        TokenCacheConfiguration(
            capacity: Int(self.capacity), minimumLife: .milliseconds(self.minimum_life_ms),
            refreshBefore: .milliseconds(self.refresh_before_ms), fetchTimeout: .milliseconds(self.fetch_timeout_ms),
            patience: .milliseconds(self.patience_ms), backOffBase: .milliseconds(self.back_off_base_ms),
            backOffCap: .milliseconds(self.back_off_cap_ms),
            retryAfterLimit: .milliseconds(self.retry_after_limit_ms), refusalsPerMinute: Int(self.refusals_per_minute))
    }

    /// Where tokens outlive the process, or `nil`.
    func makeStore() throws(CFailure) -> FileTokenStore? {
        guard let folder = try CArgument.optionalText(self.store_folder, "options.store_folder") else { return nil }
        // A relative path would depend on the process's folder, which is the root on phones.
        guard folder.hasPrefix("/") else {
            throw .invalidArgument("options.store_folder is not an absolute path.")
        }
        return FileTokenStore(folder: URL(fileURLWithPath: folder, isDirectory: true))
    }

    /// Where tokens come from.
    ///
    /// - Returns: The endpoint.
    /// - Throws: `CFailure`, or `TokenClientError` with `insecureURL` or `invalidConfiguration`.
    func makeEndpoint() throws -> TokenEndpoint {
        guard let server = URL(string: try CArgument.text(self.server_url, "options.server_url")) else {
            throw CFailure.invalidArgument("options.server_url is not a URL; write it as https://host/path.")
        }
        switch Int(self.endpoint) {
        case FP_ENDPOINT_ON_DEMAND: return try .onDemand(server)
        case FP_ENDPOINT_SCHEDULED: return try .scheduled(server)
        case FP_ENDPOINT_FLEETPASS: return try .fleetpass(server)
        case FP_ENDPOINT_CUSTOM:
            let path = try CArgument.text(self.path, "options.path")
            return try TokenEndpoint(server: server, path: path, answer: try self.answer.makeFormat())
        default:
            throw CFailure.invalidArgument("options.endpoint is \(self.endpoint), which names no kind of endpoint.")
        }
    }
}

extension fp_answer_format {
    fileprivate func makeFormat() throws(CFailure) -> TokenAnswerFormat {
        var format = TokenAnswerFormat(tokenKey: try CArgument.text(self.token_key, "options.answer.token_key"))
        format.refreshAfterKey = try CArgument.optionalText(
            self.refresh_after_key, "options.answer.refresh_after_key")
        guard let key = try CArgument.optionalText(self.expiry_key, "options.answer.expiry_key") else { return format }
        let unit: TokenAnswerFormat.Unit =
            switch Int(self.expiry_unit) {
            case FP_EXPIRY_SECONDS: .seconds
            case FP_EXPIRY_MILLISECONDS: .milliseconds
            default: throw .invalidArgument("options.answer.expiry_unit is \(self.expiry_unit), which names no unit.")
            }
        let reference: TokenAnswerFormat.Reference =
            switch Int(self.expiry_reference) {
            case FP_EXPIRY_UNIX_EPOCH: .unixEpoch
            case FP_EXPIRY_ANSWER: .answer
            default:
                throw .invalidArgument(
                    "options.answer.expiry_reference is \(self.expiry_reference), which names no reference.")
            }
        format.expiry = .init(key: key, unit: unit, reference: reference)
        return format
    }
}

extension fp_options {
    /// The size of the struct's first version, which programs compiled with it still pass.
    private static let firstSize = MemoryLayout<Self>.offset(of: \.store_folder) ?? MemoryLayout<Self>.size

    /// Reads the options as far as the program that filled them knows them; the rest stays at its default.
    init(_ pointer: UnsafePointer<Self>?) throws(CFailure) {
        guard let pointer, pointer.pointee.struct_size >= Self.firstSize else {
            throw .invalidArgument("options is NULL or was not filled by fp_options_init.")
        }
        self = .defaults
        let known = UnsafeRawBufferPointer(
            start: pointer, count: min(pointer.pointee.struct_size, MemoryLayout<Self>.size))
        withUnsafeMutableBytes(of: &self) { $0.copyMemory(from: known) }
    }

    /// Writes the defaults as far as the program knows the options.
    fileprivate static func initialize(_ pointer: UnsafeMutablePointer<Self>, size: Int) {
        guard size >= Self.firstSize else { return }
        let memory = UnsafeMutableRawBufferPointer(start: pointer, count: size)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        var defaults = Self.defaults
        defaults.struct_size = size
        withUnsafeBytes(of: &defaults) { memory.copyMemory(from: .init(rebasing: $0.prefix(size))) }
    }
}

/// Sets every default.
@c @implementation
public func fp_options_init(_ options: UnsafeMutablePointer<fp_options>?, _ size: Int) {
    // A program that knows a shorter struct than the first version has is none; one that knows a longer one is newer
    // than this library, which leaves the rest at zero.
    guard let options else { return }
    fp_options.initialize(options, size: size)
}
