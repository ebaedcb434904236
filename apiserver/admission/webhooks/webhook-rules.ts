import { randomUUID } from 'node:crypto';
import { ApiError } from '../../../api/errors/index.ts';
import { splitResource } from '../../../api/kinds/admission-rules.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import type { AdmissionAttributes, DynamicRules } from '../dynamic.ts';
import { type NamespaceLabels, namespaceMatches, objectMatches, selectsAll } from '../matching/match-resources.ts';
import { formIn, fromVersion, inVersion, RequestObjects } from '../matching/request.ts';
import { matchedVersion, type ServedVersions } from '../matching/rules.ts';
import { patchedObject } from './patch.ts';
import { denied, failed, notForDryRun, unjudged } from './refusals.ts';
import { boundWarnings, ConditionFailure, readReview, reviewText, type Verdict, WebhookFailure } from './review.ts';
import type { Outcome, WebhookMeter } from './webhook-metrics.ts';
import type { Webhook } from './webhook-table.ts';

/** The time for all webhooks of one type of a request. Those that it leaves none have failed. */
const PHASE_MS = 30_000;

export interface WebhookDeps {
  readonly mutating: { readonly all: readonly Webhook[] };
  readonly validating: { readonly all: readonly Webhook[] };
  readonly meter: Pick<WebhookMeter, 'called'>;
  readonly labelsOfNamespace: NamespaceLabels;
  /** Waits until the labels of namespaces are not older than the last acknowledged write. */
  freshNamespaces(): Promise<void> | undefined;
  readonly versionsOf: ServedVersions;
  /** Monotonic. */
  now(): number;
}

/** What all calls of one phase of a request share. */
interface Phase {
  readonly endsAt: number;
  readonly signal: AbortSignal | undefined;
}

/** A webhook that is meant for a request, and where in its phase it is called. */
interface Judging {
  readonly webhook: Webhook;
  readonly version: string;
  readonly phase: Phase;
  readonly round: number;
  readonly index: number;
}

/** The answer of a webhook that was called. */
interface Answer {
  readonly verdict: Verdict;
  readonly object: ApiObject | undefined;
}

/** Calls the webhooks of users: the mutating ones one after the other, the validating ones side by side. */
export class WebhookRules implements DynamicRules {
  readonly #deps: WebhookDeps;

  constructor(deps: WebhookDeps) {
    this.#deps = deps;
  }

  get isIdle(): boolean {
    return this.#deps.mutating.all.length === 0 && this.#deps.validating.all.length === 0;
  }

  /** Whether a write of the kind may wait for a webhook. */
  mayWait({ plural }: Kind): boolean {
    const isMeant = (text: string): boolean => ['*', plural].includes(splitResource(text)[0]);
    const { mutating, validating } = this.#deps;
    return [...mutating.all, ...validating.all].some(({ rules }) => rules.some(({ rule }) => rule?.resources?.some(isMeant)));
  }

  /**
   * Calls the webhooks in the order of configurations, and once more those with the reinvocationPolicy "IfNeeded" whose
   * object a later one has changed.
   */
  async mutate(attributes: AdmissionAttributes): Promise<ApiObject | undefined> {
    const { all } = this.#deps.mutating;
    if (all.length === 0) return undefined;
    const phase = this.#phase(attributes);
    const asked = new Set<Webhook>();
    const again = new Set<Webhook>();
    let { object } = attributes;
    const ask = async (webhook: Webhook, round: number): Promise<void> => {
      const at = { phase, round, index: all.indexOf(webhook) };
      const seen = { ...attributes, object };
      const version = await this.#versionFor(webhook, seen);
      const answer = version === undefined ? undefined : await this.#judge({ webhook, version, ...at }, seen);
      if (!answer) return;
      const mutated = answer.object !== undefined && object !== undefined && !equalValues(answer.object, object);
      if (mutated) {
        object = answer.object;
        if (round === 0) for (const each of asked) again.add(each);
      }
      const told = { configuration: webhook.configuration, webhook: webhook.name, mutated };
      attributes.call.audited?.annotate(annotationKey(webhook, at), JSON.stringify(told));
      if (webhook.isReinvoked) asked.add(webhook);
    };
    for (const webhook of all) await ask(webhook, 0);
    for (const webhook of all) if (again.has(webhook)) await ask(webhook, 1);
    return object === attributes.object ? undefined : object;
  }

  /** The refusal that counts is the first in order, whichever comes first in time. */
  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { all } = this.#deps.validating;
    const meant: Pick<Judging, 'webhook' | 'version' | 'index'>[] = [];
    for (const [index, webhook] of all.entries()) {
      const version = await this.#versionFor(webhook, attributes);
      if (version !== undefined) meant.push({ webhook, version, index });
    }
    // Most webhooks are meant for other writes, which should not pay for what ends a call.
    if (meant.length === 0) return;
    const ended = new AbortController();
    const phase = this.#phase(attributes, ended.signal);
    const judged = meant.map((each) => this.#judge({ ...each, phase, round: 0 }, attributes));
    for (const each of judged) each.catch(() => {});
    try {
      for (const each of judged) await each;
    } finally {
      ended.abort(new WebhookFailure('another webhook has refused the request'));
    }
  }

  #phase({ call }: AdmissionAttributes, own?: AbortSignal): Phase {
    const signals = [call.signal, own].filter((each) => each !== undefined);
    const joined = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
    return { endsAt: this.#deps.now() + PHASE_MS, signal: joined };
  }

  /** The version in which a webhook is to see the request; undefined when its rules or selectors do not match. */
  async #versionFor(webhook: Webhook, attributes: AdmissionAttributes): Promise<string | undefined> {
    const version = matchedVersion(webhook, attributes, this.#deps.versionsOf);
    if (version === undefined || !objectMatches(webhook.objectSelector, attributes)) return undefined;
    if (!selectsAll(webhook.namespaceSelector)) await this.#deps.freshNamespaces();
    return namespaceMatches(webhook.namespaceSelector, attributes, this.#deps.labelsOfNamespace) ? version : undefined;
  }

  /**
   * Calls a webhook that is meant for the request. Undefined when its conditions do not hold, or its failure is
   * ignored. Throws the refusal.
   */
  async #judge({ webhook, version, ...at }: Judging, attributes: AdmissionAttributes): Promise<Answer | undefined> {
    const beganAt = this.#deps.now();
    const tell = (outcome: Outcome): void => {
      const seconds = (this.#deps.now() - beganAt) / 1000;
      this.#deps.meter.called(webhook.name, webhook.type, attributes.operation, outcome, seconds);
    };
    const annotate = (key: string, value: string): void => attributes.call.audited?.annotate(key, value);
    try {
      const answer = await this.#ask(webhook, { attributes, version }, at.phase);
      if (!answer) return undefined;
      const { verdict } = answer;
      for (const text of verdict.warnings) attributes.call.warn(text);
      for (const [key, value] of Object.entries(verdict.auditAnnotations)) annotate(`${webhook.name}/${key}`, value);
      tell(verdict.isAllowed ? 'allowed' : 'denied');
      if (!verdict.isAllowed) throw denied(webhook.name, verdict);
      return answer;
    } catch (error) {
      if (!(error instanceof WebhookFailure)) throw error;
      tell(webhook.isIgnoredOnFailure ? 'ignored' : 'failed');
      if (!webhook.isIgnoredOnFailure)
        throw error instanceof ConditionFailure ? unjudged(webhook.name, error, attributes) : failed(webhook.name, error);
      annotate(`failed-open.${annotationKey(webhook, at)}`, webhook.name);
      return undefined;
    }
  }

  /** Undefined when its conditions are not met. Throws WebhookFailure. */
  async #ask(
    webhook: Webhook,
    { attributes, version }: { readonly attributes: AdmissionAttributes; readonly version: string },
    { endsAt, signal }: Phase,
  ): Promise<Answer | undefined> {
    const uid = randomUUID();
    const { conditions, client, type } = webhook;
    const shown = await inVersion(attributes, version);
    const objects = new RequestObjects(shown, { uid, version });
    if (!conditions.isEmpty && !(await conditions.hold(objects))) return undefined;
    if (attributes.dryRun && !webhook.takesDryRuns) throw notForDryRun(webhook.name);
    const leftMs = Math.min(webhook.timeoutMs, endsAt - this.#deps.now());
    if (leftMs <= 0) throw new WebhookFailure(`the webhooks before it took ${PHASE_MS / 1000} s, the most for all of them`);
    const text = await client.call(() => reviewText(objects), leftMs, signal);
    const verdict = readReview(text, uid, type === 'mutating');
    const { patch } = verdict;
    if (!patch || patch.length === 0) return { verdict, object: undefined };
    if (shown.object === undefined) throw new WebhookFailure('response.patch: a deletion has no object that can be changed');
    const { object, leftOut } = patchedObject(formIn(attributes, version), shown.object, patch);
    const unknown = leftOut.map((field) => `the webhook "${webhook.name}" set the unknown field ${JSON.stringify(field)}`);
    for (const text of boundWarnings(unknown)) attributes.call.warn(text);
    return { verdict, object: completed(attributes, await fromVersion(attributes, object, version)) };
  }
}

/** Kubernetes' key of what the audit log is told of a call. */
function annotationKey({ type }: Webhook, { round, index }: { readonly round: number; readonly index: number }): string {
  return `${type === 'mutating' ? 'mutation' : 'validating'}.webhook.admission.k8s.io/round_${round}_index_${index}`;
}

/** A later webhook sees the object complete. Throws WebhookFailure where a default cannot be filled in. */
function completed({ form, kind }: AdmissionAttributes, object: ApiObject): ApiObject {
  if (form.kind !== kind.kind) return object;
  try {
    kind.prune?.(object);
    kind.defaults(object);
    return object;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new WebhookFailure(`response.patch makes an object that cannot be completed: ${error.message}`);
  }
}
