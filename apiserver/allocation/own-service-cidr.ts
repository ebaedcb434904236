import type { Logger } from 'pino';
import type { ServiceCIDR } from '../../api/generated/types.ts';
import { ownServiceCidr, readyCondition } from '../../api/kinds/service-cidr/fields.ts';
import { findCondition, setCondition } from '../../api/meta/conditions.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import type { AnyObject } from '../registry/any-object.ts';
import { cloneObject } from '../registry/clone-object.ts';
import { createObject } from '../registry/create.ts';
import { Keeper } from '../registry/keepers/keeper.ts';
import { nextVersion } from '../registry/next-version.ts';
import type { Registry } from '../registry/registry.ts';
import { serverContext } from '../registry/server-context.ts';
import { placeOf } from '../watch/entry.ts';

/** After a write, so that another writer of the object and this server do not keep each other busy. */
const paceMs = 1_000;
const what = 'the ServiceCIDR of the server';
const at = { namespace: '', name: ownServiceCidr } as const;

/** What is to be done with the ServiceCIDR of the server's own range, which cannot change. Pure. */
export function decideServiceCidr(stored: ServiceCIDR | undefined, range: string): 'nothing' | 'create' | 'remove' | 'status' {
  if (stored === undefined) return 'create';
  if (stored.metadata?.deletionTimestamp || !equalValues(stored.spec?.cidrs, [range])) return 'remove';
  const { lastTransitionTime: _, ...ready } = readyCondition({ name: ownServiceCidr });
  const { lastTransitionTime: __, ...found } = findCondition(stored.status?.conditions, 'Ready') ?? {};
  return equalValues(found, ready) ? 'nothing' : 'status';
}

/** Makes it before the server serves, and keeps it until the signal aborts, after which `ended` resolves. */
export async function keepServiceCidr(
  { registry, range, log }: { readonly registry: Registry; readonly range: string; readonly log: Logger },
  signal: AbortSignal,
): Promise<{ readonly ended: Promise<void> }> {
  const store = registry.stores.get('ServiceCIDR');
  if (!store) return { ended: Promise.resolve() };
  const sync = async (): Promise<boolean> => {
    const entry = await store.read(at);
    const stored = entry && (store.cache.decoder.decode(entry) as ServiceCIDR);
    const step = decideServiceCidr(stored, range);
    if (step === 'nothing') return false;
    const change = { context: serverContext, verb: step === 'remove' ? 'delete' : 'update' };
    if (step === 'remove') await store.change(at, { ...change, compute: () => 'remove' });
    if (step === 'status')
      await store.change(at, { ...change, compute: (previous) => nextVersion(store, 'status', withReady(previous), previous) });
    const take = () => ({ metadata: { name: ownServiceCidr }, spec: { cidrs: [range] } }) as AnyObject;
    if (step !== 'status') await createObject(store, registry.admission, { ...serverContext, take });
    return true;
  };
  // What fails is tried again while the server serves.
  await sync().catch((error: unknown) => log.warn({ err: error }, `cannot make ${what}`));
  const sources = [
    { cache: store.cache, keysOf: ({ key }: { key: string }) => (placeOf(key).name === at.name ? [at.name] : []) },
  ];
  const keeper = new Keeper({ what, sources, sync, paceMs, log, all: () => [at.name] });
  return { ended: keeper.run(signal) };
}

function withReady(previous: AnyObject): AnyObject {
  const next = cloneObject(previous) as AnyObject & ServiceCIDR;
  const ready = readyCondition({ name: ownServiceCidr });
  next.status = { conditions: setCondition(next.status?.conditions, ready, secondsTimestamp(new Date())) };
  return next;
}
