import type { Json, JsonObject } from '../../../api/meta/merge-patch.ts';
import { Budget, BudgetExceeded } from '../../cel/budget.ts';
import type { Expression } from '../../cel/environment.ts';
import { AuthorizerValue } from '../../cel/functions/authorization.ts';
import { CelError, celValue, MapValue, type Value } from '../../cel/values.ts';
import type { RequestRights } from '../matching/request-rights.ts';
import type { CompiledPolicy, Named } from './compile-policy.ts';

/** Steps of one expression: as many as a rule of a custom kind may take on one value. */
const EXPRESSION_STEPS = 500_000;
/** Steps of all policies on one request, so that many policies do not hold up the server either. */
const REQUEST_STEPS = 2_000_000;

/** An expression gave no answer; the message says which and why. */
export class EvaluationError extends Error {
  override readonly name = 'EvaluationError';
}

/** What expressions of a request see. The objects are read when an expression names them. */
export interface Inputs {
  readonly object: JsonObject | null;
  readonly oldObject: JsonObject | null;
  readonly request: JsonObject;
  /** What the user of the request may; absent: expressions that ask fail. */
  readonly rights?: RequestRights | undefined;
}

/** What expressions of one policy and one binding see besides. */
export interface Scope {
  readonly inputs: Inputs;
  readonly namespaceObject: JsonObject | null;
  /** The parameters; undefined for a policy that has none. */
  readonly params?: JsonObject | null | undefined;
  /** Of all policies on the request. */
  readonly budget: Budget;
}

type Variables = Record<string, Value | undefined>;

const NAMES = ['object', 'oldObject', 'request'] as const;

/** The values of the variables that an expression names. */
function valuesFor(expression: Expression, scope: Scope, variables?: Value): Variables {
  const { inputs, namespaceObject, params, budget } = scope;
  const toValue = (json: Json): Value => celValue(json, undefined, budget);
  const values: Variables = { variables };
  for (const name of NAMES) if (expression.uses(name)) values[name] = toValue(inputs[name]);
  if (inputs.rights && expression.uses('authorizer'))
    values.authorizer = new AuthorizerValue(inputs.rights.rights, inputs.rights.requested);
  if (expression.uses('namespaceObject')) values.namespaceObject = toValue(namespaceObject);
  if (params !== undefined && expression.uses('params')) values.params = toValue(params);
  return values;
}

/** Evaluates an expression with the steps of one. Throws EvaluationError. */
export function evaluate(expression: Expression, scope: Scope, variables?: Value): Value {
  const part = scope.budget.part(EXPRESSION_STEPS, expression.source);
  const before = part.left;
  try {
    return expression.evaluate(valuesFor(expression, scope, variables), part);
  } catch (error) {
    throw new EvaluationError(`expression '${shown(expression.source)}' resulted in error: ${causeOf(error, before)}`, {
      cause: error,
    });
  } finally {
    takeUsed(scope.budget, before - Math.max(0, part.left));
  }
}

/** The steps were there: they were a part of what is left. */
function takeUsed(budget: Budget, steps: number): void {
  budget.take(Math.min(steps, budget.left));
}

function causeOf(error: unknown, steps: number): string {
  if (error instanceof BudgetExceeded)
    return `running out of cost budget (${steps} steps): bound the lists, maps and texts that it runs over`;
  if (error instanceof CelError || error instanceof EvaluationError) return error.message;
  throw error;
}

/** What the expressions of a policy know as "variables": each is evaluated when it is first read, and once. */
class PolicyVariables extends MapValue {
  readonly #policy: CompiledPolicy;
  readonly #scope: Scope;
  readonly #known = new Map<string, Value | EvaluationError>();

  constructor(policy: CompiledPolicy, scope: Scope) {
    super();
    this.#policy = policy;
    this.#scope = scope;
  }

  override get(key: Value): Value | undefined {
    if (typeof key !== 'string') return undefined;
    const known = this.#known.get(key);
    if (known instanceof EvaluationError) throw new CelError(known.message);
    if (known !== undefined) return known;
    const variable = this.#policy.variables.find(({ name }) => name === key);
    return variable && this.#evaluated(variable);
  }

  #evaluated({ name, expression }: Named): Value {
    try {
      const value = evaluate(expression, this.#scope, this);
      this.#known.set(name, value);
      return value;
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      const named = new EvaluationError(`composited variable "${name}" fails to evaluate: ${error.message}`, { cause: error });
      this.#known.set(name, named);
      throw new CelError(named.message);
    }
  }
}

/**
 * Whether all conditions are true. One that is false decides, whatever others failed; else the first failure is thrown
 * as EvaluationError.
 */
export function conditionsHold(conditions: readonly Named[], scope: Scope): boolean {
  let failure: EvaluationError | undefined;
  for (const { name, expression } of conditions) {
    try {
      if (evaluate(expression, scope) !== true) return false;
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      failure ??= new EvaluationError(`match condition "${name}": ${error.message}`, { cause: error });
    }
  }
  if (failure) throw failure;
  return true;
}

/** A rule that an object breaks, or that could not be judged. */
export interface Broken {
  readonly index: number;
  readonly message: string;
  readonly reason: string;
}

/** What a policy says of a request with one set of parameters. */
export interface Verdict {
  readonly broken: readonly Broken[];
  readonly annotations: readonly (readonly [key: string, value: string])[];
  /** An expression gave no answer. */
  readonly hasFailed: boolean;
}

/** Judges a request by the rules of a policy whose conditions hold. */
export function judge(policy: CompiledPolicy, scope: Scope): Verdict {
  const variables = new PolicyVariables(policy, scope);
  const broken: Broken[] = [];
  let hasFailed = false;
  const fail = (index: number, error: unknown): void => {
    if (!(error instanceof EvaluationError)) throw error;
    hasFailed = true;
    if (policy.fails) broken.push({ index, message: error.message, reason: 'Invalid' });
  };
  for (const [index, rule] of policy.validations.entries()) {
    try {
      const result = evaluate(rule.expression, scope, variables);
      if (result === true) continue;
      if (result !== false) throw new EvaluationError(`expression '${shown(rule.expression.source)}' gave no true or false`);
      const message = messageOf(rule.messageExpression, scope, variables) ?? rule.message;
      broken.push({ index, message, reason: rule.reason });
    } catch (error) {
      fail(index, error);
    }
  }
  const annotations: [string, string][] = [];
  for (const { name, expression } of policy.auditAnnotations) {
    try {
      const value = evaluate(expression, scope, variables);
      if (typeof value === 'string' && value.trim() !== '') annotations.push([name, value]);
    } catch (error) {
      fail(-1, error);
    }
  }
  return { broken, annotations, hasFailed };
}

/** Characters of a message that an expression makes. */
const MESSAGE_CHARACTERS = 5120;

/** Undefined where the expression fails, or gives no usable text. */
function messageOf(expression: Expression | undefined, scope: Scope, variables: Value): string | undefined {
  if (!expression) return undefined;
  try {
    const text = evaluate(expression, scope, variables);
    const isUsable = typeof text === 'string' && text.trim() !== '' && !/[\r\n]/.test(text) && text.length <= MESSAGE_CHARACTERS;
    return isUsable ? text.trim() : undefined;
  } catch (error) {
    if (error instanceof EvaluationError) return undefined;
    throw error;
  }
}

export function newBudget(steps = REQUEST_STEPS): Budget {
  return new Budget(steps, 'the expressions of a request');
}

function shown(source: string): string {
  const line = source.trim().replaceAll(/\s+/g, ' ');
  return line.length > 300 ? `${line.slice(0, 300)}...` : line;
}
