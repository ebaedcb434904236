import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import type { Client, Clock, Informer, Logger, ResourceClient } from '../../client/index.ts';
import { type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { createWaits } from '../waits.ts';

type Followed = Pick<Informer<ApiObject>, 'lister' | 'addHandler' | 'waitForSync'>;

export interface NodeLeftoversOptions {
  readonly client: { readonly nodes: Pick<Client['nodes'], 'get'> };
  readonly nodes: Followed;
  /** What is kept for a node under its name: its lease, and what it measures. Outlines suffice. */
  readonly kept: readonly { readonly client: Pick<ResourceClient<ApiObject>, 'delete'>; readonly informer: Followed }[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * As long as pods wait for a node that does not exist (pod-garbage); an agent that lives makes its Node again within 10
 * s.
 */
const goneMs = 40_000;

/**
 * Removes the lease and the figures of a node that does not exist, when they have not been written for a while: an
 * agent that lives goes on renewing its lease, also before its Node is there.
 */
export function createNodeLeftovers({ client, nodes, kept, clock, logger }: NodeLeftoversOptions): Controller {
  const waits = createWaits({ clock, ms: goneMs });

  async function reconcile(name: string, signal: AbortSignal): Promise<void> {
    const left = kept.flatMap((each) => leftIn(each.informer, name).map((object) => ({ ...each, object })));
    if (left.length === 0 || nodes.lister.get(name)) return waits.forget(name);
    if (!waits.isOver(name)) return waits.begin(name);
    waits.forget(name);
    if (await exists(name, signal)) return;
    for (const { client: of, object } of left) {
      const { namespace, uid, resourceVersion } = object.metadata ?? {};
      const options = { preconditions: { uid, resourceVersion } };
      await of.delete({ namespace, name }, options, { signal }).catch((error: unknown) => {
        // Written again, so an agent lives there; or gone.
        if (!isConflict(error) && !isNotFound(error)) throw error;
      });
    }
    logger.info({ node: name }, 'removed the lease and the figures of a node that does not exist');
  }

  async function exists(name: string, signal: AbortSignal): Promise<boolean> {
    try {
      await client.nodes.get({ name }, { signal });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Every write of what is kept begins the wait anew. */
  const writes = (informer: Followed): Source => ({
    waitForSync: (signal) => informer.waitForSync(signal),
    connect(wake) {
      const tell = ({ metadata }: ApiObject): void => {
        const { namespace, name = '' } = metadata ?? {};
        if ((namespace && namespace !== namespaces.nodeLease) || nodes.lister.get(name)) return;
        waits.forget(name);
        wake(name);
      };
      return informer.addHandler({ name: 'node-leftovers', onAdd: tell, onUpdate: tell });
    },
  });
  const changes = changesOf(nodes, ({ metadata }) => [metadata?.name ?? ''], { matters: () => false });
  return { name: 'node-leftovers', sources: [changes, ...kept.map(({ informer }) => writes(informer)), waits], reconcile };
}

function leftIn({ lister }: Followed, name: string): ApiObject[] {
  return [lister.get(`${namespaces.nodeLease}/${name}`), lister.get(name)].filter((object) => object !== undefined);
}

export const nodeLeftovers: ControllerDefinition = {
  name: 'node-leftovers',
  watches: { Node: { whole: true }, Lease: { whole: true }, NodeMetrics: {} },
  create: ({ informer, followed, ...context }) =>
    createNodeLeftovers({
      ...context,
      nodes: informer('Node'),
      kept: Array.from(followed).filter(({ kind }) => kind.kind === 'Lease' || kind.kind === 'NodeMetrics'),
    }),
};
