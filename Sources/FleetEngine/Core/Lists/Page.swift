// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// One page of a list.
struct Page<Resource: StoredResource> {
    /// What the page holds, in the order of ids.
    var resources: [(id: String, resource: Resource)] = []
    /// The token of the next page; empty on the last one.
    var nextToken = ""
    /// How many there are over all pages, as of the first one.
    var total = 0
}

extension EngineReader {
    /// Looks up one page.
    ///
    /// Only the first page counts what there is in all; those behind it stop looking where they are full.
    ///
    /// - Parameters:
    ///   - paging: Which page.
    ///   - scan: What of it the store can tell.
    ///   - provider: The provider.
    ///   - counting: Whether the list tells how long it is in all.
    ///   - criterion: What only the resource can tell; `nil` where there is nothing of the kind.
    /// - Returns: The page.
    /// - Throws: What the store throws.
    func page<Resource: StoredResource>(
        _ paging: Paging, _ scan: StoreScan, of provider: ProviderID, counting: Bool = true,
        where criterion: ((String, Resource) -> Bool)?
    ) throws -> Page<Resource> {
        var scan = scan
        scan.after = paging.after
        var known = counting ? paging.total : 0
        if known == nil, criterion == nil, scan.isUnrestricted {
            known = try self.count(Resource.collection, of: provider)
        }
        var page = Page<Resource>()
        var found = 0
        try self.scan(scan, of: provider) { (id, resource: Resource) in
            guard criterion?(id, resource) ?? true else { return true }
            found += 1
            if found <= paging.limit { page.resources.append((id, resource)) }
            return known == nil || found <= paging.limit
        }
        page.total = known ?? found
        if found > paging.limit, let last = page.resources.last {
            page.nextToken = paging.token(after: last.id, total: page.total)
        }
        return page
    }
}
