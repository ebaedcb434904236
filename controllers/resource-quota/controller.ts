import { isNotFound } from '../../api/errors/index.ts';
import type { ResourceQuota } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { isChanging, isCounted } from '../../api/kinds/resource-quota/quota-names.ts';
import { type QuotaShare, quotaShare } from '../../api/kinds/resource-quota/quota-share.ts';
import { equalValues } from '../../api/meta/equal.ts';
import type { Growing } from '../../api/meta/growing-set.ts';
import type { Clock, Informer, ResourceWrites } from '../../client/index.ts';
import { type Again, type Controller, changesOf, changesOfAll, type Source } from '../controller.ts';
import type { ControllerDefinition, FollowedKind } from '../definition.ts';
import { contentIndexers } from '../namespace/controller.ts';
import { writeStatus } from '../rules.ts';
import { createWaits, type Waits } from '../waits.ts';
import { type Content, decideQuota } from './decide.ts';

export interface ResourceQuotasOptions {
  /** Whole, with `contentIndexers`. */
  readonly quotas: Informer<ResourceQuota>;
  readonly writes: Pick<ResourceWrites<ResourceQuota>, 'updateStatus'>;
  /** What may count. Those in namespaces have `contentIndexers`; services and claims are whole. */
  readonly contents: Growing<Pick<FollowedKind, 'kind' | 'informer'>>;
  readonly clock: Clock;
}

/** Changes within this time go into one status write of each quota. */
const gatherMs = 500;

/**
 * Keeps the status of quotas: how much of each is in use. It is for people and tools alone; the API server enforces
 * quotas by what it counts itself. Keys are namespaces.
 */
export function createResourceQuotas(options: ResourceQuotasOptions): Controller {
  return new ResourceQuotaController(options);
}

class ResourceQuotaController implements Controller {
  readonly name = 'resourcequota';
  readonly sources: readonly Source[];
  readonly #options: ResourceQuotasOptions;
  readonly #waits: Waits;
  /** What an object takes, until another version of it comes. */
  readonly #shares = new WeakMap<ApiObject, QuotaShare>();

  constructor(options: ResourceQuotasOptions) {
    const { quotas, contents, clock } = options;
    this.#options = options;
    this.#waits = createWaits({ clock, ms: gatherMs });
    const matters = (next: ResourceQuota, old: ResourceQuota) => !equalValues(next.spec, old.spec);
    this.sources = [
      changesOf(quotas, ({ metadata }) => [metadata?.namespace ?? ''], { matters }),
      { waitForSync: (signal) => quotas.waitForSync(signal), connect: () => this.#followStatus() },
      changesOfAll(contents, (each) => this.#follow(each)),
      this.#waits,
    ];
  }

  async reconcile(namespace: string, signal: AbortSignal): Promise<Again | undefined> {
    const { quotas, clock } = this.#options;
    // What changes from here on is looked at again.
    this.#waits.forget(namespace);
    const contents = this.#contentsOf(namespace);
    let againInMs: number | undefined;
    for (const quota of quotas.lister.byIndex('namespace', namespace)) {
      const plan = decideQuota(quota, contents, clock.now());
      if (plan.status) await this.#write({ ...quota, status: plan.status }, signal);
      if (plan.againInMs !== undefined) againInMs = Math.min(againInMs ?? plan.againInMs, plan.againInMs);
    }
    return againInMs === undefined ? undefined : { afterMs: againInMs };
  }

  #contentsOf(namespace: string): Content[] {
    const { contents, clock } = this.#options;
    return Array.from(contents)
      .filter(({ kind }) => isCounted(kind))
      .map(({ kind, informer }) => ({
        kind,
        shares: () => informer.lister.byIndex('namespace', namespace).map((object) => this.#shareOf(kind, object, clock.now())),
      }));
  }

  #shareOf(kind: FollowedKind['kind'], object: ApiObject, now: number): QuotaShare {
    const known = this.#shares.get(object) ?? quotaShare(kind, object, now);
    this.#shares.set(object, known);
    return known;
  }

  async #write(quota: ResourceQuota, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.writes.updateStatus(quota, {}, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** A status that another wrote is put right, too; the echo of this controller's own writes shall not hurry it. */
  #followStatus(): () => void {
    const onUpdate = (next: ResourceQuota, old: ResourceQuota): void => {
      if (!equalValues(next.status, old.status)) this.#waits.begin(next.metadata?.namespace ?? '');
    };
    return this.#options.quotas.addHandler({ name: 'resourcequota', onUpdate });
  }

  /** Begins the wait of a namespace that has quotas with each change in it. */
  #follow({ kind, informer }: Pick<FollowedKind, 'kind' | 'informer'>): () => void {
    if (!isCounted(kind)) return () => {};
    const tell = ({ metadata }: ApiObject): void => {
      const { namespace = '' } = metadata ?? {};
      if (this.#options.quotas.lister.isInIndex('namespace', namespace)) this.#waits.begin(namespace);
    };
    const changes = isChanging(kind) ? { onUpdate: tell } : {};
    return informer.addHandler({ name: 'resourcequota', onAdd: tell, onDelete: tell, ...changes });
  }
}

export const resourceQuotas: ControllerDefinition = {
  name: 'resourcequota',
  rules: [writeStatus('', 'resourcequotas')],
  watches: {
    ResourceQuota: { whole: true, indexers: contentIndexers },
    Service: { whole: true },
    PersistentVolumeClaim: { whole: true },
  },
  followedIndexers: ({ namespaced }) => (namespaced ? contentIndexers : {}),
  create: ({ informer, writer, followed, clock }) =>
    createResourceQuotas({
      quotas: informer('ResourceQuota'),
      writes: writer.resource('ResourceQuota'),
      contents: followed,
      clock,
    }),
};
