import { asApiError, isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Pod, ReplicaSet, ReplicaSetStatus } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { podOfTemplate } from '../../api/kinds/pod-template/pod-of-template.ts';
import { objectKey } from '../../api/meta/key.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import { type Informer, type ResourceClient, type ResourceWrites, referenceTo } from '../../client/index.ts';
import { type Again, type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerContext, ControllerDefinition } from '../definition.ts';
import { isActive } from '../owned-pods/availability.ts';
import { countOnNodes } from '../owned-pods/deletion-order.ts';
import { OwnedPods } from '../owned-pods/owned-pods.ts';
import { controlledBy, namespaceIndexers, ownedIndexers, ownerKey, podChanges } from '../owned-pods/pod-index.ts';
import type { PodOwner } from '../owned-pods/pod-writer.ts';
import { RefusedCreates } from '../owned-pods/refused-creates.ts';
import { rule, writeStatus } from '../rules.ts';
import {
  computeReplicaStatus,
  decideReplicas,
  nextStatusInMs,
  type ReplicaFailure,
  type ReplicaPlan,
  type ReplicaView,
} from './decide.ts';

/** A kind whose objects keep a number of pods. */
export interface ReplicaKind<T extends ApiObject> {
  readonly name: string;
  readonly kind: Kind<T>;
  view(object: T): ReplicaView;
  withStatus(object: T, status: ReplicaSetStatus): T;
  /** All objects of the kind that are parts of one greater whole, this one included: their pods are spread together. */
  relatives?(object: T): readonly T[];
}

export interface ReplicaControllerOptions<T extends ApiObject> extends ReplicaKind<T> {
  readonly context: ControllerContext;
  readonly informer: Informer<T>;
  readonly pods: Informer<Pod>;
  readonly client: Pick<ResourceClient<T>, 'get'>;
  readonly writes: Pick<ResourceWrites<T>, 'updateStatus'>;
}

/** Keeps as many pods as each object wants, and its status. */
export function createReplicaController<T extends ApiObject>(options: ReplicaControllerOptions<T>): Controller {
  return new ReplicaController(options);
}

class ReplicaController<T extends ApiObject> implements Controller {
  readonly name: string;
  readonly workers = 16;
  readonly sources: readonly Source[];
  readonly #options: ReplicaControllerOptions<T>;
  readonly #owned: OwnedPods<T>;
  readonly #refused: RefusedCreates;

  constructor(options: ReplicaControllerOptions<T>) {
    const { name, kind, view, informer, pods, client, context } = options;
    this.name = name;
    this.#options = options;
    const owning = { kind, lister: informer.lister, selectorOf: (owner: T) => view(owner).selector };
    // What has ended is no replica: a pod that nothing controls is left alone then.
    const candidates = function* (object: T): Generator<Pod> {
      yield* controlledBy(pods.lister, object);
      for (const pod of pods.lister.byIndex('orphanNamespace', object.metadata?.namespace ?? '')) if (isActive(pod)) yield pod;
    };
    this.#owned = new OwnedPods({ ...context, owning, pods, owners: client, candidates });
    this.#refused = new RefusedCreates(context.informer('ResourceQuota'));
    this.sources = [changesOf(informer, (object) => [objectKey(object)]), podChanges(pods, owning), this.#refused];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const { informer, view, kind, context } = this.#options;
    const object = informer.lister.get(key);
    if (!object) {
      this.#owned.forget(key);
      this.#refused.note(key);
      return undefined;
    }
    const owner: PodOwner = { key, uid: object.metadata?.uid ?? '', reference: referenceTo(kind.kind, object) };
    const looked = await this.#owned.look(object, owner, signal);
    if ('again' in looked) return looked.again;
    const { owned } = looked;
    const now = context.clock.now();
    const seen = view(object);
    const plan = decideReplicas(seen, owned, { onNode: () => this.#countOnNodes(object, owned), now });
    const { rooms } = this.#refused;
    const failure = await this.#carryOut(plan, object, owner, signal);
    this.#refused.note(key, failure?.error, rooms);
    // What was just made or deleted is counted once it shows, which is a moment later.
    const isCounted = plan.do === 'nothing' || failure !== undefined;
    if (isCounted || (seen.status.observedGeneration ?? 0) < (seen.metadata.generation ?? 0))
      await this.#writeStatus(object, { view: seen, owned, failure, now }, signal);
    if (failure) throw failure.error;
    const inMs = nextStatusInMs(seen, owned, now);
    return inMs === undefined ? undefined : { afterMs: inMs };
  }

  #countOnNodes(object: T, owned: readonly Pod[]): ReadonlyMap<string, number> {
    const { relatives, pods } = this.#options;
    const family = relatives?.(object) ?? [];
    if (family.length <= 1) return countOnNodes(owned);
    return countOnNodes(family.flatMap((each) => controlledBy(pods.lister, each)));
  }

  async #carryOut(
    plan: ReplicaPlan,
    object: T,
    owner: PodOwner,
    signal: AbortSignal,
  ): Promise<(ReplicaFailure & { readonly error: unknown }) | undefined> {
    const { kind, view } = this.#options;
    const { writer } = this.#owned;
    switch (plan.do) {
      case 'nothing':
        return undefined;
      case 'create': {
        const { template } = view(object);
        const pods = Array.from({ length: plan.count }, () => podOfTemplate(template, { kind, object }));
        const { failure } = await writer.createAll(owner, pods, signal);
        return failure && { reason: 'FailedCreate', message: messageOf(failure.error), error: failure.error };
      }
      case 'delete':
        try {
          await writer.deleteAll(owner, plan.pods, signal);
          return undefined;
        } catch (error) {
          return { reason: 'FailedDelete', message: messageOf(error), error };
        }
    }
  }

  async #writeStatus(object: T, input: Parameters<typeof computeReplicaStatus>[0], signal: AbortSignal): Promise<void> {
    const failure = input.failure && { reason: input.failure.reason, message: input.failure.message };
    const status = computeReplicaStatus({ ...input, failure });
    if (!status) return;
    const { writes, withStatus } = this.#options;
    try {
      const written = await writes.updateStatus(withStatus(object, status), {}, { signal });
      this.#owned.noteOwner(objectKey(object), this.#options.informer, written);
    } catch (error) {
      // Gone, or changed: it is looked at again, with its pods as they are then.
      if (!isNotFound(error) && !(isConflict(error) && input.failure)) throw error;
    }
  }
}

const messageOf = (error: unknown): string => asApiError(error)?.message ?? String(error);

export const replicaSet: ControllerDefinition = {
  name: 'replicaset',
  component: 'replicaset-controller',
  rules: [rule(['create'], '', 'pods'), writeStatus('apps', 'replicasets')],
  watches: {
    ReplicaSet: { whole: true, indexers: { ...ownedIndexers, ...namespaceIndexers } },
    Pod: { indexers: ownedIndexers },
    ResourceQuota: { whole: true },
  },
  create(context) {
    const informer = context.informer('ReplicaSet');
    const kind = kindNamed('ReplicaSet');
    return createReplicaController<ReplicaSet>({
      name: 'replicaset',
      kind,
      view: ({ metadata = {}, spec, status = {} }) => ({
        metadata,
        replicas: spec?.replicas ?? 1,
        minReadySeconds: spec?.minReadySeconds ?? 0,
        selector: spec?.selector,
        template: spec?.template ?? {},
        status,
        countsTerminating: true,
      }),
      withStatus: (object, status) => ({ ...object, status }),
      relatives(object) {
        const controller = controllerOf(object);
        const { namespace } = object.metadata ?? {};
        return controller ? informer.lister.byIndex('controllerUid', ownerKey(namespace, controller.uid)) : [object];
      },
      context,
      informer,
      pods: context.informer('Pod'),
      client: context.client.resource(kind),
      writes: context.writer.resource('ReplicaSet'),
    });
  },
};
