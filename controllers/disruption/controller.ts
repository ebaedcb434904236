import { isDeepStrictEqual } from 'node:util';
import { isNotFound } from '../../api/errors/index.ts';
import type { Deployment, Pod, PodDisruptionBudget } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { objectKey } from '../../api/meta/key.ts';
import { labelSelectorMatches } from '../../api/meta/labels.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import { type Client, type Clock, type EventRecorder, type Informer, referenceTo } from '../../client/index.ts';
import { type Controller, changesOf } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { contentIndexers } from '../namespace/controller.ts';
import { rule, writeStatus } from '../rules.ts';
import { createWaits } from '../waits.ts';
import { type BudgetPlan, decideBudget, disruptionTimeoutMs, needsScales } from './decide.ts';
import { findScales, type ScaleSources } from './find-scales.ts';

export interface DisruptionOptions {
  readonly client: Pick<Client, 'podDisruptionBudgets'>;
  /** Whole, with the index `contentIndexers` of namespaces. */
  readonly budgets: Informer<PodDisruptionBudget>;
  /** Outlines with labels and readiness suffice. With the same index. */
  readonly pods: Informer<Pod>;
  readonly scales: ScaleSources & {
    readonly [Name in 'replicaSets' | 'deployments' | 'statefulSets' | 'replicationControllers']: Informer<ApiObject>;
  };
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
}

/**
 * Keeps the status of budgets: how many of their pods there should be, how many are healthy, and so how many evictions
 * are allowed. The API server counts that down with each eviction, by the same version: what was computed from older
 * pods is refused and computed again.
 */
export function createDisruption({ client, budgets, pods, scales, events, clock }: DisruptionOptions): Controller {
  const recheck = createWaits({ clock, ms: disruptionTimeoutMs });

  async function reconcile(key: string, signal: AbortSignal): Promise<void> {
    const budget = budgets.lister.get(key);
    if (budget === undefined || recheck.isOver(key)) recheck.forget(key);
    if (budget === undefined) return;
    const { namespace = '' } = budget.metadata ?? {};
    const selected = pods.lister.byIndex('namespace', namespace).filter((pod) => selects(budget, pod));
    const found = needsScales(budget) ? await findScales(scales, selected, signal) : new Map();
    const plan = decideBudget(budget, selected, { scales: found, now: new Date(clock.now()) });
    if (plan.status) await write(budget, plan.status, signal);
    tell(budget, plan, selected.length);
    const waits = Object.keys((plan.status ?? budget.status)?.disruptedPods ?? {}).length > 0;
    if (waits) recheck.begin(key);
    else recheck.forget(key);
  }

  async function write(
    budget: PodDisruptionBudget,
    status: NonNullable<BudgetPlan['status']>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await client.podDisruptionBudgets.updateStatus({ ...budget, status }, {}, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Says what a person should know, when something has changed. */
  function tell(budget: PodDisruptionBudget, { status, overdue, unmanaged, failure }: BudgetPlan, count: number): void {
    const { namespace, name } = budget.metadata ?? {};
    for (const pod of overdue) {
      const message = `Pod was expected by PDB ${namespace}/${name} to be deleted but it wasn't`;
      events.event(referenceTo('Pod', pod), 'Warning', 'NotDeleted', message);
    }
    if (status === undefined) return;
    const about = referenceTo('PodDisruptionBudget', budget);
    if (failure !== undefined) {
      const message = `Failed to calculate the number of expected pods: ${failure}`;
      events.event(about, 'Warning', 'CalculateExpectedPodCountFailed', message);
    }
    if (count === 0) events.event(about, 'Normal', 'NoPods', 'No matching pods found');
    if (unmanaged.length > 0) events.event(about, 'Warning', 'UnmanagedPods', wordUnmanaged(unmanaged));
  }

  const inNamespace = (namespace: string) => budgets.lister.byIndex('namespace', namespace);
  const ofPod = (pod: Pod) =>
    inNamespace(pod.metadata?.namespace ?? '')
      .filter((budget) => selects(budget, pod))
      .map(objectKey);
  /** Budgets that depend on scales, of which a namespace has few. */
  const ofScaled = ({ metadata }: ApiObject) =>
    inNamespace(metadata?.namespace ?? '')
      .filter(needsScales)
      .map(objectKey);
  const { replicaSets, deployments, statefulSets, replicationControllers } = scales;
  const scaled = [replicaSets, deployments, statefulSets, replicationControllers].map((informer) =>
    changesOf(informer, ofScaled, { matters: isRescaled }),
  );
  return {
    name: 'disruption',
    sources: [changesOf(budgets, (budget) => [objectKey(budget)]), changesOf(pods, ofPod), ...scaled, recheck],
    reconcile,
  };
}

function isRescaled(next: ApiObject, old: ApiObject): boolean {
  const facts = ({ spec, metadata }: Deployment) => [spec?.replicas, controllerOf({ ...(metadata && { metadata }) })?.uid];
  return !isDeepStrictEqual(facts(next), facts(old));
}

function selects({ spec }: PodDisruptionBudget, { metadata }: Pod): boolean {
  return labelSelectorMatches(spec?.selector, metadata?.labels);
}

const mostNamed = 5;

function wordUnmanaged(names: readonly string[]): string {
  const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : '';
  const shown = `${names.slice(0, mostNamed).join(', ')}${more}`;
  return `no controller says how many pods like ${shown} there should be, so they do not count: set spec.minAvailable to a number`;
}

export const disruption: ControllerDefinition = {
  name: 'disruption',
  rules: [
    // Budgets count by kinds of others as well.
    rule(['get'], '*', '*/scale'),
    writeStatus('policy', 'poddisruptionbudgets'),
  ],
  watches: {
    PodDisruptionBudget: { whole: true, indexers: contentIndexers },
    Pod: { indexers: contentIndexers },
    ReplicaSet: { whole: true },
    Deployment: { whole: true },
    StatefulSet: { whole: true },
    ReplicationController: { whole: true },
  },
  create: ({ informer, followed, ...context }) =>
    createDisruption({
      ...context,
      budgets: informer('PodDisruptionBudget'),
      pods: informer('Pod'),
      scales: {
        replicaSets: informer('ReplicaSet'),
        deployments: informer('Deployment'),
        statefulSets: informer('StatefulSet'),
        replicationControllers: informer('ReplicationController'),
        kinds: followed,
        client: context.client,
      },
    }),
};
