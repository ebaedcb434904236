import { type FieldViolation, invalid } from '../../../api/errors/index.ts';
import type { MatchCondition, MutatingWebhookConfiguration } from '../../../api/generated/types.ts';
import { isKind } from '../../../api/kinds/index.ts';
import type { Admission } from '../admission.ts';
import type { Named } from '../policies/compile-policy.ts';
import type { Inputs } from '../policies/evaluate.ts';
import { loadPolicyEngine } from '../policies/load-engine.ts';
import { ConditionFailure } from './review.ts';

/** Steps that all conditions of a webhook may take for one request. */
const STEPS = 1_000_000;

/** The match conditions of one webhook, compiled before the first request that they judge. */
export class Conditions {
  readonly #given: readonly MatchCondition[];
  #compiled: { readonly conditions: readonly Named[]; readonly violations: readonly FieldViolation[] } | undefined;

  constructor(given: readonly MatchCondition[]) {
    this.#given = given;
  }

  get isEmpty(): boolean {
    return this.#given.length === 0;
  }

  /**
   * Whether all are true of a request. Throws ConditionFailure for one that fails, unless another one is false: then
   * the answer is known.
   */
  async hold(inputs: Inputs): Promise<boolean> {
    const engine = await loadPolicyEngine();
    this.#compiled ??= engine.compileMatchConditions('matchConditions', this.#given);
    const { conditions, violations } = this.#compiled;
    const [wrong] = violations;
    if (wrong) throw new ConditionFailure(`${wrong.field}: ${wrong.description}`);
    try {
      return engine.conditionsHold(conditions, { inputs, namespaceObject: null, budget: engine.newBudget(STEPS) });
    } catch (error) {
      if (!(error instanceof engine.EvaluationError)) throw error;
      throw new ConditionFailure(error.message, { cause: error });
    }
  }
}

/** Refuses a configuration whose match conditions do not compile. */
export const webhookConditionRules: Admission = {
  create: (kind, object) => (isConfiguration(kind) ? checkConditions(kind.kind, object) : undefined),
  async update(kind, next) {
    if (isConfiguration(kind)) await checkConditions(kind.kind, next);
  },
};

type AdmissionKind = Parameters<Admission['create']>[0];

const isConfiguration = (kind: AdmissionKind): boolean =>
  isKind(kind, 'MutatingWebhookConfiguration') || isKind(kind, 'ValidatingWebhookConfiguration');

async function checkConditions(kind: string, { metadata, webhooks = [] }: MutatingWebhookConfiguration): Promise<void> {
  if (webhooks.every(({ matchConditions = [] }) => matchConditions.length === 0)) return;
  const { compileMatchConditions } = await loadPolicyEngine();
  const found = webhooks.flatMap(
    ({ matchConditions = [] }, i) => compileMatchConditions(`webhooks[${i}].matchConditions`, matchConditions).violations,
  );
  if (found.length > 0) throw invalid({ kind, name: metadata?.name ?? '' }, found);
}
