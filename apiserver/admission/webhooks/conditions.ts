import { invalid } from '../../../api/errors/index.ts';
import { invalidValue } from '../../../api/errors/violations.ts';
import type { MatchCondition, MutatingWebhookConfiguration } from '../../../api/generated/types.ts';
import { isKind } from '../../../api/kinds/index.ts';
import type { JsonObject } from '../../../api/meta/merge-patch.ts';
import type { Expression, ExpressionCompiler } from '../../cel/environment.ts';
import type { Admission } from '../admission.ts';
import { whyNotCompiled } from '../matching/expressions.ts';
import { WebhookFailure } from './review.ts';

/** Steps that all conditions of a webhook may take for one request. */
const STEPS = 1_000_000;
const VARIABLES = { object: 'dyn', oldObject: 'dyn', request: 'dyn' } as const;

type Engine = typeof import('../../cel/environment.ts') &
  typeof import('../../cel/values.ts') &
  typeof import('../../cel/budget.ts');

let engine: { readonly cel: Engine; readonly compiler: ExpressionCompiler } | undefined;

/** Loaded with the first condition: a server without one does without. */
async function loadEngine() {
  if (engine) return engine;
  const [environment, values, budget] = await Promise.all([
    import('../../cel/environment.ts'),
    import('../../cel/values.ts'),
    import('../../cel/budget.ts'),
  ]);
  const cel = { ...environment, ...values, ...budget };
  engine = { cel, compiler: cel.expressionCompiler({ variables: VARIABLES }) };
  return engine;
}

/** The conditions of one webhook. Compiled when they are first asked. */
export class Conditions {
  readonly #given: readonly MatchCondition[];
  #compiled: readonly Expression[] | undefined;

  constructor(given: readonly MatchCondition[]) {
    this.#given = given;
  }

  get isEmpty(): boolean {
    return this.#given.length === 0;
  }

  /**
   * Whether all are true of an AdmissionRequest. Throws WebhookFailure for one that fails, unless another one is false:
   * then the answer is known.
   */
  async hold(request: JsonObject): Promise<boolean> {
    const { cel, compiler } = await loadEngine();
    this.#compiled ??= this.#given.map(({ expression = '' }) => compiler.compile(expression, ['bool']));
    const budget = new cel.Budget(STEPS, 'matchConditions');
    let failure: WebhookFailure | undefined;
    for (const [i, expression] of this.#compiled.entries()) {
      try {
        const { object, oldObject, ...rest } = request;
        const values = {
          object: cel.celValue(object ?? null, undefined, budget),
          oldObject: cel.celValue(oldObject ?? null, undefined, budget),
          request: cel.celValue(rest, undefined, budget),
        };
        if (expression.evaluate(values, budget) !== true) return false;
      } catch (error) {
        if (!(error instanceof cel.CelError) && !(error instanceof cel.BudgetExceeded)) throw error;
        const why = error instanceof cel.BudgetExceeded ? `takes more than ${STEPS} steps` : error.message;
        failure ??= new WebhookFailure(`match condition "${this.#given[i]?.name ?? ''}": ${why}`);
      }
    }
    if (failure) throw failure;
    return true;
  }
}

/** Conditions that do not compile are refused with the configuration. */
export const webhookConditionRules: Admission = {
  async create(kind, object) {
    if (isConfiguration(kind)) await checkConditions(kind.kind, object);
  },
  async update(kind, next) {
    if (isConfiguration(kind)) await checkConditions(kind.kind, next);
  },
};

type AdmissionKind = Parameters<Admission['create']>[0];

const isConfiguration = (kind: AdmissionKind): boolean =>
  isKind(kind, 'MutatingWebhookConfiguration') || isKind(kind, 'ValidatingWebhookConfiguration');

async function checkConditions(kind: string, { metadata, webhooks = [] }: MutatingWebhookConfiguration): Promise<void> {
  if (webhooks.every(({ matchConditions = [] }) => matchConditions.length === 0)) return;
  const { cel, compiler } = await loadEngine();
  const found = webhooks.flatMap(({ matchConditions = [] }, i) =>
    matchConditions.flatMap(({ expression = '' }, j) => {
      try {
        compiler.compile(expression, ['bool']);
        return [];
      } catch (error) {
        if (!(error instanceof cel.ExpressionError)) throw error;
        return [
          invalidValue(
            `webhooks[${i}].matchConditions[${j}].expression`,
            expression,
            `compilation failed: ${whyNotCompiled(error)}`,
          ),
        ];
      }
    }),
  );
  if (found.length > 0) throw invalid({ kind, name: metadata?.name ?? '' }, found);
}
