import type { Deployment, DeploymentCondition, ObjectReference, Pod, ReplicaSet } from '../../api/generated/types.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { workloadAnnotations, workloadLabels } from '../../api/meta/workload-names.ts';
import type { EventRecorder, Informer, ObjectKey, PodClient } from '../../client/index.ts';
import { isActive } from '../owned-pods/availability.ts';
import { controlledBy } from '../owned-pods/pod-index.ts';
import { reasons } from './conditions.ts';
import { hashOf } from './new-set.ts';
import { byRevision, type Family, revisionOf } from './revisions.ts';

export interface AutoRollbackOptions {
  readonly pods: Informer<Pod>;
  readonly logs: Pick<PodClient, 'get' | 'logs'>;
  readonly events: Pick<EventRecorder, 'event'>;
}

export interface RollbackInput {
  readonly deployment: Deployment;
  readonly family: Family;
  readonly conditions: readonly DeploymentCondition[];
  readonly about: ObjectReference;
  readonly signal: AbortSignal;
}

/**
 * The ReplicaSet that has the template for an automatic rollback of a Deployment: the previous revision, when the
 * Deployment asks for that, its progress deadline has passed, and the present template is not the outcome of such a
 * rollback already. So a broken template is taken back once, and two broken ones never alternate.
 */
export function decideRollback({
  deployment,
  family,
  conditions,
}: Omit<RollbackInput, 'about' | 'signal'>): ReplicaSet | undefined {
  const annotations = deployment.metadata?.annotations ?? {};
  if (annotations[workloadAnnotations.rollbackOnDeadline] !== 'true') return undefined;
  if (findCondition(conditions, 'Progressing')?.reason !== reasons.timedOut) return undefined;
  const { current, old } = family;
  if (!current || annotations[workloadAnnotations.rolledBackTo] === hashOf(current)) return undefined;
  return old.toSorted((a, b) => byRevision(b, a))[0];
}

/** The Deployment with the template of an earlier ReplicaSet, without the label of its hash. */
export function rolledBack(deployment: Deployment, to: ReplicaSet): Deployment {
  const template = structuredClone(to.spec?.template ?? {});
  delete template.metadata?.labels?.[workloadLabels.podTemplateHash];
  const cause = `rolled back by itself to revision ${revisionOf(to)}: the progress deadline had passed`;
  const annotations = {
    ...deployment.metadata?.annotations,
    [workloadAnnotations.rolledBackTo]: hashOf(to),
    [workloadAnnotations.changeCause]: cause,
  };
  return {
    ...deployment,
    metadata: { ...deployment.metadata, annotations },
    spec: { ...deployment.spec, template },
  };
}

/** Lines of the log that the event shows, and the most characters of them. */
const tailLines = 5;
const tailCharacters = 500;
/** A line may be as long as the disk. */
const mostLogBytes = 256 * 1024;
const logsTimeoutMs = 5_000;

/** Rolls Deployments back that ask for it with an annotation, and says in an event what was wrong. */
export class AutoRollback {
  readonly #options: AutoRollbackOptions;

  constructor(options: AutoRollbackOptions) {
    this.#options = options;
  }

  /** The Deployment to be written; undefined when nothing is to be rolled back. */
  async decide(input: RollbackInput): Promise<Deployment | undefined> {
    const to = decideRollback(input);
    if (!to) return undefined;
    const { deployment, family, about, signal } = input;
    const why = await this.#explain(family.current!, signal);
    const from = family.current?.metadata?.name;
    const message = `Rolled back from replica set ${from} to ${to.metadata?.name} (revision ${revisionOf(to)})${why}`;
    this.#options.events.event(about, 'Warning', 'DeploymentRollback', message);
    return rolledBack(deployment, to);
  }

  /**
   * What keeps the first pod that is not ready from being so: the container, the reason, its last lines; or why it has
   * no node. Without such a pod, why none can be made.
   */
  async #explain(set: ReplicaSet, signal: AbortSignal): Promise<string> {
    const { pods, logs } = this.#options;
    const waiting = controlledBy(pods.lister, set).filter((pod) => !isPodReady(pod));
    const outline = waiting.find(isActive) ?? waiting[0];
    if (!outline?.metadata?.name) return refusalOf(set);
    const key = { namespace: outline.metadata.namespace, name: outline.metadata.name };
    const pod = await logs.get(key, { signal }).catch(() => undefined);
    const failing = pod && failingContainer(pod);
    if (!failing) return `: pod ${key.name} ${(pod && wordUnscheduled(pod)) ?? 'is not ready'}`;
    const lines = failing.hasRun ? await this.#lastLines(key, failing.name, signal) : '';
    return `: pod ${key.name}, container ${failing.name}: ${failing.why}${lines && `; last lines: ${lines}`}`;
  }

  async #lastLines(key: ObjectKey, container: string, signal: AbortSignal): Promise<string> {
    try {
      const chunks: Buffer[] = [];
      const call = { signal, timeoutMs: logsTimeoutMs };
      let bytes = 0;
      for await (const chunk of this.#options.logs.logs(key, { container, tailLines }, call)) {
        chunks.push(Buffer.from(chunk));
        bytes += chunk.length;
        if (bytes > mostLogBytes) break;
      }
      return Buffer.concat(chunks).toString('utf8').trim().slice(-tailCharacters);
    } catch {
      // The node may be away; the event says the rest.
      return '';
    }
  }
}

/** Why no pods can be made for a ReplicaSet, as a quota or another rule of admission has it. */
function refusalOf({ status }: ReplicaSet): string {
  const failure = findCondition(status?.conditions, 'ReplicaFailure');
  return failure?.status === 'True' && failure.message ? `: ${failure.message}` : '';
}

/** Why the pod has no node; undefined where it has one, or where nothing was tried. */
function wordUnscheduled({ status }: Pod): string | undefined {
  const scheduled = findCondition(status?.conditions, 'PodScheduled');
  if (scheduled?.status !== 'False') return undefined;
  return `has no node, ${scheduled.reason ?? 'Unschedulable'}${scheduled.message ? `: ${scheduled.message}` : ''}`;
}

interface Failing {
  readonly name: string;
  readonly why: string;
  readonly hasRun: boolean;
}

/** The container that is in the way, and how. */
export function failingContainer({ status }: Pod): Failing | undefined {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  for (const { name = '', state, lastState, ready } of all) {
    const { waiting, terminated } = state ?? {};
    const ended = terminated ?? lastState?.terminated;
    if (waiting?.reason && waiting.reason !== 'PodInitializing' && waiting.reason !== 'ContainerCreating') {
      const more = ended ? ` (exit code ${ended.exitCode ?? 0})` : waiting.message ? ` ${waiting.message}` : '';
      return { name, why: `${waiting.reason}${more}`, hasRun: ended !== undefined };
    }
    if (terminated && terminated.exitCode !== 0)
      return { name, why: `${terminated.reason ?? 'Error'} (exit code ${terminated.exitCode})`, hasRun: true };
    if (state?.running && !ready) return { name, why: 'is running and not ready', hasRun: true };
  }
  return undefined;
}
