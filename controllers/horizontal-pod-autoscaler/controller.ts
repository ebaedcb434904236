import { asApiError, isConflict, isNotFound } from '../../api/errors/index.ts';
import type { HorizontalPodAutoscaler, NodeMetrics, Pod, Scale } from '../../api/generated/types.ts';
import { resourceOf } from '../../api/kinds/identity.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { objectKey } from '../../api/meta/key.ts';
import { type LabelMatcher, parseLabelSelector } from '../../api/meta/labels.ts';
import {
  type Client,
  type Clock,
  type EventRecorder,
  type Informer,
  type ResourceWrites,
  referenceTo,
  type ScalableClient,
} from '../../client/index.ts';
import { type Again, type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { contentIndexers } from '../namespace/controller.ts';
import { isOutcomeUnknown } from '../owned-pods/until-answered.ts';
import { rule, writeStatus } from '../rules.ts';
import { isScalable, kindReferred, noKindMessage, noTargetMessage } from '../scalable-kinds.ts';
import { decideScale, type Selection, type SelectionProblem, syncPeriodMs } from './decide.ts';
import { beginHistory, type ScaleHistory, withChange } from './history.ts';
import { afterRescale, type Rescale, type StatusPlan, withoutScale } from './status.ts';
import { usagesOf } from './usage.ts';

export interface AutoscalerOptions {
  /** Whole. */
  readonly autoscalers: Informer<HorizontalPodAutoscaler>;
  readonly writes: Pick<ResourceWrites<HorizontalPodAutoscaler>, 'updateStatus'>;
  /** Outlines, with the index `contentIndexers`. */
  readonly pods: Informer<Pod>;
  /** Whole, by the names of nodes. */
  readonly nodeMetrics: Informer<NodeMetrics>;
  readonly kinds: Iterable<{ readonly kind: Kind }>;
  readonly client: Pick<Client, 'resource'>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
}

/** Agents report every 15 s; figures that have not changed for so long are none, as in `berth top`. */
const staleMs = 90_000;

/**
 * Scales targets so that their pods use what their autoscalers say. Looks at each every 15 s, reads the scale from the
 * server each time, and writes it at the version that it has read. What was recommended and changed before is
 * remembered only here: new controllers take what there is as the first recommendation, so nothing shrinks at once.
 */
export function createAutoscaler(options: AutoscalerOptions): Controller {
  return new AutoscalerController(options);
}

interface Remembered {
  readonly uid: string;
  readonly history: ScaleHistory;
  readonly matches: LabelMatcher | undefined;
}

class AutoscalerController implements Controller {
  readonly name = 'horizontal-pod-autoscaler';
  readonly sources: readonly Source[];
  readonly #options: AutoscalerOptions;
  readonly #remembered = new Map<string, Remembered>();
  /** When a report was first looked at. */
  readonly #seenAt = new WeakMap<NodeMetrics, number>();

  constructor(options: AutoscalerOptions) {
    const { autoscalers, pods, nodeMetrics } = options;
    this.#options = options;
    const matters = (next: HorizontalPodAutoscaler, old: HorizontalPodAutoscaler): boolean =>
      next.metadata?.uid !== old.metadata?.uid || !equalValues(next.spec, old.spec);
    const known = (informer: { waitForSync: Source['waitForSync'] }): Source => ({
      waitForSync: (signal) => informer.waitForSync(signal),
      connect: () => () => {},
    });
    this.sources = [changesOf(autoscalers, (each) => [objectKey(each)], { matters }), known(pods), known(nodeMetrics)];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const hpa = this.#options.autoscalers.lister.get(key);
    if (!hpa) {
      this.#remembered.delete(key);
      return undefined;
    }
    const found = await this.#findScale(hpa, signal);
    const now = new Date(this.#options.clock.now());
    if ('problem' in found) {
      this.#forgetSelector(key);
      await this.#report(hpa, withoutScale(hpa, found.problem, now), signal);
    } else await this.#sync(key, hpa, found, signal);
    return { afterMs: syncPeriodMs };
  }

  async #sync(key: string, hpa: HorizontalPodAutoscaler, { scale, client }: Found, signal: AbortSignal): Promise<void> {
    const now = new Date(this.#options.clock.now());
    const replicas = scale.spec?.replicas ?? 0;
    const uid = hpa.metadata?.uid ?? '';
    const known = this.#remembered.get(key);
    const before = known?.uid === uid ? known.history : beginHistory(replicas, now.getTime());
    const { matches, problem } = matcherOf(scale.status?.selector ?? '');
    this.#remembered.set(key, { uid, history: before, matches });
    const selection = problem ? { problem } : this.#select(key, matches, scale.status?.selector ?? '');
    const { rescale, history, ...plan } = decideScale(hpa, { target: { replicas, selection }, history: before, now });
    const remember = (next: ScaleHistory) => this.#remembered.set(key, { uid, history: next, matches });
    remember(history);
    if (!rescale) return this.#report(hpa, plan, signal);
    const failure = await this.#rescale(client, scale, rescale, signal).catch((error: unknown) => {
      if (isOutcomeUnknown(error)) remember(withChange(history, rescale, now.getTime()));
      throw error;
    });
    if (failure === undefined) remember(withChange(history, rescale, now.getTime()));
    const after = afterRescale({ ...hpa, status: plan.status }, rescale, now, failure);
    await this.#report(hpa, { status: after.status, events: [...plan.events, ...after.events] }, signal);
  }

  #forgetSelector(key: string): void {
    const known = this.#remembered.get(key);
    if (known) this.#remembered.set(key, { ...known, matches: undefined });
  }

  async #findScale(hpa: HorizontalPodAutoscaler, signal: AbortSignal): Promise<Found | { readonly problem: string }> {
    const { scaleTargetRef = {} } = hpa.spec ?? {};
    const kind = kindReferred(this.#options.kinds, scaleTargetRef);
    if (!kind) return { problem: noKindMessage(scaleTargetRef) };
    if (!isScalable(kind)) return { problem: `${resourceOf(kind)} have no subresource "scale"` };
    const client = this.#options.client.resource(kind);
    const target = { namespace: hpa.metadata?.namespace ?? '', name: scaleTargetRef.name ?? '' };
    try {
      return { scale: await client.scale(target, { signal }), client };
    } catch (error) {
      const { message } = asApiError(error) ?? {};
      if (message === undefined || signal.aborted) throw error;
      return { problem: isNotFound(error) ? noTargetMessage(kind, target.name) : message };
    }
  }

  /** What the target's pods are and use, unless another autoscaler has some of them too. */
  #select(key: string, matches: LabelMatcher | undefined, selector: string): Selection | { readonly problem: SelectionProblem } {
    const { pods, nodeMetrics } = this.#options;
    const namespace = key.slice(0, key.indexOf('/'));
    const all = pods.lister.byIndex('namespace', namespace);
    const selected = all.filter(({ metadata }) => matches?.matches(metadata?.labels));
    const rivals = [...this.#remembered]
      .filter(([other, { matches: theirs }]) => other !== key && other.startsWith(`${namespace}/`) && theirs)
      .filter(([, { matches: theirs }]) => selected.some(({ metadata }) => theirs?.matches(metadata?.labels)));
    if (rivals.length > 0) {
      const names = [key, ...rivals.map(([other]) => other)].sort().join(' ');
      const message = `pods by selector ${selector} are controlled by multiple HPAs: [${names}]`;
      return { problem: { reason: 'AmbiguousSelector', message } };
    }
    return { pods: selected, usages: usagesOf(selected, (node) => this.#fresh(nodeMetrics.lister.get(node))) };
  }

  /** Undefined when the report has not changed for long: by this clock, and not by that of the node. */
  #fresh(report: NodeMetrics | undefined): NodeMetrics | undefined {
    if (!report) return undefined;
    const now = this.#options.clock.now();
    const seenAt = this.#seenAt.get(report) ?? now;
    this.#seenAt.set(report, seenAt);
    return now - seenAt > staleMs ? undefined : report;
  }

  /**
   * Why the server refused. A conflict is thrown, and an outcome that is not known: the target is looked at again as it
   * is then.
   */
  async #rescale(client: Found['client'], scale: Scale, { to }: Rescale, signal: AbortSignal): Promise<string | undefined> {
    try {
      await client.updateScale({ ...scale, spec: { ...scale.spec, replicas: to } }, {}, { signal });
      return undefined;
    } catch (error) {
      const { message } = asApiError(error) ?? {};
      if (message === undefined || isConflict(error) || isOutcomeUnknown(error)) throw error;
      return message;
    }
  }

  async #report(hpa: HorizontalPodAutoscaler, { status, events }: StatusPlan, signal: AbortSignal): Promise<void> {
    const about = referenceTo('HorizontalPodAutoscaler', hpa);
    for (const { type, reason, message } of events) this.#options.events.event(about, type, reason, message);
    if (equalValues(status, hpa.status)) return;
    try {
      await this.#options.writes.updateStatus({ ...hpa, status }, {}, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

interface Found {
  readonly scale: Scale;
  readonly client: Pick<ScalableClient<ApiObject>, 'updateScale'>;
}

interface Matcher {
  readonly matches: LabelMatcher | undefined;
  readonly problem?: SelectionProblem;
}

function matcherOf(selector: string): Matcher {
  if (selector === '') {
    const condition = "the HPA target's scale is missing a selector";
    return { matches: undefined, problem: { reason: 'SelectorRequired', message: 'selector is required', condition } };
  }
  try {
    return { matches: parseLabelSelector(selector) };
  } catch (error) {
    const cause = asApiError(error)?.message ?? String(error);
    const message = `couldn't convert selector into a corresponding internal selector object: ${cause}`;
    return { matches: undefined, problem: { reason: 'InvalidSelector', message } };
  }
}

export const horizontalPodAutoscaler: ControllerDefinition = {
  name: 'horizontal-pod-autoscaler',
  component: 'horizontal-pod-autoscaler',
  rules: [rule(['get', 'update'], '*', '*/scale'), writeStatus('autoscaling', 'horizontalpodautoscalers')],
  watches: {
    HorizontalPodAutoscaler: { whole: true },
    Pod: { indexers: contentIndexers },
    NodeMetrics: { whole: true },
  },
  create: ({ informer, writer, followed, client, events, clock }) =>
    createAutoscaler({
      autoscalers: informer('HorizontalPodAutoscaler'),
      writes: writer.resource('HorizontalPodAutoscaler'),
      pods: informer('Pod'),
      nodeMetrics: informer('NodeMetrics'),
      kinds: followed,
      client,
      events,
      clock,
    }),
};
