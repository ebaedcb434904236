/** What compiles and evaluates expressions: one module, which is loaded when the first policy is there. */
export { compilePolicy } from './compile-policy.ts';
export { conditionsHold, EvaluationError, judge, newBudget } from './evaluate.ts';
