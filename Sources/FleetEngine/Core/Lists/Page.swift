// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import SwiftProtobuf

/// One page of a list.
struct Page<Shown: Message> {
    /// What the page holds, in the order of ids.
    var resources: [Shown] = []
    /// The token of the next page; empty on the last one.
    var nextToken = ""
    /// How many there are over all pages, as of the first one.
    var total = 0
}

extension EngineReader {
    /// Looks up one page, which is full at its number of resources or at ``Paging/maximumBytes``.
    ///
    /// Only the first page counts what there is in all; those behind it stop looking where they are full.
    ///
    /// - Parameters:
    ///   - paging: Which page.
    ///   - scan: What of it the store can tell.
    ///   - provider: The provider.
    ///   - counting: Whether the list tells how long it is in all.
    ///   - criterion: What only the resource can tell; `nil` where there is nothing of the kind.
    ///   - show: Makes what the response has of a resource.
    /// - Returns: The page.
    /// - Throws: What `show` or the store throws.
    func page<Resource: StoredResource, Shown: Message>(
        _ paging: Paging, _ scan: StoreScan, of provider: ProviderID, counting: Bool = true,
        where criterion: ((String, Resource) -> Bool)?, show: (String, Resource) throws -> Shown
    ) throws -> Page<Shown> {
        var scan = scan
        scan.after = paging.after
        var known = counting ? paging.total : 0
        if known == nil, criterion == nil {
            known = try self.count(scan, in: Resource.collection, of: provider)
        }
        var page = Page<Shown>()
        var (found, bytes, last, isFull) = (0, 0, "", false)
        try self.scan(scan, of: provider) { (id, resource: Resource) in
            guard criterion?(id, resource) ?? true else { return true }
            found += 1
            isFull = isFull || page.resources.count == paging.limit
            if !isFull {
                let shown = try show(id, resource)
                let binary: [UInt8] = try shown.serializedBytes()
                bytes += binary.count
                isFull = bytes > Paging.maximumBytes && !page.resources.isEmpty
                if !isFull {
                    page.resources.append(shown)
                    last = id
                }
            }
            return known == nil || !isFull
        }
        page.total = known ?? found
        if isFull { page.nextToken = paging.token(after: last, total: page.total) }
        return page
    }
}
