import { ApiError } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { CallOptions, ResourceClient, Scope } from '../services/resource-client.ts';

export interface Listing<T> {
  readonly items: T[];
  /** The version the whole list is of: a watch from it misses nothing. */
  readonly resourceVersion: string;
}

/**
 * Reads all pages of a list. Throws OUT_OF_RANGE when it takes longer than the server keeps the list's version:
 * start again.
 */
export async function listAll<T extends ApiObject>(
  client: ResourceClient<T>,
  scope: Scope = {},
  call?: CallOptions,
): Promise<Listing<T>> {
  let items: T[] = [];
  let resourceVersion: string | undefined;
  let from: string | undefined = scope.continue;
  // The token knows the version of the first page; the server refuses both together.
  const { resourceVersion: _, resourceVersionMatch: __, ...rest } = scope;
  do {
    const page = await client.list(from ? { ...rest, continue: from } : scope, call);
    resourceVersion ??= page.metadata.resourceVersion;
    items = items.length === 0 ? page.items : items.concat(page.items);
    if (page.metadata.continue && page.metadata.continue === from)
      throw new ApiError('INTERNAL', 'InternalError', 'list: the server gave the same page twice');
    from = page.metadata.continue;
  } while (from);
  return { items, resourceVersion: resourceVersion ?? '' };
}
