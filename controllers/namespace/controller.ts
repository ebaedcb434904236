import { messageToJson } from '../../api/codec/json.ts';
import { asApiError, isNotFound } from '../../api/errors/index.ts';
import type { KindInfo, Namespace } from '../../api/generated/types.ts';
import { kindId } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { Growing } from '../../api/meta/growing-set.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { finalizers } from '../../api/meta/well-known.ts';
import type { Client, Clock, Informer, Logger, ResourceClient } from '../../client/index.ts';
import { attemptEach, isServerFault } from '../attempt-each.ts';
import { type Controller, changesOfAll, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { rule, writeStatus } from '../rules.ts';
import { createWaits, type Waits } from '../waits.ts';
import { computeConditions, type Found, isEmpty, type Remains } from './decide.ts';

/** A kind of which outlines suffice. Where it has namespaces, the informer has `contentIndexers`. */
export interface ContentKind {
  readonly kind: Pick<Kind, 'namespaced'>;
  readonly client: Pick<ResourceClient<ApiObject>, 'delete'>;
  readonly informer: Pick<Informer<ApiObject>, 'lister' | 'addHandler' | 'waitForSync'>;
}

/** Objects by their namespace. */
export const contentIndexers = {
  namespace: ({ metadata }: ApiObject): readonly string[] => (metadata?.namespace ? [metadata.namespace] : []),
};

export interface NamespacesOptions {
  readonly client: Pick<Client, 'namespaces' | 'objects' | 'extensions'>;
  /** Outlines suffice. */
  readonly namespaces: Pick<Informer<ApiObject>, 'lister' | 'addHandler' | 'waitForSync'>;
  /** What may be in a namespace, as far as it is followed; the server is asked about everything else. */
  readonly contents: Growing<ContentKind>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What is not followed is looked at again so often, and only while a namespace is going. */
const againMs = 2_000;
/** How many objects of a kind are looked at for what they wait for. */
const sampled = 200;
/** A namespace may hold many objects, and each is written. */
const emptyingTimeoutMs = 120_000;

/** An object in a namespace that does not exist, or is to go. */
interface Stray {
  readonly each: ContentKind;
  readonly object: ApiObject;
}

/**
 * Empties namespaces that are being deleted and then lets them go; what holds that up stands in their conditions. What
 * is in a namespace that does not exist goes as well: a create may cross the end of its namespace.
 */
export function createNamespaces(options: NamespacesOptions): Controller {
  return new NamespaceController(options);
}

class NamespaceController implements Controller {
  readonly #options: NamespacesOptions;
  readonly #waits: Waits;
  readonly name = 'namespace';
  readonly sources: readonly Source[];

  constructor(options: NamespacesOptions) {
    this.#options = options;
    this.#waits = createWaits({ clock: options.clock, ms: againMs });
    // Of what is in namespaces only this matters: what comes where there is no place for it, and the last that goes.
    const changesInside = changesOfAll(options.contents, ({ kind, informer }, wake) => {
      if (!kind.namespaced) return () => {};
      const onAdd = ({ metadata }: ApiObject) => {
        const namespace = options.namespaces.lister.get(metadata?.namespace ?? '');
        if (metadata?.namespace && (!namespace || namespace.metadata?.deletionTimestamp)) wake(metadata.namespace);
      };
      const onDelete = ({ metadata }: ApiObject) => {
        const name = metadata?.namespace ?? '';
        if (options.namespaces.lister.get(name)?.metadata?.deletionTimestamp && !this.#hasContents(name)) wake(name);
      };
      return informer.addHandler({ name: 'namespace', onAdd, onDelete });
    });
    const changes: Source = {
      waitForSync: (signal) => options.namespaces.waitForSync(signal),
      connect(wake) {
        const tell = ({ metadata }: ApiObject) => wake(metadata?.name ?? '');
        return options.namespaces.addHandler({ name: 'namespace', onAdd: tell, onUpdate: tell, onDelete: tell });
      },
    };
    this.sources = [changes, changesInside, this.#waits];
  }

  async reconcile(name: string, signal: AbortSignal): Promise<void> {
    this.#waits.forget(name);
    const known = this.#options.namespaces.lister.get(name);
    if (known && !known.metadata?.deletionTimestamp) return;
    const strays = known ? [] : this.#straysIn(name);
    if (!known && strays.length === 0) return;
    const namespace = await this.#read(name, signal);
    if (!namespace) return this.#removeStrays(name, strays, signal);
    if (!namespace.metadata?.deletionTimestamp || !namespace.spec?.finalizers?.includes(finalizers.kubernetes)) return;
    const found = await this.#empty(name, signal);
    const reported = await this.#report(namespace, found, signal);
    if (!isEmpty(found)) this.#waits.begin(name);
    else if (reported) await this.#finish(reported, signal);
  }

  /** Tells everything in the namespace to go, and says what is still there. */
  async #empty(namespace: string, signal: AbortSignal): Promise<Found> {
    const kinds = (await this.#options.client.objects.kinds({ signal })).filter(({ namespaced }) => namespaced);
    const remains: Remains[] = [];
    for (const kind of kinds) remains.push(await this.#emptyOf(kind, namespace, signal));
    const extensions = await this.#emptyExtensions(namespace, signal);
    return { remains: [...remains, ...extensions.remains], undiscovered: extensions.undiscovered };
  }

  /** Objects of groups that extension servers serve are reached by the API server alone. */
  async #emptyExtensions(namespace: string, signal: AbortSignal): Promise<Found> {
    const call = { signal, timeoutMs: emptyingTimeoutMs };
    const { remains = [], undiscovered = [] } = await this.#options.client.extensions.emptyNamespace(namespace, call);
    return {
      remains: remains.map(({ resource = '', count = 0, finalizers = {}, failure }) => ({
        ...{ plural: resource, count: Number(count), finalizers: new Map(Object.entries(finalizers)) },
        failure: failure || undefined,
      })),
      undiscovered: undiscovered.map(({ groupVersion = '', message = '' }) => `${groupVersion}: ${message}`),
    };
  }

  async #emptyOf(
    { kind: name = '', apiVersion = '', plural = name }: KindInfo,
    namespace: string,
    signal: AbortSignal,
  ): Promise<Remains> {
    const kind = kindId({ kind: name, apiVersion });
    let failure: string | undefined;
    try {
      await this.#options.client.objects.deleteCollection(kind, { namespace }, {}, { signal, timeoutMs: emptyingTimeoutMs });
    } catch (error) {
      if (isServerFault(error)) throw error;
      failure = asApiError(error)?.message ?? String(error);
    }
    const { items, metadata } = await this.#options.client.objects.list(kind, { namespace, limit: sampled }, { signal });
    const waiting = new Map<string, number>();
    for (const item of items)
      for (const name of (item.metadata as { finalizers?: string[] } | undefined)?.finalizers ?? [])
        waiting.set(name, (waiting.get(name) ?? 0) + 1);
    return { plural, count: items.length + (metadata.remainingItemCount ?? 0), finalizers: waiting, failure };
  }

  /** Writes the conditions; gives the namespace as it is then, or undefined when it is gone. */
  async #report(namespace: Namespace, found: Found, signal: AbortSignal): Promise<Namespace | undefined> {
    const now = secondsTimestamp(new Date(this.#options.clock.now()));
    const conditions = computeConditions(found, namespace.status?.conditions, now);
    if (!conditions) return namespace;
    const { name = '', uid } = namespace.metadata ?? {};
    const json = conditions.map((each) => messageToJson('berth.core.v1.NamespaceCondition', each));
    const patch = { metadata: { uid }, status: { conditions: json } };
    return (
      (await this.#options.client.namespaces
        .patch({ name, subresource: 'status', type: 'strategic' }, patch, {}, { signal })
        .catch(ignoreGone)) ?? undefined
    );
  }

  /** Of that very version: another's finalizer that came since would be lost. */
  async #finish({ metadata = {}, spec }: Namespace, signal: AbortSignal): Promise<void> {
    const { name, uid, resourceVersion } = metadata;
    const others = (spec?.finalizers ?? []).filter((each) => each !== finalizers.kubernetes);
    await this.#options.client.namespaces
      .finalize({ metadata: { name, uid, resourceVersion }, spec: { finalizers: others } }, {}, { signal })
      .catch(ignoreGone);
    this.#options.logger.info({ namespace: name }, 'emptied a namespace that is being deleted');
  }

  async #read(name: string, signal: AbortSignal): Promise<Namespace | undefined> {
    try {
      return await this.#options.client.namespaces.get({ name }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Asked at each deletion of a namespace's objects, so it must not read all those that are left. */
  #hasContents(name: string): boolean {
    return this.#namespaced().some(({ informer }) => informer.lister.isInIndex('namespace', name));
  }

  #namespaced() {
    return Array.from(this.#options.contents).filter(({ kind }) => kind.namespaced);
  }

  #straysIn(name: string): Stray[] {
    return this.#namespaced().flatMap((each) =>
      each.informer.lister.byIndex('namespace', name).map((object) => ({ each, object })),
    );
  }

  async #removeStrays(namespace: string, strays: readonly Stray[], signal: AbortSignal): Promise<void> {
    await attemptEach(strays, async ({ each, object }) => {
      const { name = '', uid } = object.metadata ?? {};
      const options = { gracePeriodSeconds: 0, preconditions: { uid } };
      await each.client.delete({ namespace, name }, options, { signal }).catch(ignoreGone);
      this.#options.logger.info({ namespace, name }, 'removed an object whose namespace does not exist');
    });
  }
}

function ignoreGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

export const namespaces: ControllerDefinition = {
  name: 'namespace',
  rules: [rule(['update'], '', 'namespaces/finalize'), writeStatus('', 'namespaces')],
  watches: { Namespace: {} },
  followedIndexers: ({ namespaced }) => (namespaced ? contentIndexers : {}),
  create: ({ informer, followed, ...context }) =>
    createNamespaces({ ...context, namespaces: informer('Namespace'), contents: followed }),
};
