import { messageToJson } from '../../api/codec/json.ts';
import { asApiError, isNotFound } from '../../api/errors/index.ts';
import type { KindInfo, Namespace } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { finalizers } from '../../api/meta/well-known.ts';
import type { Client, Clock, Informer, Logger, ResourceClient } from '../../client/index.ts';
import { attemptEach, isServerFault } from '../attempt-each.ts';
import type { Controller, Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { createWaits } from '../waits.ts';
import { computeConditions, isEmpty, type Remains } from './decide.ts';

/** A kind with namespaces, of which outlines suffice. The informer has `contentIndexers`. */
export interface NamespacedKind {
  readonly client: Pick<ResourceClient<ApiObject>, 'delete'>;
  readonly informer: Pick<Informer<ApiObject>, 'lister' | 'addHandler' | 'waitForSync'>;
}

/** Objects by their namespace. */
export const contentIndexers = {
  namespace: ({ metadata }: ApiObject): readonly string[] => (metadata?.namespace ? [metadata.namespace] : []),
};

export interface NamespacesOptions {
  readonly client: Pick<Client, 'namespaces' | 'objects'>;
  /** Outlines suffice. */
  readonly namespaces: Pick<Informer<ApiObject>, 'lister' | 'addHandler' | 'waitForSync'>;
  /** What may be in a namespace, as far as it is followed; the server is asked about everything else. */
  readonly contents: readonly NamespacedKind[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What is not followed is looked at again so often, and only while a namespace is going. */
const againMs = 2_000;
/** How many objects of a kind are looked at for what they wait for. */
const sampled = 200;
/** A namespace may hold many objects, and each is written. */
const emptyingTimeoutMs = 120_000;

/**
 * Empties namespaces that are being deleted and then lets them go; what holds that up stands in their conditions. What is in a namespace that
 * does not exist goes as well: a create may cross the end of its namespace.
 */
export function createNamespaces(options: NamespacesOptions): Controller {
  const { client, namespaces, contents, clock, logger } = options;
  const waits = createWaits({ clock, ms: againMs });

  async function reconcile(name: string, signal: AbortSignal): Promise<void> {
    waits.forget(name);
    const known = namespaces.lister.get(name);
    if (known && !known.metadata?.deletionTimestamp) return;
    const strays = known ? [] : straysIn(name);
    if (!known && strays.length === 0) return;
    const namespace = await read(name, signal);
    if (!namespace) return removeStrays(name, strays, signal);
    if (!namespace.metadata?.deletionTimestamp || !namespace.spec?.finalizers?.includes(finalizers.kubernetes)) return;
    const remains = await empty(name, signal);
    const reported = await report(namespace, remains, signal);
    if (!isEmpty(remains)) waits.begin(name);
    else if (reported) await finish(reported, signal);
  }

  /** Tells everything in the namespace to go, and says what is still there. */
  async function empty(namespace: string, signal: AbortSignal): Promise<Remains[]> {
    const kinds = (await client.objects.kinds({ signal })).filter(({ namespaced }) => namespaced);
    const remains: Remains[] = [];
    for (const kind of kinds) remains.push(await emptyOf(kind, namespace, signal));
    return remains;
  }

  async function emptyOf({ kind = '', plural = kind }: KindInfo, namespace: string, signal: AbortSignal): Promise<Remains> {
    let failure: string | undefined;
    try {
      await client.objects.deleteCollection(kind, { namespace }, {}, { signal, timeoutMs: emptyingTimeoutMs });
    } catch (error) {
      if (isServerFault(error)) throw error;
      failure = asApiError(error)?.message ?? String(error);
    }
    const { items, metadata } = await client.objects.list(kind, { namespace, limit: sampled }, { signal });
    const waiting = new Map<string, number>();
    for (const item of items)
      for (const name of (item.metadata as { finalizers?: string[] } | undefined)?.finalizers ?? [])
        waiting.set(name, (waiting.get(name) ?? 0) + 1);
    return { plural, count: items.length + (metadata.remainingItemCount ?? 0), finalizers: waiting, failure };
  }

  /** Writes the conditions; gives the namespace as it is then, or undefined when it is gone. */
  async function report(namespace: Namespace, remains: readonly Remains[], signal: AbortSignal): Promise<Namespace | undefined> {
    const now = secondsTimestamp(new Date(clock.now()));
    const conditions = computeConditions(remains, namespace.status?.conditions, now);
    if (!conditions) return namespace;
    const { name = '', uid } = namespace.metadata ?? {};
    const json = conditions.map((each) => messageToJson('berth.core.v1.NamespaceCondition', each));
    const patch = { metadata: { uid }, status: { conditions: json } };
    return (
      (await client.namespaces
        .patch({ name, subresource: 'status', type: 'strategic' }, patch, {}, { signal })
        .catch(ignoreGone)) ?? undefined
    );
  }

  /** Of that very version: another's finalizer that came since would be lost. */
  async function finish({ metadata = {}, spec }: Namespace, signal: AbortSignal): Promise<void> {
    const { name, uid, resourceVersion } = metadata;
    const others = (spec?.finalizers ?? []).filter((each) => each !== finalizers.kubernetes);
    await client.namespaces
      .finalize({ metadata: { name, uid, resourceVersion }, spec: { finalizers: others } }, {}, { signal })
      .catch(ignoreGone);
    logger.info({ namespace: name }, 'emptied a namespace that is being deleted');
  }

  async function read(name: string, signal: AbortSignal): Promise<Namespace | undefined> {
    try {
      return await client.namespaces.get({ name }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  function straysIn(name: string) {
    return contents.flatMap((kind) => kind.informer.lister.byIndex('namespace', name).map((object) => ({ kind, object })));
  }

  async function removeStrays(namespace: string, strays: ReturnType<typeof straysIn>, signal: AbortSignal): Promise<void> {
    await attemptEach(strays, async ({ kind, object }) => {
      const { name = '', uid } = object.metadata ?? {};
      const options = { gracePeriodSeconds: 0, preconditions: { uid } };
      await kind.client.delete({ namespace, name }, options, { signal }).catch(ignoreGone);
      logger.info({ namespace, name }, 'removed an object whose namespace does not exist');
    });
  }

  /** Of what is in namespaces only this matters: what comes where there is no place for it, and the last that goes. */
  const changesInside: Source = {
    async waitForSync(signal) {
      await Promise.all(contents.map(({ informer }) => informer.waitForSync(signal)));
    },
    connect(wake) {
      const onAdd = ({ metadata }: ApiObject) => {
        const namespace = namespaces.lister.get(metadata?.namespace ?? '');
        if (metadata?.namespace && (!namespace || namespace.metadata?.deletionTimestamp)) wake(metadata.namespace);
      };
      const onDelete = ({ metadata }: ApiObject) => {
        const name = metadata?.namespace ?? '';
        if (namespaces.lister.get(name)?.metadata?.deletionTimestamp && straysIn(name).length === 0) wake(name);
      };
      const leave = contents.map(({ informer }) => informer.addHandler({ name: 'namespace', onAdd, onDelete }));
      return () => {
        for (const each of leave) each();
      };
    },
  };
  const changes: Source = {
    waitForSync: (signal) => namespaces.waitForSync(signal),
    connect(wake) {
      const tell = ({ metadata }: ApiObject) => wake(metadata?.name ?? '');
      return namespaces.addHandler({ name: 'namespace', onAdd: tell, onUpdate: tell, onDelete: tell });
    },
  };
  return { name: 'namespace', sources: [changes, changesInside, waits], reconcile };
}

function ignoreGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

export const namespaces: ControllerDefinition = {
  watches: { Namespace: {} },
  followedIndexers: ({ namespaced }) => (namespaced ? contentIndexers : {}),
  create: ({ informer, followed, ...context }) =>
    createNamespaces({
      ...context,
      namespaces: informer('Namespace'),
      contents: followed.filter(({ kind }) => kind.namespaced),
    }),
};
