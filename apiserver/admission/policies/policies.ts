import { asApiError } from '../../../api/errors/index.ts';
import type { ValidatingAdmissionPolicyBinding } from '../../../api/generated/types.ts';
import { kindId } from '../../../api/kinds/index.ts';
import { createLru } from '../../../api/meta/lru.ts';
import type { JsonObject } from '../../../api/meta/merge-patch.ts';
import type { MetricsRegistry } from '../../../api/metrics/index.ts';
import type { Registry } from '../../registry/registry.ts';
import type { AdmissionAttributes, DynamicRules } from '../dynamic.ts';
import { namespaceLabels, resourcesMatch, type ServedCluster, versionMeant } from '../matching/match-resources.ts';
import { inVersion, RequestObjects } from '../matching/request.ts';
import type { compilePolicy } from './compile-policy.ts';
import type { judge, Scope } from './evaluate.ts';
import { loadPolicyEngine, type PolicyEngine } from './load-engine.ts';
import { type Finding, Outcome } from './outcome.ts';
import { JsonForms, type Params, readParams } from './params.ts';
import { type BoundPolicy, PolicyIndex } from './policy-index.ts';
import { PolicyMeters } from './policy-meters.ts';

/** Characters of expressions whose compiled form is kept; it takes some hundred times as many bytes. */
const KEPT_CHARACTERS = 500_000;
const LEAST_WEIGHT = 100;

type Compiled = ReturnType<typeof compilePolicy>;

/** A request on its way through the policies. */
interface Judging {
  readonly engine: PolicyEngine;
  readonly attributes: AdmissionAttributes;
  /** By the apiVersion that a policy names. */
  readonly objects: Map<string, Promise<RequestObjects>>;
  readonly budget: Scope['budget'];
  readonly outcome: Outcome;
}

/** A policy that means the request, in this apiVersion of its kind. */
interface Concerned {
  readonly bound: BoundPolicy;
  readonly version: string;
}

/** The policies that are in force, as the dynamic admission calls them. Judging has no effect but its answer. */
export class Policies implements DynamicRules {
  readonly #registry: Registry;
  readonly #index: PolicyIndex;
  readonly #meters: PolicyMeters;
  readonly #served: ServedCluster;
  readonly #forms = new JsonForms();
  /** By name and version of the policy. */
  readonly #compiled = createLru<Compiled>(KEPT_CHARACTERS, ({ policy }) => LEAST_WEIGHT + policy.weight);

  constructor(registry: Registry, metrics: MetricsRegistry) {
    this.#registry = registry;
    this.#index = new PolicyIndex(
      registry.store('ValidatingAdmissionPolicy').cache,
      registry.store('ValidatingAdmissionPolicyBinding').cache,
    );
    this.#meters = new PolicyMeters(metrics);
    this.#served = {
      labelsOfNamespace: namespaceLabels(registry.store('Namespace')),
      versionsOf: (kind) => registry.stores.servedVersionsOf(kindId(kind)),
    };
  }

  /** Begins to follow policies and bindings; the returned function ends it. */
  observe(): () => void {
    return this.#index.observe();
  }

  get isIdle(): boolean {
    return this.#index.bound.length === 0;
  }

  /** Throws what the first policy that denies the request says, once all have judged it. */
  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    let concerned: Concerned[] | undefined;
    for (const bound of this.#index.bound) {
      const version = versionMeant(bound.policy.spec?.matchConstraints, attributes, this.#served);
      if (version === undefined) continue;
      concerned ??= [];
      concerned.push({ bound, version });
    }
    return concerned && this.#judgeAll(concerned, attributes);
  }

  async #judgeAll(concerned: readonly Concerned[], attributes: AdmissionAttributes): Promise<void> {
    const engine = await loadPolicyEngine();
    const outcome = new Outcome(attributes);
    const judging = { engine, attributes, objects: new Map(), budget: engine.newBudget(), outcome };
    for (const each of concerned) {
      const { bound } = each;
      const beganAt = performance.now();
      for (const binding of bound.bindings)
        if (resourcesMatch(binding.spec?.matchResources ?? undefined, attributes, this.#served))
          await this.#judgeBinding(judging, each, binding);
      this.#meters.took(bound.name, (performance.now() - beganAt) / 1000);
    }
    outcome.end();
  }

  async #judgeBinding(judging: Judging, { bound, version }: Concerned, binding: ValidatingAdmissionPolicyBinding): Promise<void> {
    const { spec = {} } = bound.policy;
    const add = (finding: Omit<Finding, 'policy' | 'binding'>): void => {
      const action = judging.outcome.add({ ...finding, policy: bound.name, binding });
      this.#meters.count(bound.name, binding.metadata?.name ?? '', finding.error, action);
    };
    const { policy, violations } = this.#compile(judging.engine, bound);
    const refuse = (error: Finding['error'], why: string): void => {
      const broken = policy.fails ? [{ index: -1, message: why, reason: 'Invalid' }] : [];
      add({ error, broken, annotations: [], isConfiguration: true });
    };
    const [wrong] = violations;
    if (wrong) return refuse('compile_error', `failed to configure policy: ${wrong.field}: ${wrong.description}`);
    // Without parameters there is nothing to wait for.
    const params: Params = spec.paramKind
      ? await readParams(
          { stores: this.#registry.stores, forms: this.#forms },
          spec.paramKind,
          binding.spec?.paramRef,
          judging.attributes,
        )
      : NO_PARAMS;
    if ('error' in params) return refuse('params_error', `failed to configure binding: ${params.error}`);
    if (params.list.length === 0) return;
    const inputs = await objectsIn(judging, version).catch(conversionFailure);
    // As in Kubernetes, the policy says whether that refuses the request.
    if ('failure' in inputs) return refuse('evaluation_error', `failed to configure binding: ${inputs.failure}`);
    for (const each of params.list) {
      const scope = {
        inputs,
        namespaceObject: this.#namespaceJson(judging.attributes),
        params: each,
        budget: judging.budget,
      };
      const verdict = judgeOnce(judging.engine, policy, scope);
      if (verdict) add(verdict);
    }
  }

  #compile(engine: PolicyEngine, { version, policy }: BoundPolicy): Compiled {
    let compiled = this.#compiled.get(version);
    if (!compiled) {
      compiled = engine.compilePolicy(policy);
      this.#compiled.set(version, compiled);
    }
    return compiled;
  }

  /** Null for what is in no namespace. */
  #namespaceJson({ kind, namespace }: AdmissionAttributes): JsonObject | null {
    if (!kind.namespaced) return null;
    const store = this.#registry.store('Namespace');
    const entry = store.cache.get(store.key({ namespace: '', name: namespace }));
    return entry ? this.#forms.of(store, entry) : null;
  }
}

/** Policies that name the same version share one conversion, also one that fails. */
function objectsIn({ objects, attributes }: Judging, version: string): Promise<RequestObjects> {
  let known = objects.get(version);
  if (!known) {
    known = inVersion(attributes, version).then((converted) => new RequestObjects(converted, { version }));
    objects.set(version, known);
  }
  return known;
}

function conversionFailure(error: unknown): { readonly failure: string } {
  const known = asApiError(error);
  if (!known) throw error;
  return { failure: `failed to convert object version: ${known.message}` };
}

const NO_PARAMS: Params = { list: [undefined] };

/** Undefined when the conditions do not hold. */
function judgeOnce(
  engine: PolicyEngine,
  policy: Parameters<typeof judge>[0],
  scope: Scope,
): Omit<Finding, 'policy' | 'binding'> | undefined {
  try {
    if (policy.matchConditions.length > 0 && !engine.conditionsHold(policy.matchConditions, scope)) return undefined;
  } catch (error) {
    if (!(error instanceof engine.EvaluationError)) throw error;
    const broken = policy.fails ? [{ index: -1, message: error.message, reason: 'Invalid' }] : [];
    return { error: 'evaluation_error', broken, annotations: [] };
  }
  const verdict = engine.judge(policy, scope);
  return { ...verdict, error: verdict.hasFailed ? 'evaluation_error' : 'no_error' };
}
