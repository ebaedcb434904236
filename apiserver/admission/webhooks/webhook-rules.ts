import { randomUUID } from 'node:crypto';
import { ApiError } from '../../../api/errors/index.ts';
import { isCustom } from '../../../api/kinds/custom/custom-kind.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import type { AdmissionAttributes, DynamicRules } from '../dynamic.ts';
import { conversionTo, inVersion } from '../matching/in-version.ts';
import { matchedVersion, matchesNamespace, matchesObject } from './matching.ts';
import { patchedObject } from './patch.ts';
import { denied, failed, notForDryRun } from './refusals.ts';
import { admissionRequest } from './request.ts';
import { readReview, reviewText, type Verdict, WebhookFailure } from './review.ts';
import type { Outcome, WebhookMeter } from './webhook-metrics.ts';
import type { Webhook } from './webhook-table.ts';

/** All webhooks of one type for one request together: what is left when it is over counts as failed. */
const PHASE_MS = 30_000;

export interface WebhookDeps {
  readonly mutating: { readonly all: readonly Webhook[] };
  readonly validating: { readonly all: readonly Webhook[] };
  readonly meter: Pick<WebhookMeter, 'called'>;
  labelsOfNamespace(name: string): Promise<Readonly<Record<string, string>> | undefined>;
  /** The versions that a kind is served in. */
  versionsOf(kind: Kind): readonly string[];
  /** Monotonic. */
  now(): number;
}

/** What all calls of one phase of a request share. */
interface Phase {
  readonly endsAt: number;
  readonly signal: AbortSignal | undefined;
}

/** The answer of a webhook that was asked; undefined for one that the request does not concern, or that was ignored. */
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
    const isMeant = (text: string): boolean => text.startsWith('*') || text === plural || text.startsWith(`${plural}/`);
    const { mutating, validating } = this.#deps;
    return [...mutating.all, ...validating.all].some(({ rules }) => rules.some(({ rule }) => rule?.resources?.some(isMeant)));
  }

  /** In order of configurations and webhooks; those that want it once more when a later one has changed the object. */
  async mutate(attributes: AdmissionAttributes): Promise<ApiObject | undefined> {
    const { all } = this.#deps.mutating;
    if (all.length === 0) return undefined;
    const phase = this.#phase(attributes);
    const asked = new Set<Webhook>();
    const again = new Set<Webhook>();
    let { object } = attributes;
    const ask = async (webhook: Webhook, round: number): Promise<void> => {
      const answer = await this.#judge(webhook, { ...attributes, object }, { phase, round, index: all.indexOf(webhook) });
      if (!answer) return;
      if (answer.object !== undefined && object !== undefined && !equalValues(answer.object, object)) {
        object = answer.object;
        if (round === 0) for (const each of asked) again.add(each);
      }
      if (webhook.isReinvoked) asked.add(webhook);
    };
    for (const webhook of all) await ask(webhook, 0);
    for (const webhook of all) if (again.has(webhook)) await ask(webhook, 1);
    return object === attributes.object ? undefined : object;
  }

  /** The refusal that counts is the first in order, whichever comes first in time. */
  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { all } = this.#deps.validating;
    if (all.length === 0) return;
    const ended = new AbortController();
    const phase = this.#phase(attributes, ended.signal);
    const judged = all.map((webhook, index) => this.#judge(webhook, attributes, { phase, round: 0, index }));
    for (const each of judged) each.catch(() => {});
    try {
      for (const each of judged) await each;
    } finally {
      ended.abort(new WebhookFailure('another webhook has refused the request'));
    }
  }

  #phase({ call }: AdmissionAttributes, own?: AbortSignal): Phase {
    const { signal } = call as { readonly signal?: AbortSignal };
    const signals = [signal, own].filter((each) => each !== undefined);
    const joined = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
    return { endsAt: this.#deps.now() + PHASE_MS, signal: joined };
  }

  /** Asks one webhook, where the request concerns it. Throws the refusal. */
  async #judge(
    webhook: Webhook,
    attributes: AdmissionAttributes,
    at: { readonly phase: Phase; readonly round: number; readonly index: number },
  ): Promise<Answer | undefined> {
    const version = matchedVersion(webhook, attributes, () => this.#deps.versionsOf(attributes.kind));
    if (version === undefined || !matchesObject(webhook, attributes)) return undefined;
    if (!(await matchesNamespace(webhook, attributes, this.#deps.labelsOfNamespace))) return undefined;
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
      if (!webhook.isIgnoredOnFailure) throw failed(webhook.name, error);
      const phase = webhook.type === 'mutating' ? 'mutation' : 'validation';
      annotate(`failed-open.${phase}.webhook.admission.k8s.io/round_${at.round}_index_${at.index}`, webhook.name);
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
    const seen = inVersion(attributes, version);
    const { conditions, client, type } = webhook;
    if (!conditions.isEmpty && !(await conditions.hold(admissionRequest(seen, uid, version)))) return undefined;
    if (attributes.dryRun && !webhook.takesDryRuns) throw notForDryRun(webhook.name);
    const leftMs = Math.min(webhook.timeoutMs, endsAt - this.#deps.now());
    if (leftMs <= 0) throw new WebhookFailure(`the webhooks before it took ${PHASE_MS / 1000} s, the most for all of them`);
    const text = await client.call(() => reviewText(admissionRequest(seen, uid, version)), leftMs, signal);
    const verdict = readReview(text, uid, type === 'mutating');
    const { patch } = verdict;
    if (!patch || patch.length === 0) return { verdict, object: undefined };
    if (seen.object === undefined) throw new WebhookFailure('response.patch: a deletion has no object that can be changed');
    const patched = patchedObject(formOf(seen, version), seen.object, patch);
    return { verdict, object: completed(attributes, seen === attributes ? patched : storedAgain(attributes, version, patched)) };
  }
}

/** The form in which a webhook was sent the object. */
function formOf({ form, kind }: AdmissionAttributes, version: string) {
  return isCustom(kind) && form.apiVersion === kind.apiVersion ? { ...form, apiVersion: version } : form;
}

/** The object of another version that a webhook has changed, as it is stored. Throws WebhookFailure. */
function storedAgain({ kind, form }: AdmissionAttributes, version: string, patched: ApiObject): ApiObject {
  if (form.kind !== kind.kind) return patched;
  try {
    return conversionTo(kind, version)?.by.toStored(patched) ?? patched;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new WebhookFailure(`response.patch makes an object that cannot be converted: ${error.message}`);
  }
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
