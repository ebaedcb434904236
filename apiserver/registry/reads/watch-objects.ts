import { badRequest } from '../../../api/errors/index.ts';
import type { ListOptions } from '../../../api/generated/types.ts';
import { isCustom } from '../../../api/kinds/custom/custom-kind.ts';
import type { EventFormat } from '../../watch/event-format.ts';
import { compileSelection } from '../../watch/selection.ts';
import { type ConvertedView, WatchSource } from '../../watch/watch-source.ts';
import type { KindStore } from '../kind-store.ts';
import { parseVersion } from '../resource-version.ts';
import { awaitVersion } from './list.ts';

/** A watch that was checked, and whose beginning the cache shows. */
export interface PreparedWatch {
  /** Whether it begins with the present objects. */
  readonly hasInitial: boolean;
  /** Begins with the objects of this moment: what it holds of them it holds from now on. */
  open(): WatchSource;
}

/**
 * Prepares a watch. From a version: what happened after it. Without one, or from "0": the present objects as ADDED,
 * then the changes (as in Kubernetes). `sendInitialEvents` true adds the bookmark that ends the present objects; false
 * leaves them out. `open` throws OUT_OF_RANGE when the changes after the version are no longer kept, and, unless
 * `awaitsVersion` is set, when the version does not come within moments.
 */
export async function prepareWatch(
  store: KindStore,
  namespace: string,
  { options, awaitsVersion }: { readonly options: ListOptions; readonly awaitsVersion: boolean },
  format: EventFormat,
): Promise<PreparedWatch> {
  if (options.continue || options.limit) throw badRequest('cannot watch: limit and continue belong to lists');
  checkMatch(options);
  const selection = compileSelection(store.cache, { namespace, ...options });
  const version = parseVersion(options.resourceVersion ?? '');
  const initialEvents = options.sendInitialEvents ?? version === 0;
  await store.fresh();
  if (initialEvents) await awaitVersion(store, version);
  else if (version > 0 && !awaitsVersion) await store.cache.reached(version, FUTURE_TIMEOUT_MS);
  const revision = version > 0 ? version : undefined;
  const start = { revision, initialEvents, initialBookmark: options.sendInitialEvents === true, awaitsRevision: awaitsVersion };
  return { hasInitial: initialEvents, open: () => new WatchSource(store.cache, selection, format, start, viewOf(store)) };
}

/** A definition may get a webhook, or lose it, while its objects are watched. */
function viewOf({ versions, kind }: KindStore): (() => ConvertedView | undefined) | undefined {
  if (!isCustom(kind)) return undefined;
  return () => {
    const { of } = versions;
    if (!of?.mayWait) return undefined;
    return { known: (entry) => of.known(entry, kind), convert: (entries) => of.shown(entries, kind) };
  };
}

/** Only the present can be asked for "at least as new as"; what comes after a version is always all of it. */
function checkMatch({ resourceVersionMatch, sendInitialEvents }: ListOptions): void {
  if (!resourceVersionMatch) return;
  if (sendInitialEvents === undefined) throw badRequest('cannot watch: resourceVersionMatch goes with sendInitialEvents only');
  if (resourceVersionMatch !== 'NotOlderThan')
    throw badRequest(`cannot watch: resourceVersionMatch "${resourceVersionMatch}" is not "NotOlderThan"`);
}

/** A version that has not come yet may come within moments; after that it is one of another store, and expired. */
const FUTURE_TIMEOUT_MS = 3_000;
