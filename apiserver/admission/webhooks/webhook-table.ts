import type {
  LabelSelector,
  MutatingWebhook,
  MutatingWebhookConfiguration,
  RuleWithOperations,
  WebhookClientConfig,
} from '../../../api/generated/types.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import type { Entry } from '../../watch/entry.ts';
import type { KindCache } from '../../watch/kind-cache.ts';
import type { MatchPolicy } from '../matching/rules.ts';
import { Conditions } from './conditions.ts';
import { WebhookClient, type WebhookTarget } from './webhook-client.ts';
import type { WebhookType } from './webhook-metrics.ts';

/** A webhook that is ready to be called. */
export interface Webhook {
  readonly name: string;
  readonly configuration: string;
  readonly type: WebhookType;
  readonly rules: readonly RuleWithOperations[];
  readonly policy: MatchPolicy;
  readonly namespaceSelector: LabelSelector | undefined;
  readonly objectSelector: LabelSelector | undefined;
  readonly conditions: Conditions;
  readonly isIgnoredOnFailure: boolean;
  /** It is asked for dry runs, too. */
  readonly takesDryRuns: boolean;
  readonly isReinvoked: boolean;
  readonly timeoutMs: number;
  readonly client: WebhookClient;
  readonly clientConfig: WebhookClientConfig;
}

export type TargetOf = (config: WebhookClientConfig) => WebhookTarget;

/** The webhooks of one type, kept from the watch cache, in the order of their configurations' names. */
export class WebhookTable {
  readonly #cache: KindCache;
  readonly #type: WebhookType;
  readonly #targetOf: TargetOf;
  readonly #byKey = new Map<string, readonly Webhook[]>();
  #all: readonly Webhook[] = [];

  constructor(cache: KindCache, type: WebhookType, targetOf: TargetOf) {
    this.#cache = cache;
    this.#type = type;
    this.#targetOf = targetOf;
  }

  get all(): readonly Webhook[] {
    return this.#all;
  }

  /** Begins to follow the cache; the returned function ends it. */
  observe(): () => void {
    return this.#cache.observe({
      reset: (entries) => {
        for (const key of [...this.#byKey.keys()]) this.#put(key, []);
        for (const entry of entries) this.#cache.attempt(entry.key, () => this.#read(entry));
      },
      event: ({ type, entry }) => {
        if (type === 'DELETED') this.#put(entry.key, []);
        else this.#read(entry);
      },
    });
  }

  #read(entry: Entry): void {
    const { metadata, webhooks = [] } = this.#cache.decoder.decode(entry) as MutatingWebhookConfiguration;
    const before = this.#byKey.get(entry.key) ?? [];
    const next = webhooks.map((each) => this.#webhook(metadata?.name ?? '', each, before));
    this.#put(entry.key, next);
  }

  #webhook(configuration: string, given: MutatingWebhook, before: readonly Webhook[]): Webhook {
    const { name = '', clientConfig = {}, timeoutSeconds = 10, sideEffects = '' } = given;
    // Its connections outlive a change of the rest.
    const same = before.find((each) => each.name === name && equalValues(each.clientConfig, clientConfig));
    return {
      name,
      configuration,
      type: this.#type,
      rules: given.rules ?? [],
      policy: given.matchPolicy === 'Exact' ? 'Exact' : 'Equivalent',
      namespaceSelector: given.namespaceSelector,
      objectSelector: given.objectSelector,
      conditions: new Conditions(given.matchConditions ?? []),
      isIgnoredOnFailure: given.failurePolicy === 'Ignore',
      takesDryRuns: sideEffects === 'None' || sideEffects === 'NoneOnDryRun',
      isReinvoked: given.reinvocationPolicy === 'IfNeeded',
      timeoutMs: timeoutSeconds * 1000,
      client: same?.client ?? new WebhookClient(this.#targetOf(clientConfig)),
      clientConfig,
    };
  }

  #put(key: string, next: readonly Webhook[]): void {
    const kept = new Set(next.map(({ client }) => client));
    for (const { client } of this.#byKey.get(key) ?? []) if (!kept.has(client)) client.close();
    if (next.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, next);
    this.#all = [...this.#byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, webhooks]) => webhooks);
  }
}
